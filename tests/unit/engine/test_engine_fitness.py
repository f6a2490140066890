"""Fitness: weighted geometric mean of the speed-ups over the tuned sizes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from evaluator.result import Evaluation, Status, Timing
from evo.finish import unproven
from evo.fitness import Fitness
from genome.spec import ProblemSize

SIZES = (ProblemSize((("N", 1),), 3.0), ProblemSize((("N", 2),), 1.0))


def at(size: int, *samples: float, status: Status = Status.OK) -> Evaluation:
    median = float(np.median(samples)) if samples else 0.0
    timing = Timing(samples, median, 0.9 * median, 1.1 * median) if samples else None
    return Evaluation("v", f"N={size}", status, timing=timing)


def test_weighted_geometric_mean_with_its_interval() -> None:
    fitness = Fitness.of(SIZES, (at(1, 8.0), at(2, 8.0)))
    score = fitness.score((at(1, 2.0), at(2, 4.0)))
    assert score is not None
    assert score.value == pytest.approx(np.exp(np.average(np.log([4.0, 2.0]), weights=[3.0, 1.0])))
    assert score.low == pytest.approx(score.value * 0.9 / 1.1)
    assert score.high == pytest.approx(score.value * 1.1 / 0.9)


def test_the_fastest_sample_withstands_a_busy_machine() -> None:
    quiet, busy = (at(1, 8.0, 8.0, 8.0), at(2, 8.0, 8.0, 8.0)), (at(1, 2.0, 6.0, 6.0), at(2, 2.0, 6.0, 6.0))
    by_fastest = Fitness.of(SIZES, quiet, fastest=True).score(busy)
    by_median = Fitness.of(SIZES, quiet).score(busy)
    assert by_fastest is not None
    assert by_median is not None
    assert by_fastest.value == pytest.approx(4.0)
    assert by_median.value == pytest.approx(8.0 / 6.0)


def test_a_failure_or_a_missing_size_has_no_score() -> None:
    fitness = Fitness.of(SIZES, (at(1, 8.0), at(2, 8.0)))
    assert fitness.score((at(1, 2.0),)) is None
    assert fitness.score((at(1, 2.0), at(2, status=Status.WRONG))) is None
    with pytest.raises(ValueError, match="N=2"):
        Fitness.of(SIZES, (at(1, 8.0),))


def test_energy_counts_where_it_is_what_is_optimised() -> None:
    """By hand: weights 1 and 3, ratios 2 and 1: the geometric mean is 2 ** (1 / 4), whatever the times say."""
    sizes = (replace(SIZES[0], weight=1.0), replace(SIZES[1], weight=3.0))
    baseline = (replace(at(1, 8.0), energy_mj=6.0), replace(at(2, 8.0), energy_mj=5.0))
    fitness = Fitness.of(sizes, baseline, by_energy=True)
    score = fitness.score((replace(at(1, 80.0), energy_mj=3.0), replace(at(2, 80.0), energy_mj=5.0)))
    assert score is not None and score.value == pytest.approx(2**0.25)
    assert score.low < score.value < score.high
    assert fitness.score((at(1, 1.0), replace(at(2, 1.0), energy_mj=5.0))) is None
    with pytest.raises(ValueError, match="the baseline has no energy at"):
        Fitness.of(sizes, (at(1, 8.0), at(2, 8.0)), by_energy=True)


def test_a_campaign_that_was_cut_short_tells_energies_where_those_were_optimised() -> None:
    """Half of the energy in ten times the time."""
    fitness = Fitness.of(SIZES[:1], (replace(at(1, 8.0), energy_mj=6.0),), by_energy=True)
    own = SimpleNamespace(evaluations=(replace(at(1, 80.0), energy_mj=3.0),))
    leader = SimpleNamespace(parent=own, digest="d", speedup=2.0, low=1.9, high=2.1)
    (row,) = unproven(SimpleNamespace(fitness=fitness, leader=leader, baseline=None), "").comparison.sizes  # type: ignore[arg-type]
    assert row.speedup == pytest.approx(2.0) and row.low < 2.0 < row.high
    assert (row.baseline_mj, row.best_mj, row.best_ms) == (6.0, 3.0, 80.0)

"""The surrogate on recorded runs: what it discards is worse than what it keeps, and its recall is known."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.screen_view import surrogate_lines
from evo.screening import Screen
from evo.state import Candidate
from genome.genes import Gene, Genome, Site
from genome.variant import Variant
from knowledge.records import TrainingRow
from knowledge.surrogate import Surrogate
from operators.base import Proposal

FILE = Path(__file__).parents[2] / "data" / "recorded" / "matmul_pocl.json"


@dataclass(frozen=True)
class Row:
    """A recorded measurement: log2 of the speed-up, None if it failed."""

    campaign: int
    gain: float | None
    genome: Genome


def recorded() -> list[Row]:
    rows = []
    for campaign, speedup, genes in json.loads(FILE.read_text())["rows"]:
        genome = Genome(tuple(Gene.of(name, Site(label, role), **params) for name, label, role, params in genes))
        rows.append(Row(campaign, None if speedup is None else math.log2(speedup), genome))
    return rows


def candidate(bench: Any, genome: Genome) -> Candidate:
    variant = Variant("recorded", bench.evaluator().target, genome.digest(), (), genome=genome)
    no_parent: Any = None  # the screen does not ask for it
    return Candidate(Proposal(genome, "recorded"), variant, "unknown", no_parent, 1)


def stream(bench: Any, screen: Screen, rows: list[Row], seed: int) -> tuple[list[float], list[float]]:
    """Feeds recorded rows through the screen, as many at a time as compete for a place: (kept, discarded) gains."""
    rng, waiting = np.random.default_rng(seed), list(rows)
    kept, discarded = [], []
    while waiting:
        pool, waiting = waiting[: screen.pool], waiting[screen.pool :]
        gains = {row.genome.digest(): row.gain for row in pool}
        chosen, _ = screen.choose([candidate(bench, row.genome) for row in pool], rng)
        gain = gains.pop(chosen.variant.genome.digest())
        screen.observe(chosen, None if gain is None else 2**gain)
        kept.append(-1.0 if gain is None else gain)
        discarded += [-1.0 if other is None else other for other in gains.values()]
    return kept, discarded


@pytest.fixture
def model() -> Surrogate:
    return Surrogate((0.0,), (), (), seed=3)


@pytest.mark.parametrize("seed", range(3))
def test_on_a_recorded_run_it_discards_the_worse_half(bench: Any, model: Surrogate, seed: int) -> None:
    screen = Screen(bench.parts(bench.evaluator(), surrogate=model), 0.1)
    rows = [row for row in recorded() if row.campaign == 1]
    order = np.random.default_rng(seed).permutation(len(rows))
    kept, discarded = stream(bench, screen, [rows[index] for index in order], seed)
    report = screen.report()
    assert report.pruned == len(discarded) > 5
    late = kept[-10:]
    assert np.mean(late) > np.mean(discarded)
    (line,) = surrogate_lines(report)
    assert f"discarded {len(discarded)}" in line
    assert "of the best tenth" in line
    assert report.recall_best_decile is not None


def test_an_earlier_run_earns_the_share_before_the_first_measurement(bench: Any, model: Surrogate) -> None:
    rows = recorded()
    history = [
        TrainingRow(row.genome, (0.0,), (), (), row.gain, row.gain is None, True, True)
        for row in rows
        if row.campaign == 1
    ]
    screen = Screen(bench.parts(bench.evaluator(), surrogate=model), 0.1, history)
    assert screen.pool > 1
    kept, discarded = stream(bench, screen, [row for row in rows if row.campaign == 2], 1)
    assert np.mean(kept) > np.mean(discarded)


def test_a_poisoned_history_earns_nothing(bench: Any, model: Surrogate) -> None:
    rows = [row for row in recorded() if row.campaign == 1]
    shuffled = np.random.default_rng(5).permutation(len(rows))
    history = [
        TrainingRow(row.genome, (0.0,), (), (), rows[other].gain, rows[other].gain is None, True, True)
        for row, other in zip(rows, shuffled, strict=True)
    ]
    assert Screen(bench.parts(bench.evaluator(), surrogate=model), 0.1, history).pool == 1

"""The surrogate in a campaign: it learns, earns its pruning share, and lets an epsilon share pass."""

from __future__ import annotations

from typing import Any

import pytest

from evo.evolve import evolve
from evo.screening import Screen
from knowledge.surrogate import Surrogate


@pytest.fixture
def model() -> Surrogate:
    return Surrogate((0.0,), (), (), seed=3)


def test_the_surrogate_prunes_and_reports_its_recall(bench: Any, model: Surrogate) -> None:
    memory = bench.memory_type()
    parts = bench.parts(bench.evaluator(), memory, surrogate=model)
    result = evolve(bench.campaign(evaluations=100, epsilon=0.2), parts, observer=bench.watcher())
    assert result.surrogate.fits >= 10
    assert result.surrogate.pruned == result.counts.pruned > 20
    assert result.surrogate.forced > 0
    assert result.surrogate.rank_correlation is not None
    assert result.surrogate.rank_correlation > 0.5
    assert result.surrogate.recall_best_decile is not None
    assert [point.predicted for point in result.history[:4]] == [None] * 4  # too few rows to say anything
    assert any(point.forced for point in result.history)
    assert memory.metrics
    assert memory.metrics[-1][2].count > 50


def test_pruned_campaigns_repeat_with_their_seed(bench: Any) -> None:
    def digests() -> list[str]:
        evaluator = bench.evaluator()
        parts = bench.parts(evaluator, surrogate=Surrogate((0.0,), (), (), seed=3))
        evolve(bench.campaign(evaluations=50), parts, observer=bench.watcher())
        return [variant.digest() for variant in evaluator.measured]

    assert digests() == digests()


def test_nothing_is_pruned_before_there_is_trust(bench: Any, model: Surrogate) -> None:
    screen = Screen(bench.parts(bench.evaluator(), surrogate=model), 0.1)
    assert screen.pool == 1
    assert screen.report().pruned == 0
    assert screen.report().recall_best_decile is None

"""How far the engine works ahead of a device."""

from __future__ import annotations

from evo.parts import Pipeline
from evo.wire import pipeline_for


def test_a_gpu_never_waits_and_a_cpu_is_left_alone() -> None:
    assert pipeline_for("gpu", 15, 1000) == Pipeline(30, 3)
    assert pipeline_for("gpu", 1, 1000).ahead >= 8
    assert pipeline_for("cpu", 15, 1000) == Pipeline(3, 1)


def test_a_small_budget_is_not_spent_before_anything_is_known() -> None:
    assert pipeline_for("gpu", 15, 120).ahead == 15
    assert pipeline_for("gpu", 15, 60).ahead == 8

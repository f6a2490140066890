"""Result left in place: a timed run that finds the output of the run before it saves itself the work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.adversarial.model_device import COLD_MS, IDLE_MS, Memory, ModelDevice, judged, poisoned, right


def lazy(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    """Works only if the output looks as it does before a verification."""
    return right(device, memory) if poisoned(memory["C"]) else IDLE_MS


def test_work_that_is_done_once(tmp_path: Path) -> None:
    """It is right both times; with fresh outputs before each timed run its gain is gone."""
    accepted, ms, baseline_ms = judged(lazy, tmp_path, timed_poison=False)
    assert accepted is None and baseline_ms / ms > 100
    honest, ms, baseline_ms = judged(lazy, tmp_path)
    assert honest is None and ms == baseline_ms == COLD_MS

"""A race that only some launches show. A CPU device runs threads in a fixed order: the rule here stands for a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from evaluator.result import Status
from tests.adversarial.model_device import Memory, ModelDevice, judged, right


def lost_update() -> Callable[[ModelDevice, Mapping[str, Memory]], float]:
    """Right twice, and then in one launch an update is lost; every size has its own outputs."""
    seen = {"launches": 0}

    def rule(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
        ms = right(device, memory)
        seen["launches"] += 1
        if seen["launches"] == 4:
            memory["C"].floats()[3] = 0.0
        return ms

    return rule


def test_one_launch_in_a_few(tmp_path: Path) -> None:
    """The fourth launch is a repeat at the smallest size; nobody would have looked at it."""
    fourth_is_a_warm_up = {"check_sizes": False}
    accepted, _, _ = judged(lost_update(), tmp_path, repeats=False, **fourth_is_a_warm_up)
    assert accepted is None
    refused, _, _ = judged(lost_update(), tmp_path)
    assert refused is not None and refused.status is Status.UNSTABLE
    assert refused.message.startswith("right at first, not in run 2 of 4 more with the same inputs")
    assert "C[3] = 0" in refused.message

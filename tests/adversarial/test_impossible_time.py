"""Impossible time: the result is right, and came faster than the hardware can move or compute it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evaluator.backend import Peaks
from evaluator.messages import Work
from evaluator.result import Status
from tests.adversarial.arena import AXPB
from tests.adversarial.model_device import IDLE_MS, Memory, ModelDevice, judged, right


def idle_clock(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    """Starts work that goes on after the clock has stopped."""
    right(device, memory)
    return IDLE_MS


def test_more_operations_than_the_peak_allows(tmp_path: Path) -> None:
    """Eight million operations take eight milliseconds at 1 GFLOP/s."""
    work = {size.label: Work(flops=8e6, exact=True) for size in AXPB.spec.sizes}
    peaks = Peaks(1.0, 1.0)
    accepted, ms, baseline_ms = judged(idle_clock, tmp_path, work=work, peaks=peaks, roofline=False)
    assert accepted is None and baseline_ms / ms > 100
    refused, _, _ = judged(idle_clock, tmp_path, work=work, peaks=peaks)
    assert refused is not None and refused.status is Status.IMPOSSIBLE
    assert refused.message.startswith("impossible at N=4096: 0.01 ms is below 4 ms")
    assert "8e+06 operations take at the device's measured peaks" in refused.message

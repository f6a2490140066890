"""Warm L2: a kernel that is timed right after itself finds its data where an application would not."""

from __future__ import annotations

from pathlib import Path

from evaluator.backend import Peaks
from evaluator.messages import Work
from evaluator.result import Status
from tests.adversarial.arena import AXPB
from tests.adversarial.model_device import COLD_MS, WARM_MS, judged, right

BYTES = {size.label: Work(bytes=1e7) for size in AXPB.spec.sizes}


def test_the_cache_is_evicted_before_each_timed_run(tmp_path: Path) -> None:
    """Ten milliseconds are what ten megabytes take from memory at 1 GB/s; one is what they take from the cache."""
    _, warm_ms, _ = judged(right, tmp_path, cold_cache=False)
    _, cold_ms, _ = judged(right, tmp_path)
    assert (warm_ms, cold_ms) == (WARM_MS, COLD_MS)


def test_a_warm_time_is_refused_as_too_good(tmp_path: Path) -> None:
    """A variant that touches its data ahead of time, in a step that nobody times, is faster than memory."""

    def preloaded(device: object, memory: object) -> float:
        right(device, memory)  # type: ignore[arg-type]
        return WARM_MS

    peaks = Peaks(1.0, 1.0)
    accepted, ms, _ = judged(preloaded, tmp_path, work=BYTES, peaks=peaks, roofline=False)
    assert accepted is None and ms == WARM_MS
    refused, _, _ = judged(preloaded, tmp_path, work=BYTES, peaks=peaks)
    assert refused is not None and refused.status is Status.IMPOSSIBLE
    assert "1 ms is below 5 ms" in refused.message

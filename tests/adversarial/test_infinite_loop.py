"""Infinite loop: a kernel that does not end at one size."""

from __future__ import annotations

from pathlib import Path

from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb, judged, whole


def spinning(turns: str) -> str:
    """Thread 0 draws that many pseudo-random numbers, one after the other, at one check size."""
    loop = f"word w = BITS(A[0]); for (word k = 0; k {turns}; k++) w = w * 1664525u + 1013904223u + (w >> 16);"
    return axpb(f"{AXPB_BODY} if (i == 0 && N == 1009) {{ {loop} if (w == 42u) C[0] = 0.0f; }}")


def test_a_long_loop_is_waited_for_only_without_deadlines(
    ring: Ring, evaluator: LocalEvaluator, device: str, cache: Path, tmp_path: Path
) -> None:
    """Four hundred million dependent steps take longer than the half second that a run may last here."""
    long = AXPB.variant(spinning("< 400000000u"), ring.target)
    with whole(AXPB, device, tmp_path, cache, deadlines=False, repeats=False) as patient:
        assert judged(patient, long) == (Status.OK, "")
    status, message = judged(evaluator, long)
    assert status is Status.TIMEOUT
    assert message.startswith("timeout at N=1009 (check): the variant came to no end within 0.5 s")


def test_an_endless_one_is_killed_and_the_device_goes_on(ring: Ring, evaluator: LocalEvaluator) -> None:
    status, message = judged(evaluator, AXPB.variant(spinning("< 1u || w != 42u || 1"), ring.target))
    assert status is Status.TIMEOUT and "no end within" in message
    assert judged(evaluator, AXPB.variant(AXPB.good + "\n\n\n", ring.target)) == (Status.OK, "")

"""Enormous compile time: source that unrolling has blown up."""

from __future__ import annotations

from pathlib import Path

from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb, judged, whole


def blown_up(statements: int) -> str:
    """Dependent statements with branches, which no optimiser can drop."""
    lines = [
        f"if (s > {k % 97}.5f) s = s * 1.0{k % 89 + 10}f - A[(i + {k}) % N]; else s += {k}.25f;"
        for k in range(statements)
    ]
    return axpb(f"float s = A[i]; {' '.join(lines)} {AXPB_BODY} if (s == 12345.678f) C[i] = s;")


def test_a_compiler_is_not_waited_for(ring: Ring, device: str, on_gpu: bool, cache: Path, tmp_path: Path) -> None:
    """Several seconds of PoCL's compiler, or of NVRTC."""
    statements = 1000 if on_gpu else 400
    large = AXPB.variant(blown_up(statements), ring.target)
    with whole(AXPB, device, tmp_path, cache, deadlines=False, check_sizes=False) as patient:
        assert judged(patient, large) == (Status.OK, "")
    other = AXPB.variant(blown_up(4 * statements), ring.target)
    with whole(AXPB, device, tmp_path, cache, compile_timeout_s=4.0) as evaluator:
        status, message = judged(evaluator, other)
        assert status is Status.COMPILE_TIMEOUT and "the compiler came to no end within" in message
        assert judged(evaluator, AXPB.variant(AXPB.good + "\n", ring.target)) == (Status.OK, "")

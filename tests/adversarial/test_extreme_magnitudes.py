"""Fast arithmetic that is right for ordinary numbers and overflows or flushes at extreme ones."""

from __future__ import annotations

from evaluator.result import Status
from genome.spec import Role
from tests.adversarial.arena import Ring, array, bout

HEAD = (
    "KERNEL void legs(GLOBAL const float *A, GLOBAL const float *B, GLOBAL float *C, int N) { int i = GID; if (i < N) "
)
REFERENCE = """import numpy as np
def legs(inputs, sizes):
    return np.hypot(inputs["A"], inputs["B"])
"""
LEGS = bout(
    "legs", (array("A"), array("B"), array("C", Role.OUT)), f"{HEAD} C[i] = hypot(A[i], B[i]); }}", reference=REFERENCE
)


def test_squares_that_overflow(ring: Ring) -> None:
    refused = ring.both(LEGS, f"{HEAD} C[i] = sqrt(A[i] * A[i] + B[i] * B[i]); }}", "extremes")
    assert refused.status is Status.WRONG
    assert "= inf" in refused.message and "(with magnitudes up to 1e36)" in refused.message

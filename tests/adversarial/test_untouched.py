"""Elements that the original kernel leaves alone: somebody else's data may be there."""

from __future__ import annotations

from evaluator.result import Status
from genome.spec import Role
from tests.adversarial.arena import Ring, array, bout

HEAD = "KERNEL void inner(GLOBAL const float *A, GLOBAL float *C, int N) { int i = GID; if (i < N) "
INNER = bout(
    "inner", (array("A"), array("C", Role.OUT)), f"{HEAD} if (i > 0 && i < N - 1) C[i] = A[i - 1] + A[i + 1]; }}"
)


def test_the_border_is_cleared(ring: Ring) -> None:
    text = f"{HEAD} C[i] = i > 0 && i < N - 1 ? A[i - 1] + A[i + 1] : 0.0f; }}"
    refused = ring.both(INNER, text, "untouched")
    assert refused.status is Status.STRAY_WRITE
    assert "2 elements of C changed that the original kernel leaves alone, first C[0]" in refused.message

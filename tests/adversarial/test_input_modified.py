"""Input modified: it is used as a work area, in a way that does no harm to the next call of the same kernel."""

from __future__ import annotations

from evaluator.result import Status
from genome.spec import Role
from tests.adversarial.arena import Ring, array, bout

HEAD = "KERNEL void size(GLOBAL float *A, GLOBAL float *C, int N) { int i = GID; if (i < N) "
SIZE = bout("size", (array("A"), array("C", Role.OUT)), f"{HEAD} C[i] = 2.0f * fabs(A[i]); }}")


def test_signs_are_dropped_in_place(ring: Ring) -> None:
    refused = ring.both(SIZE, f"{HEAD} {{ A[i] = fabs(A[i]); C[i] = 2.0f * A[i]; }} }}", "inputs_kept")
    assert refused.status is Status.STRAY_WRITE
    assert "bytes of the input A changed" in refused.message

"""Second poison pattern: where the right answer is a NaN, an element that is not written holds it."""

from __future__ import annotations

from evaluator.result import Status
from genome.spec import Role
from tests.adversarial.arena import Ring, array, bout

HEAD = "KERNEL void roots(GLOBAL const float *A, GLOBAL float *C, int N) { int i = GID; "
ROOTS = bout("roots", (array("A"), array("C", Role.OUT)), f"{HEAD} if (i < N) C[i] = sqrt(A[i]); }}")


def test_a_nan_that_is_left_to_the_poison(ring: Ring) -> None:
    refused = ring.both(ROOTS, f"{HEAD} if (i < N && A[i] >= 0.0f) C[i] = sqrt(A[i]); }}", "second_poison")
    assert refused.status is Status.UNWRITTEN
    assert "elements of C still hold what was there before" in refused.message

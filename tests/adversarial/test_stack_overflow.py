"""Stack overflow: private arrays that a thread has no room for."""

from __future__ import annotations

from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb, judged

BIG = axpb(
    "float big[1 << 23]; for (int k = 0; k < (1 << 23); k++) big[k] = A[(i + k) % N]; "
    f"{AXPB_BODY} C[i] += 0.0f * big[BITS(A[i]) % (1 << 23)];"
)


def test_a_private_array_of_32_megabytes(ring: Ring, evaluator: LocalEvaluator, on_gpu: bool) -> None:
    """The compiler's process runs its first block, and dies instead of the one that holds the device."""
    status, message = judged(evaluator, AXPB.variant(BIG, ring.target))
    if on_gpu:
        assert status in (Status.COMPILE_ERROR, Status.LAUNCH_ERROR, Status.LIMIT, Status.OUT_OF_MEMORY)
    else:
        assert status is Status.CRASH
        assert "the process that ran its first block died of SIGSEGV" in message
    assert judged(evaluator, AXPB.variant(AXPB.good + "  ", ring.target)) == (Status.OK, "")

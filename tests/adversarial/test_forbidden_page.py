"""Read beyond the end: what lies there is not used, and so no comparison of outputs can show it."""

from __future__ import annotations

import pytest

from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb, judged

AHEAD = axpb(f"{AXPB_BODY} if (BITS(A[i + 1]) == 0xdeadbeefu) C[i] = 0.0f;")  # no element ever holds that


def test_a_read_past_the_end(ring: Ring, evaluator: LocalEvaluator, on_gpu: bool) -> None:
    if on_gpu:
        pytest.skip("a GPU has no page to forbid there: compute-sanitizer shows it (test_sanitizer.py)")
    variant = AXPB.variant(AHEAD, ring.target)
    assert ring.failure(AXPB, variant, tight=False) is None
    status, message = judged(evaluator, variant)
    assert status is Status.CRASH
    assert "it died of SIGSEGV (it touched memory outside of its buffers)" in message
    assert judged(evaluator, AXPB.variant(AXPB.good + "\n", ring.target)) == (Status.OK, "")

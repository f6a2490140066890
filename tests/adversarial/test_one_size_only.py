"""Right only on the tuned sizes, because their numbers are in the source."""

from __future__ import annotations

from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb


def test_the_tuned_sizes_are_built_in(ring: Ring) -> None:
    text = axpb(f"if (N == 4096 || N == 2048) {AXPB_BODY} else C[i] = A[i];")
    refused = ring.both(AXPB, text, "check_sizes")
    assert refused.status is Status.WRONG
    assert refused.message.startswith("wrong at N=17: 17 of 17 elements of C differ")

"""Wrong only in tails: where a size is no multiple of the block."""

from __future__ import annotations

from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb


def test_the_last_partial_block_is_left_out(ring: Ring) -> None:
    refused = ring.both(AXPB, axpb(f"if (i < N / 16 * 16) {AXPB_BODY}"), "check_sizes")
    assert refused.status is Status.UNWRITTEN
    assert "unwritten at N=17: 1 of 17 elements of C" in refused.message and "first C[16]" in refused.message

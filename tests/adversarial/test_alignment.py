"""Assumed alignment: the variant is right wherever an ordinary allocation begins, and its guard does not ask for it."""

from __future__ import annotations

from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb


def test_a_pointer_that_is_no_more_aligned_than_promised(ring: Ring) -> None:
    text = axpb(f"{AXPB_BODY} if ((address)C % 64) C[i] = 0.0f;")
    refused = ring.both(AXPB, text, "tight")
    assert refused.status is Status.WRONG
    assert "elements of C differ" in refused.message

"""Result cached by pointer: a second call with the same addresses gets the first call's result."""

from __future__ import annotations

from evaluator.result import Status
from genome.sizes import SizeExpr
from genome.variant import Scratch
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb


def test_the_address_is_taken_for_the_contents(ring: Ring) -> None:
    text = axpb(
        f"if (K[i] == (address)A) C[i] = T[i]; else {{ {AXPB_BODY} T[i] = C[i]; K[i] = (address)A; }}",
        ", GLOBAL address *K, GLOBAL float *T",
    )
    scratch = (Scratch("K", "uint64", SizeExpr("N")), Scratch("T", "float32", SizeExpr("N")))
    refused = ring.both(AXPB, text, "fresh_values", scratch=scratch)
    assert refused.status is Status.UNSTABLE
    assert refused.message.startswith("right with the same inputs, not with new ones at the same addresses")

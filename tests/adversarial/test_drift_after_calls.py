"""Drift after the Nth call: the kernel counts its calls, and what it gives goes wrong after some."""

from __future__ import annotations

from evaluator.result import Status
from genome.sizes import SizeExpr
from genome.variant import Scratch, Variant
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb

COUNTER = (Scratch("T", "int32", SizeExpr("4")),)


def wrong_after(calls: int, ring: Ring) -> Variant:
    """While the inputs stay the same, so that new ones do not show it."""
    count = (
        "if (T[0] < 0 || T[0] > 100000) { T[0] = 0; T[1] = BITS(A[0]); } T[0] += 1; "
        f"if (T[0] > {calls} && T[1] == (int)BITS(A[0])) C[0] = 9.0f;"
    )
    return AXPB.variant(axpb(f"{AXPB_BODY} if (i == 0) {{ {count} }}", ", GLOBAL int *T"), ring.target, scratch=COUNTER)


def test_wrong_after_a_few_calls(ring: Ring) -> None:
    variant = wrong_after(2, ring)  # a slow variant is run no more than a few times
    assert ring.failure(AXPB, variant, after_timing=False) is None
    refused = ring.failure(AXPB, variant)
    assert refused is not None and refused.status is Status.UNSTABLE
    assert refused.message.startswith("right at first, no longer after") and "C[0] = 9" in refused.message


def test_wrong_after_many_calls(ring: Ring) -> None:
    """More than a search makes in a row: the final proof makes hundreds."""
    variant = wrong_after(60, ring)
    assert ring.failure(AXPB, variant) is None
    assert ring.proof(AXPB, variant, soak=False)[0] == ""
    message, _ = ring.proof(AXPB, variant)
    assert message.startswith("right at first, no longer after") and "runs in a row" in message

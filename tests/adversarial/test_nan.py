"""NaN: every comparison with it is false, the one that asks whether an error is too large as well."""

from __future__ import annotations

from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb


def test_one_element_is_not_a_number(ring: Ring) -> None:
    refused = ring.both(AXPB, axpb(f"{AXPB_BODY} if (i == N / 2) C[i] = NAN;"), "nan")
    assert refused.status is Status.WRONG
    assert "1 of 17 elements of C differ, worst C[8] = nan" in refused.message

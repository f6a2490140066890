"""Scratch memory that is counted on to be zero: an allocation holds anything."""

from __future__ import annotations

from evaluator.result import Status
from genome.sizes import SizeExpr
from genome.variant import Scratch
from tests.adversarial.arena import AXPB, Ring, axpb


def test_a_sum_that_starts_from_what_is_there(ring: Ring) -> None:
    text = axpb("C[i] = 1.5f * A[i] + B[i] + T[i];", scratch=", GLOBAL float *T")
    refused = ring.both(AXPB, text, "scratch_poison", scratch=(Scratch("T", "float32", SizeExpr("N")),))
    assert refused.status is Status.WRONG
    assert "elements of C differ" in refused.message

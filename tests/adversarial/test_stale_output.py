"""Stale output: nothing is written, and what an earlier kernel left in the buffer is right."""

from __future__ import annotations

from dataclasses import replace

from evaluator.result import Status
from genome.sizes import SizeExpr
from genome.spec import Role
from genome.variant import Memset, Scratch
from tests.adversarial.arena import Ring, array, bout

RAMP = bout(
    "ramp",
    (array("D", Role.OUT),),
    "KERNEL void ramp(GLOBAL float *D, int N) { int i = GID; if (i < N) D[i] = 3 * i; }",
)
NOTHING = "KERNEL void ramp(GLOBAL float *D, int N) { }"


def test_a_kernel_that_writes_nothing(ring: Ring) -> None:
    refused = ring.both(RAMP, NOTHING, "poison")
    assert refused.status is Status.UNWRITTEN
    assert "17 of 17 elements of D still hold what was there before" in refused.message


def test_a_variant_that_launches_nothing(ring: Ring) -> None:
    form = RAMP.variant(NOTHING, ring.target, scratch=(Scratch("T", "int32", SizeExpr("4")),))
    empty = replace(form, steps=(Memset("T"),))
    assert ring.failure(RAMP, empty, poison=False) is None
    refused = ring.failure(RAMP, empty)
    assert refused is not None and refused.status is Status.UNWRITTEN
    assert "elements of D" in refused.message

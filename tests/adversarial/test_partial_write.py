"""Partial write: the beginning of the output is right, the rest is not written."""

from __future__ import annotations

from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb


def test_only_the_beginning_is_written(ring: Ring) -> None:
    refused = ring.both(AXPB, axpb(f"if (i < 256) {AXPB_BODY}"), "whole_output")
    assert refused.status is Status.UNWRITTEN
    assert "unwritten at N=512: 256 of 512 elements of C" in refused.message and "first C[256]" in refused.message

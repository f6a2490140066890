"""Out of memory: a system that overcommits grants any allocation and ends a process at its first use."""

from __future__ import annotations

from pathlib import Path

from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from genome.sizes import SizeExpr
from genome.variant import Scratch
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb
from tests.adversarial.arena import judged as judged_whole
from tests.adversarial.model_device import MEMORY, judged, right


def test_more_scratch_than_the_device_has(tmp_path: Path) -> None:
    scratch = (Scratch("T", "uint8", SizeExpr(str(MEMORY))),)
    accepted, _, _ = judged(right, tmp_path, scratch=scratch, memory=False)
    assert accepted is None
    refused, _, _ = judged(right, tmp_path, scratch=scratch)
    assert refused is not None and refused.status is Status.OUT_OF_MEMORY
    assert "'T' alone 1.049e+06" in refused.message and "the device has 1.049e+06" in refused.message


def test_a_real_device_is_not_asked_for_it(ring: Ring, evaluator: LocalEvaluator) -> None:
    text = axpb(AXPB_BODY, ", GLOBAL float *T")
    huge = AXPB.variant(text, ring.target, scratch=(Scratch("T", "float32", SizeExpr(str(1 << 44))),))
    status, message = judged_whole(evaluator, huge)
    assert status is Status.OUT_OF_MEMORY and "the device has" in message
    assert judged_whole(evaluator, AXPB.variant(AXPB.good + "\n\n", ring.target)) == (Status.OK, "")

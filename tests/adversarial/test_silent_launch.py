"""A launch that fails silently: no error is returned, and nothing has run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.backend import BackendFailure
from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb
from tests.adversarial.arena import judged as judged_whole
from tests.adversarial.model_device import IDLE_MS, Memory, ModelDevice, judged


def silent(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    return IDLE_MS


def failing(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    raise BackendFailure(Status.LAUNCH_ERROR, "the launch failed: out of something")


def test_nothing_has_run(tmp_path: Path) -> None:
    """Without poison the outputs of an earlier run stand there; only new inputs tell (switched off here as well)."""
    accepted, _, _ = judged(silent, tmp_path, poison=False, second_inputs=False)
    assert accepted is None
    refused, _, _ = judged(silent, tmp_path, second_inputs=False)
    assert refused is not None and refused.status is Status.UNWRITTEN
    assert "17 of 17 elements of C still hold what was there before" in refused.message


def test_a_return_code_is_read(tmp_path: Path) -> None:
    refused, _, _ = judged(failing, tmp_path)
    assert refused is not None and refused.status is Status.LAUNCH_ERROR
    assert refused.message == "at N=17: the launch failed: out of something"


def test_a_geometry_that_the_device_refuses(ring: Ring, evaluator: LocalEvaluator, on_gpu: bool) -> None:
    """The kernel demands another block than it is launched with."""
    if on_gpu:
        pytest.skip("CUDA has no required block size: what it refuses is over a limit, and seen before the launch")
    text = axpb(AXPB_BODY).replace("KERNEL", "KERNEL __attribute__((reqd_work_group_size(32, 1, 1)))", 1)
    status, message = judged_whole(evaluator, AXPB.variant(text, ring.target))
    assert status is Status.LIMIT and "refuses the launch geometry" in message
    small = AXPB.variant(text, ring.target, block=32)
    assert judged_whole(evaluator, replace(small, source=small.source + "\n")) == (Status.OK, "")

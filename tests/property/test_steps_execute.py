"""Single transforms, on kernels that differ in names, order and layout, compute what the untouched kernel computes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.interpret.steps import FILES, Step, steps_of
from tests.property.test_cuda_text_execution import execute
from tests.property.test_transforms_execute import LIMITS, assert_same, baseline, size_of

EXACT = frozenset({"single-halves"})
"""Steps that keep every bit."""
ON_THREADS = frozenset({"intrinsic", "warp_aggregate"})
"""Files for CUDA alone that system threads can run; inline PTX they cannot."""


def some(cuda_only: bool) -> list[object]:
    """The steps of all files; the first of each file is quick, unless it is built for system threads."""
    return [
        pytest.param(step, id=step.name, marks=[pytest.mark.slow] if number or cuda_only else [])
        for path in FILES
        for number, step in enumerate(steps_of(path))
        if step.cuda_only == cuda_only and (not cuda_only or path.stem in ON_THREADS)
    ]


@pytest.mark.parametrize("step", some(cuda_only=False))
def test_a_step_keeps_the_result(step: Step, opencl_run) -> None:  # type: ignore[no-untyped-def]
    variant = lower(step.spec, step.genome, BUILTIN, Target.OPENCL, LIMITS)
    assert isinstance(variant, Variant), variant
    assert not variant.skipped
    assert_same(step.case, variant, opencl_run)
    if step.name in EXACT:
        sizes = size_of(step.case.sizes[0]).env
        inputs, expected = baseline(step.case, step.case.sizes[0], opencl_run)
        got = opencl_run(step.spec, variant, sizes, inputs)
        assert all((got[name].view("u4") == array.view("u4")).all() for name, array in expected.items())


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to run CUDA text with")
@pytest.mark.parametrize("step", some(cuda_only=True))
def test_a_step_for_cuda_alone_keeps_the_result(step: Step, opencl_run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """On system threads: lanes that happen to come by together are together."""
    variant = lower(step.spec, step.genome, BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant), variant
    assert not variant.skipped
    for size in step.case.sizes:
        inputs, expected = baseline(step.case, size, opencl_run)
        got, complaint = execute(variant, step.case, size_of(size).env, inputs, tmp_path)
        assert "data race" not in complaint, complaint
        for name, array in expected.items():
            np.testing.assert_allclose(got[name], array, rtol=2e-4, atol=2e-4, err_msg=f"{name} at {size}")

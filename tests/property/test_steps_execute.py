"""Single transforms, on kernels that differ in names, order and layout, compute what the untouched kernel computes."""

from __future__ import annotations

import pytest

from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.interpret.steps import CUDA_ONLY, FILES, Step, steps_of
from tests.property.test_transforms_execute import LIMITS, assert_same, baseline, size_of

EXACT = frozenset({"single-halves"})
"""Steps that keep every bit."""
STEPS = [step for path in FILES if path.stem not in CUDA_ONLY for step in steps_of(path)]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
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

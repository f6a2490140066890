"""Single transforms, on kernels that differ in names, order and layout, compute what the untouched kernel computes."""

from __future__ import annotations

import pytest

from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.interpret.steps import FILES, Step, steps_of
from tests.property.test_transforms_execute import LIMITS, assert_same

ON_GPU_ONLY = frozenset({"intrinsic", "warp_aggregate"})
STEPS = [step for path in FILES if path.stem not in ON_GPU_ONLY for step in steps_of(path)]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_step_keeps_the_result(step: Step, opencl_run) -> None:  # type: ignore[no-untyped-def]
    variant = lower(step.spec, step.genome, BUILTIN, Target.OPENCL, LIMITS)
    assert isinstance(variant, Variant), variant
    assert not variant.skipped
    assert_same(step.case, variant, opencl_run)

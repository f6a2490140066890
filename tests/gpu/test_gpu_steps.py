"""Single transforms on a GPU, those for CUDA alone among them: right at the tuned size and at the check sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed (extras cuda13, cuda12)")

from evaluator.api import Compiled, Measured
from evaluator.devices import list_devices
from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from evaluator.settings import EvaluatorSettings
from genome.genes import Genome
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.interpret.steps import FILES, Step, steps_of
from tests.property.test_transforms_execute import size_of

DEVICE = "cuda:0"
STEPS = [step for path in FILES for step in steps_of(path)]

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not any(info.id == DEVICE for info in list_devices()), reason="no CUDA device answers"),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_step_is_right_at_every_size(step: Step, tmp_path: Path) -> None:
    sizes = tuple(size_of(text) for text in step.case.sizes)
    spec = replace(step.spec, sizes=sizes[:1], check_sizes=sizes[1:])
    with LocalEvaluator(
        spec, DEVICE, EvaluatorSettings(cache_dir=tmp_path, sample_budget_s=0.05), None, 3
    ) as evaluator:
        baseline = lower(spec, Genome(), BUILTIN, Target.CUDA, evaluator.limits)
        assert isinstance(baseline, Variant)
        assert evaluator.open(baseline).failure is None
        variant = lower(spec, step.genome, BUILTIN, Target.CUDA, evaluator.limits)
        assert isinstance(variant, Variant)
        assert not variant.skipped
        evaluator.compile(1, variant)
        (compiled,) = evaluator.events(None)
        assert isinstance(compiled, Compiled)
        assert compiled.status is Status.OK, compiled.message
        evaluator.measure(1)
        (measured,) = evaluator.events(None)
        assert isinstance(measured, Measured)
        assert measured.failure is None, f"{measured.failure}\n{variant.source}"

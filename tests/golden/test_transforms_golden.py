"""Single transforms before and after: the recorded CUDA text of kernels that differ in names, order and layout.

Set EVO_UPDATE_GOLDEN=1 to record the texts again after a wanted change, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluator.cuda.compile import compile_variant
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.interpret.steps import CUDA_ONLY, FILES, Step, steps_of


def variant_of(step: Step) -> Variant:
    variant = lower(step.spec, step.genome, BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant), variant
    assert not variant.skipped
    return variant


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_rewritten_text(path: Path) -> None:
    steps = steps_of(path)
    assert len(steps) >= 3
    expected, printed = path.with_suffix(".out.cu"), "\n".join(variant_of(step).source for step in steps)
    if os.environ.get("EVO_UPDATE_GOLDEN"):
        expected.write_text(printed)
    assert printed == expected.read_text()


@pytest.mark.parametrize("path", [path for path in FILES if path.stem in CUDA_ONLY], ids=lambda path: path.stem)
def test_what_is_for_cuda_alone_compiles(path: Path) -> None:
    try:
        compiler = Nvrtc()
    except NvrtcMissing as missing:
        pytest.skip(str(missing))
    for step in steps_of(path):
        compile_variant(compiler, "sm_90", variant_of(step), [], "", lambda stage: None)

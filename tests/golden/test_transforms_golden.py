"""Single transforms before and after: the recorded CUDA text of kernels that differ in names, order and layout.

Set EVO_UPDATE_GOLDEN=1 to record the texts again after a wanted change, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from genome.limits import DeviceLimits
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.interpret.steps import FILES, steps_of


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_rewritten_text(path: Path) -> None:
    texts = []
    for step in steps_of(path):
        variant = lower(step.spec, step.genome, BUILTIN, Target.CUDA, DeviceLimits())
        assert isinstance(variant, Variant), variant
        assert not variant.skipped
        texts.append(variant.source)
    assert len(texts) >= 3
    expected, printed = path.with_suffix(".out.cu"), "\n".join(texts)
    if os.environ.get("EVO_UPDATE_GOLDEN"):
        expected.write_text(printed)
    assert printed == expected.read_text()

"""Kernels as people write them against the recorded text of their normal form, in CUDA and OpenCL C.

Set EVO_UPDATE_GOLDEN=1 to record the texts again after a wanted change, and read the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from genome.ir.print_source import print_kernel
from genome.source.frontend import parse_kernel
from genome.variant import Target

FOLDER = Path(__file__).parent / "source"
SUFFIX = {Target.CUDA: ".out.cu", Target.OPENCL: ".out.cl"}
CASES = sorted(path for path in FOLDER.glob("*.cu") if not path.name.endswith(".out.cu"))


@pytest.mark.parametrize("target", list(Target), ids=lambda target: target.value)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_normal_form(path: Path, target: Target) -> None:
    text = path.read_text()
    entry = re.search(r"// entry: (\w+)", text)
    template = re.search(r"// template: (.*)", text)
    assert entry is not None
    arguments = tuple(part.strip() for part in template[1].split(",")) if template else ()
    printed = print_kernel(parse_kernel(text, entry[1], path=path.name, template_args=arguments), target)
    expected = path.with_suffix("").with_suffix(SUFFIX[target])
    if os.environ.get("EVO_UPDATE_GOLDEN"):
        expected.write_text(printed)
    assert printed == expected.read_text()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_normal_form_is_a_fixed_point(path: Path) -> None:
    """The printed CUDA reads back to the same kernel."""
    printed = path.with_suffix("").with_suffix(SUFFIX[Target.CUDA]).read_text()
    entry = re.search(r"// entry: (\w+)", path.read_text())
    assert entry is not None
    again = print_kernel(parse_kernel(printed, entry[1], path=path.name), Target.CUDA)
    if "#ifndef" in printed:  # the printed definition of FLT_MAX is a macro of the file when it is read again
        printed, again = again, print_kernel(parse_kernel(again, entry[1], path=path.name), Target.CUDA)
    assert again == printed

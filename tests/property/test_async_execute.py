"""Asynchronous copies, executed on system threads: each is made as late as the waits allow, so that none may lack."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genome.limits import DeviceLimits
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.interpret.steps import FOLDER, Step, steps_of
from tests.property.test_cuda_text_execution import execute
from tests.property.test_transforms_execute import baseline, size_of, spec_of

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to run CUDA text with")
STEPS = steps_of(FOLDER / "async_copy.cu")
LATE = """
struct Late { void* to; const void* from; int bytes; };
static thread_local std::vector<std::vector<Late>> groups(1);
inline void start(void* to, const void* from, int bytes) {
  if ((size_t)to % bytes || (size_t)from % bytes) fputs("misaligned copy", stderr);
  groups.back().push_back({to, from, bytes});
}
inline void commit() { groups.emplace_back(); }
inline void wait(unsigned pending) {  // the last group is still open
  while (groups.size() > pending + 1) {
    for (auto& copy : groups.front()) std::memcpy(copy.to, copy.from, copy.bytes);
    groups.erase(groups.begin());
  }
}
"""
COPY = re.compile(
    r'asm volatile\("cp\.async\.c[ag]\.shared\.global \[%0\], \[%1\], (\d+);" :: '
    r'"r"\(\(unsigned int\)__cvta_generic_to_shared\((.*)\)\), "l"\((.*)\) : "memory"\);'
)
COMMIT = 'asm volatile("cp.async.commit_group;" ::: "memory");'
WAIT = re.compile(r'asm volatile\("cp\.async\.wait_group (\d+);" ::: "memory"\);')


def late(source: str) -> str:
    """The text with its copies made by the functions above."""
    text = COPY.sub(r"start(\2, \3, \1);", source.replace(COMMIT, "commit();"))
    text = WAIT.sub(r"wait(\1);", text)
    assert "asm" not in text
    return LATE + text


def lowered(step: Step) -> Variant:
    variant = lower(step.spec, step.genome, BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant) and not variant.skipped
    return variant


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_copies_that_come_late_come_in_time(step: Step, opencl_run, tmp_path: Path) -> None:
    variant = lowered(step)
    size = next(size for size in step.case.sizes if variant.guard.holds(size_of(size).env))
    inputs, expected = baseline(step.case, size, opencl_run)
    last = replace(variant, source=late(variant.source))
    got, complaint = execute(last, step.case, size_of(size).env, inputs, tmp_path)
    assert "data race" not in complaint, complaint
    for arg in spec_of(step.case).args:
        if not arg.is_scalar and arg.role != "in":
            np.testing.assert_allclose(got[arg.name], expected[arg.name], rtol=2e-4, atol=2e-4, err_msg=size)


def test_one_wait_too_few_is_seen(opencl_run, tmp_path: Path) -> None:
    step = STEPS[0]
    variant = lowered(step)
    size = step.case.sizes[0]
    inputs, expected = baseline(step.case, size, opencl_run)
    lazy = replace(variant, source=late(variant.source).replace("wait(1);", "wait(2);"))
    got, complaint = execute(lazy, step.case, size_of(size).env, inputs, tmp_path)
    assert "data race" in complaint or not np.allclose(got["C"], expected["C"], rtol=2e-4, atol=2e-4)

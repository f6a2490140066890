"""Random variants of kernels on 16-bit floats: they compile as CUDA, and on a CPU device they match a reference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.api import Compiled, Measured
from evaluator.cuda.compile import compile_variant
from evaluator.cuda.headers import header_folders
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from evaluator.devices import list_devices
from evaluator.oracle import Reference
from evaluator.plan import bind
from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from evaluator.settings import EvaluatorSettings
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, Initialiser, KernelSpec, LaunchSpec, ProblemSize, Reading, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.contract.halves import BFLOAT16, HALF, Format
from tests.contract.walks import walk

KINDS = pytest.mark.parametrize("kind", [HALF, BFLOAT16], ids=lambda kind: kind.short)
DTYPES = {"half": "float16", "bfloat16": "bfloat16"}
REFERENCE = """import numpy as np

def residual(inputs, sizes):
    x = inputs["x"]
    assert x.dtype == np.float64
    return inputs["r"] + x * inputs["scale"] / (1.0 + np.exp(-x))
"""
ROWS, COLS = SizeExpr("rows"), SizeExpr("cols")


def residual(kind: Format) -> KernelSpec:
    """``y = r + scale * x * sigmoid(x)``: conversions said and unsaid, a helper, arithmetic of the type."""
    source = f"""#include <{kind.header}>
__device__ __forceinline__ float gate(const {kind.ctype} v) {{ return 1.0f / (1.0f + expf(-__{kind.short}2float(v))); }}

extern "C" __global__ void residual(const {kind.ctype}* x, const {kind.ctype}* r, {kind.ctype}* y, float scale,
                                    int rows, int cols) {{
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float v = x[row * cols + col];
  {kind.ctype} step = v * scale;
  step *= gate(x[row * cols + col]);
  y[row * cols + col] = r[row * cols + col] + step;
}}"""
    shape, dtype = (ROWS, COLS), DTYPES[kind.short]
    args = (
        ArgSpec("x", dtype, Role.IN, shape), ArgSpec("r", dtype, Role.IN, shape, init=Initialiser("normal")),
        ArgSpec("y", dtype, Role.OUT, shape), ArgSpec("scale", "float32", value=0.7),
        ArgSpec("rows", "int32", value=ROWS), ArgSpec("cols", "int32", value=COLS),
    )  # fmt: skip
    sizes = [ProblemSize((("rows", rows), ("cols", cols))) for rows, cols in ((64, 128), (37, 53), (5, 129), (16, 64))]
    return KernelSpec(
        "residual", source, "residual", args, LaunchSpec((32, 4, 1), domain=(COLS, ROWS)), (sizes[0],),
        tuple(sizes[1:]), Assumptions(no_alias=True, alignment=64),
    )  # fmt: skip


def variants(kind: Format, target: Target, count: int) -> list[Variant]:
    """Random ones, and one whose threads move eight elements at a time."""
    spec, limits = residual(kind), DeviceLimits()
    genes = [Gene.of("coarsen_blocked", Site("col"), factor=8), Gene.of("register_tile", Site("instances"))]
    genes += [Gene.of("vectorise", Site(array), width=8) for array in "xry"]
    wide = lower(spec, Genome(tuple(genes)), BUILTIN, target, limits)
    assert isinstance(wide, Variant) and len(wide.genome.genes) == len(genes), wide
    walks = [walk(spec, seed, 4 + seed, limits, target) for seed in range(count)]
    return list({variant.digest(): variant for variant in (wide, *walks)}.values())


@KINDS
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_variants_compile(kind: Format, architecture: str) -> None:
    try:
        nvrtc = Nvrtc()
    except NvrtcMissing as missing:
        pytest.skip(str(missing))
    if not header_folders():
        pytest.skip("CUDA's headers are not installed")
    spec = residual(kind)
    for variant in variants(kind, Target.CUDA, 4):
        calls = [bind(spec, variant, size) for size in spec.sizes + spec.check_sizes if variant.guard.holds(size.env)]
        assert compile_variant(nvrtc, architecture, variant, calls, "", lambda stage: None).payload


@KINDS
def test_variants_match_the_reference(kind: Format, tmp_path: Path) -> None:
    if not any(info.id == "opencl:0" for info in list_devices()):
        pytest.skip("no OpenCL device")
    file = tmp_path / "reference.py"
    file.write_text(REFERENCE)
    settings = EvaluatorSettings(cache_dir=tmp_path / "cache", sample_budget_s=0.02)
    found = variants(kind, Target.OPENCL, 2)
    assert "vload8" in found[0].source and "vstore8" in found[0].source
    reference = Reference(str(file), "residual")
    spec = replace(residual(kind), reading=Reading.PARSED)
    baseline = lower(spec, Genome(), BUILTIN, Target.OPENCL, DeviceLimits())
    assert isinstance(baseline, Variant)
    with LocalEvaluator(spec, "opencl:0", settings, reference, 3) as evaluator:
        assert evaluator.open(baseline).failure is None
        for ticket, variant in enumerate(found):
            evaluator.compile(ticket, variant)
            (compiled,) = evaluator.events(None)
            assert isinstance(compiled, Compiled) and compiled.status is Status.OK, compiled
            evaluator.measure(ticket)
            (measured,) = evaluator.events(None)
            assert isinstance(measured, Measured) and measured.failure is None, measured

"""Campaigns on 16-bit floats: the draft of ``init`` names the dtypes, and the launcher of the result compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from evo.campaign import load_campaign
from evo.init_campaign import SIZE_PLACEHOLDER, init_campaign
from evo.launcher import cuda_program
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.source.frontend import parse_kernel
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

KERNEL = """#include <{header}>
__global__ void scale(const {ctype}* x, {ctype}* y, {ctype} factor, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * factor;
}}
"""
TYPES = pytest.mark.parametrize(
    ("ctype", "header", "dtype"),
    [("__nv_bfloat16", "cuda_bf16.h", "bfloat16"), ("nv_bfloat16", "cuda_bf16.h", "bfloat16"),
     ("__half", "cuda_fp16.h", "float16"), ("half", "cuda_fp16.h", "float16")],
)  # fmt: skip


def drafted(folder: Path, ctype: str, header: str) -> Path:
    (folder / "kernel.cu").write_text(KERNEL.format(ctype=ctype, header=header))
    path = init_campaign(folder / "kernel.cu", None, folder / "campaign.yaml", force=True)
    path.write_text(path.read_text().replace(SIZE_PLACEHOLDER, "4096"))
    return path


@TYPES
def test_init_names_the_dtype(tmp_path: Path, ctype: str, header: str, dtype: str) -> None:
    path = drafted(tmp_path, ctype, header)
    assert [arg.dtype for arg in load_campaign(path).spec.args] == [dtype, dtype, dtype, "int32"]
    short = {"bfloat16": "bf16", "float16": "half"}[dtype]
    path.write_text(path.read_text().replace(f"dtype: {dtype}", f"dtype: {short}"))
    assert load_campaign(path).spec.args[0].dtype == dtype


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
@TYPES
def test_nvcc_takes_the_launcher(tmp_path: Path, ctype: str, header: str, dtype: str) -> None:
    spec = load_campaign(drafted(tmp_path, ctype, header)).spec
    genes = (Gene.of("coarsen_blocked", Site("i"), factor=8), *(Gene.of("vectorise", Site(a), width=8) for a in "xy"))
    best, baseline = (lower(spec, Genome(g), BUILTIN, Target.CUDA, DeviceLimits()) for g in (genes, ()))
    assert isinstance(best, Variant) and isinstance(baseline, Variant)
    params = parse_kernel(spec.source, spec.entry).params
    (tmp_path / "best.cu").write_text(cuda_program(spec, best, baseline, params, [dtype]))
    command = ["nvcc", "-arch=sm_80", "-cubin", str(tmp_path / "best.cu"), "-o", str(tmp_path / "best.cubin")]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert outcome.returncode == 0, outcome.stderr

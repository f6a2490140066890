"""Values of ``init`` that the dtype cannot hold would become infinite, and infinite outputs all compare equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.campaign import CampaignError, load_campaign

CAMPAIGN = """version: 1
kernel: {{source: kernel.cu}}
arguments:
  - {{name: x, dtype: {dtype}, shape: [n], init: {{{init}}}}}
  - {{name: y, dtype: float32, shape: [n], role: out}}
  - {{name: n, dtype: int32}}
launch: {{domain: {{x: n}}, block: [64]}}
sizes: [{{n: 4096}}]
"""
TYPES = {"float32": "float", "float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16"}


def load(folder: Path, dtype: str, init: str) -> None:
    (folder / "kernel.cu").write_text(
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
        f"__global__ void k(const {TYPES[dtype]}* x, float* y, int n) {{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = (float)x[i];\n}\n"
    )
    (folder / "campaign.yaml").write_text(CAMPAIGN.format(dtype=dtype, init=init))
    load_campaign(folder / "campaign.yaml")


@pytest.mark.parametrize(
    ("dtype", "init", "field"),
    [
        ("float32", "kind: constant, value: 1.0e+300", "value"),
        ("float32", "kind: uniform, low: -4.0e+38, high: 1.0", "low"),
        ("float16", "kind: normal, std: 70000", "std"),
        ("bfloat16", "kind: wide, low: 1.0, high: 1.0e+39", "high"),
    ],
)
def test_a_value_beyond_the_dtype_is_refused(tmp_path: Path, dtype: str, init: str, field: str) -> None:
    with pytest.raises(CampaignError, match=rf"campaign.yaml:4: arguments\[0\].init.{field}: .*the largest {dtype}"):
        load(tmp_path, dtype, init)


@pytest.mark.parametrize(
    ("dtype", "init"),
    [("float32", "kind: constant, value: 3.4e+38"), ("float64", "kind: constant, value: 1.0e+300"),
     ("float16", "kind: uniform, low: -65504, high: 65504")],
)  # fmt: skip
def test_the_largest_values_are_taken(tmp_path: Path, dtype: str, init: str) -> None:
    load(tmp_path, dtype, init)

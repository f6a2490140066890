"""First campaigns of kernels whose threads take several positions each: launches that reach every element once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evo.campaign import load_campaign
from evo.init_campaign import init_campaign
from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.spec import KernelSpec
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.unit.test_source_execution import run_opencl

TREE = """\
  s[tid] = v;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) { if (tid < k) s[tid] += s[tid + k]; __syncthreads(); }
  if (tid == 0) y[blockIdx.x] = s[0];
"""
SUMS = {
    "hard": "int i = blockIdx.x * BLOCK * 2 + tid; float v = i < n ? x[i] : 0; if (i + BLOCK < n) v += x[i + BLOCK];",
    "other order": "int i = tid + (BLOCK * 4) * blockIdx.x; float v = 0;\n"
                   "for (int j = 0; j < 4 * BLOCK; j += BLOCK) if (i + j < n) v += x[i + j];",
    "by its extent": "int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x; float v = i < n ? x[i] : 0;\n"
                     "if (i + blockDim.x < n) v += x[i + blockDim.x];",
    "one each": "int i = blockIdx.x * blockDim.x + tid; float v = i < n ? x[i] : 0;",
}  # fmt: skip
MAPS = {
    "apart": "int b = blockIdx.x * blockDim.x * 4 + threadIdx.x;\n"
             "for (int j = 0; j < 4; ++j) { int i = b + j * blockDim.x; if (i < n) y[i] = x[i] + 1; }",
    "adjacent": "int b = (blockIdx.x * blockDim.x + threadIdx.x) * 4;\n"
                "for (int j = 0; j < 4; ++j) if (b + j < n) y[b + j] = x[b + j] + 1;",
    "hard": "int i = blockIdx.x * 384 + threadIdx.x;\n"
            "for (int j = 0; j < 3; ++j) if (i + j * 128 < n) y[i + j * 128] = x[i + j * 128] + 1;",
    "neighbours": "int i = blockIdx.x * 128 + threadIdx.x; if (i < n - 1) y[i] = x[i + 1]; else if (i < n) y[i] = 0;",
}  # fmt: skip
ROWS = """\
__global__ void rows(const float* x, float* y, int h, int w) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (r + j < h && c < w) y[(r + j) * w + c] = x[(r + j) * w + c] + 1;
}
"""


def guessed(folder: Path, source: str, *values: int) -> KernelSpec:
    """The spec of the campaign that is written for a kernel, its sizes filled in."""
    (folder / "k.cu").write_text(source)
    path = init_campaign(folder / "k.cu", None, folder / "k.yaml", force=True)
    text = path.read_text()
    for value in values:
        text = text.replace("FILL_IN", str(value), 1)
    path.write_text(text)
    return load_campaign(path).spec


def launched(spec: KernelSpec, *args: np.ndarray | np.generic) -> list[np.ndarray]:
    variant = lower(spec, Genome(), BUILTIN, Target.OPENCL, DeviceLimits())
    assert isinstance(variant, Variant)
    (launch,) = variant.launches
    grid = tuple(axis.blocks(spec.sizes[0].env) for axis in launch.grid)
    return run_opencl(variant.source, launch.entry, args, grid, launch.block, variant.options)


@pytest.mark.parametrize("how", list(SUMS))
def test_sums_of_blocks_add_up(tmp_path: Path, how: str) -> None:
    head = "#define BLOCK 256\n__global__ void total(const float* x, float* y, int n) {\n  __shared__ float s[256];\n"
    spec = guessed(tmp_path, f"{head}  int tid = threadIdx.x;\n  {SUMS[how]}\n{TREE}}}\n", 5003)
    x = np.random.default_rng(1).integers(0, 9, 5003).astype(np.float32)
    y = np.full(spec.args[1].extent(spec.sizes[0].env), -1, np.float32)
    assert spec.launch.block == (256, 1, 1) and spec.args[0].extent(spec.sizes[0].env) == x.shape
    assert launched(spec, x, y, np.int32(5003))[1].sum() == x.sum()


@pytest.mark.parametrize("how", list(MAPS))
def test_maps_reach_every_element_with_no_block_too_many(tmp_path: Path, how: str) -> None:
    spec = guessed(tmp_path, f"__global__ void m(const float* x, float* y, int n) {{\n{MAPS[how]}\n}}\n", 5003)
    x = np.arange(5003, dtype=np.float32)
    y = launched(spec, x, np.full_like(x, -1), np.int32(5003))[1]
    expected = np.append(x[1:], 0) if how == "neighbours" else x + 1
    assert spec.args[1].extent(spec.sizes[0].env) == x.shape
    np.testing.assert_array_equal(y, expected)
    each = {"apart": 4, "adjacent": 4, "hard": 3, "neighbours": 1}[how]
    variant = lower(spec, Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant)
    (launch,) = variant.launches
    assert launch.grid[0].blocks({"n": 5003}) == -(-5003 // (each * launch.block[0]))
    assert launch.block[0] == (128 if how in ("hard", "neighbours") else 256)


def test_rows_of_a_tile_that_threads_take_in_turn(tmp_path: Path) -> None:
    spec = guessed(tmp_path, ROWS, 70, 45)
    x = np.random.default_rng(2).normal(size=(70, 45)).astype(np.float32)
    assert spec.launch.block == (32, 8, 1)
    assert [arg.extent(spec.sizes[0].env) for arg in spec.args[:2]] == [(70, 45), (70, 45)]
    y = launched(spec, x, np.zeros_like(x), np.int32(70), np.int32(45))[1]
    np.testing.assert_array_equal(y, x + 1)

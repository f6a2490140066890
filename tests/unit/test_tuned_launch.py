"""A block, a grid and shared memory in terms of tunables: the launch follows the macro the kernel is compiled with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evo.campaign import Campaign, CampaignError, load_campaign
from evo.export import best_cu, print_for
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.sizes import SizeExpr
from genome.transforms.builtin import BUILTIN
from genome.variant import Rejection, Target, Variant

KERNEL = """\
#ifndef TILE
#define TILE 16
#endif
__global__ void product(const float* A, const float* B, float* C, int n) {
  __shared__ float As[TILE][TILE], Bs[TILE][TILE];
  int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
  float s = 0;
  for (int t = 0; t < n; t += TILE) {
    As[threadIdx.y][threadIdx.x] = (r < n && t + threadIdx.x < n) ? A[r * n + t + threadIdx.x] : 0;
    Bs[threadIdx.y][threadIdx.x] = (c < n && t + threadIdx.y < n) ? B[(t + threadIdx.y) * n + c] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; k++) s += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    __syncthreads();
  }
  if (r < n && c < n) C[r * n + c] = s;
}
"""
SCALE = """\
__global__ void scale(const float* A, const float* B, float* C, int n) {
  int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
  if (r < n && c < n) C[r * n + c] = A[r * n + c] * B[r * n + c];
}
"""
CAMPAIGN = """\
version: 1
kernel: {source: kernel.cu}
arguments:
  - {name: A, dtype: float32, shape: [n, n]}
  - {name: B, dtype: float32, shape: [n, n]}
  - {name: C, dtype: float32, shape: [n, n], role: out}
  - {name: n, dtype: int32}
launch: {domain: {x: n, y: n}, block: {x: TILE, y: TILE}}
sizes: [{n: 100}]
tunables: {TILE: [16, 8, 32, 64]}
"""


def load(folder: Path, text: str = CAMPAIGN, kernel: str = KERNEL) -> Campaign:
    (folder / "kernel.cu").write_text(kernel)
    (folder / "campaign.yaml").write_text(text)
    return load_campaign(folder / "campaign.yaml")


def tile(value: int) -> Genome:
    return Genome((Gene.of("macro", Site("TILE", "macro[0]"), value=str(value)),))


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize("kernel", [KERNEL, SCALE])
def test_the_launch_follows_the_macro(tmp_path: Path, target: Target, kernel: str) -> None:
    spec = load(tmp_path, kernel=kernel).spec
    assert spec.launch.block == (16, 16, 1)
    for value, genome in ((16, Genome()), (8, tile(8)), (32, tile(32))):
        variant = lower(spec, genome, BUILTIN, target, DeviceLimits())
        assert isinstance(variant, Variant)
        launch = variant.launches[0]
        assert launch.block == (value, value, 1)
        assert [axis.blocks({"n": 100}) for axis in launch.grid] == [-(-100 // value), -(-100 // value), 1]
        assert f"* {value} +" in variant.source.replace(f"*{value}+", f"* {value} +")
    refused = lower(spec, tile(64), BUILTIN, target, DeviceLimits())
    assert isinstance(refused, Rejection) and "64x64x1 threads is over the limit" in refused.reason


@pytest.mark.parametrize("kernel", [KERNEL, SCALE])
def test_no_other_gene_changes_the_block(tmp_path: Path, kernel: str) -> None:
    spec = load(tmp_path, kernel=kernel).spec
    names = {move.transform.name for move in moves(spec, Genome(), BUILTIN, Target.CUDA, DeviceLimits())}
    assert "macro" in names and "block_shape" not in names


def test_grid_and_shared_memory_follow_too(tmp_path: Path) -> None:
    grid = "grid: {x: (n + TILE - 1) // TILE, y: n // TILE + 1}"
    launch = f"launch: {{{grid}, block: [TILE, 2*TILE // 4], shared_bytes: 4*TILE*n}}"
    text = CAMPAIGN.replace("launch: {domain: {x: n, y: n}, block: {x: TILE, y: TILE}}", launch)
    spec = load(tmp_path, text, SCALE).spec
    for value, genome in ((16, Genome()), (8, tile(8))):
        variant = lower(spec, genome, BUILTIN, Target.CUDA, DeviceLimits())
        assert isinstance(variant, Variant)
        launched = variant.launches[0]
        assert launched.block == (value, value // 2, 1)
        assert [axis.blocks({"n": 100}) for axis in launched.grid] == [-(-100 // value), 100 // value + 1, 1]
        assert launched.shared_bytes.evaluate({"n": 100}) == 400 * value
        assert "TILE" not in str(launched)


def test_a_fixed_launch_bound_below_the_tunable_block_is_raised(tmp_path: Path) -> None:
    spec = load(tmp_path, kernel=SCALE.replace("void scale", "void __launch_bounds__(256) scale")).spec
    small, large = (lower(spec, genome, BUILTIN, Target.CUDA, DeviceLimits()) for genome in (Genome(), tile(32)))
    assert isinstance(small, Variant) and "__launch_bounds__(256)" in small.source
    assert isinstance(large, Variant) and "__launch_bounds__(1024)" in large.source


def test_names_are_bound_where_they_stand() -> None:
    bound = SizeExpr("(N + TILE - 1) // TILE * TILES").bind({"TILE": 8})
    assert bound.names == ("N", "TILES") and bound.evaluate({"N": 17, "TILES": 2}) == 6
    plain = SizeExpr("N // 2")
    assert plain.bind({"TILE": 8}) is plain


def test_a_plain_block_is_as_before(tmp_path: Path) -> None:
    spec = load(tmp_path, CAMPAIGN.replace("{x: TILE, y: TILE}", "[16, 16]")).spec
    assert spec.launch.block == (16, 16, 1) and spec.launch.block_exprs == ()
    assert replace(spec.launch, block_exprs=()) == spec.launch


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ("x: TILE, y: TILE", "x: TYLE, y: TILE", "launch.block.x", "did you mean 'TILE'?"),
        ("x: TILE, y: TILE", "x: TILE - 8, y: TILE", "launch.block.x", "at least 1, got 0 with TILE=8"),
        ("x: TILE, y: TILE", "x: m, y: TILE", "launch.block.x", "'m' is neither"),
        ("x: TILE, y: TILE", "x: 16 // (TILE - 8), y: TILE", "launch.block.x", "divides by zero"),
        ("[16, 8, 32, 64]", "[16, '8u']", "launch.block.x", "'8u', which is no integer"),
        ("[16, 8, 32, 64]", "[64, 8]", "launch.block", "4096 threads"),
        ("domain: {x: n, y: n}", "domain: {x: n, y: TILE}", "launch.domain.y", "'TILE' is not a size"),
        ("domain: {x: n, y: n}", "grid: {x: n // (TILE - 8)}", "launch.grid.x", "divides by zero"),
    ],
)
def test_bad_launches_are_refused(tmp_path: Path, old: str, new: str, field: str, words: str) -> None:
    assert CAMPAIGN.count(old) == 1
    with pytest.raises(CampaignError) as caught:
        load(tmp_path, CAMPAIGN.replace(old, new))
    assert str(caught.value).startswith(f"{tmp_path}/campaign.yaml:8: {field}: "), caught.value
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_the_launcher_has_both_blocks(tmp_path: Path) -> None:
    spec = load(tmp_path).spec
    text = best_cu(spec, print_for(spec, tile(8), BUILTIN, Target.CUDA), ())
    launches = [line for line in text.splitlines() if "<<<" in line]
    assert ["dim3(16, 16, 1)" in line for line in launches] == [True, False]
    assert "dim3(8, 8, 1)" in launches[1] and "evo_blocks(size_n, 8)" in launches[1]

"""A block in terms of sizes: one number at every size of the campaign, and a guard on the rest."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from evo.campaign import Campaign, CampaignError, load_campaign
from evo.export import best_cl, best_cu, print_for
from genome.genes import Gene, Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.unit.test_source_execution import run_opencl

KERNEL = """\
#define SCALE 2
__global__ void rows(const float* x, float* y, int cols) {
  float s = 0.0f;
  for (int j = 0; j < cols; ++j) s += x[blockIdx.x * cols + j];
  y[blockIdx.x * blockDim.x + threadIdx.x] = x[blockIdx.x * cols + threadIdx.x] + SCALE * s;
}
"""
CAMPAIGN = """\
version: 1
kernel: {source: kernel.cu}
arguments:
  - {name: x, dtype: float32, shape: [rows, cols]}
  - {name: y, dtype: float32, shape: [rows, cols], role: out}
  - {name: cols, dtype: int32}
launch: {grid: rows, block: [cols]}
sizes: [{rows: 300, cols: 48}]
"""


def load(folder: Path, *changes: tuple[str, str]) -> Campaign:
    text = CAMPAIGN
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "kernel.cu").write_text(KERNEL)
    (folder / "campaign.yaml").write_text(text)
    return load_campaign(folder / "campaign.yaml")


def stripped(campaign: Campaign, target: Target) -> Variant:
    spec = campaign.spec
    offered = moves(spec, Genome(), BUILTIN, target, DeviceLimits())
    site = next(move for move in offered if move.transform.name == "strip").site
    variant = lower(spec, Genome((Gene.of("strip", site, factor=4),)), BUILTIN, target, DeviceLimits())
    assert isinstance(variant, Variant) and not variant.skipped
    return variant


def test_check_sizes_keep_the_block(tmp_path: Path) -> None:
    spec = load(tmp_path).spec
    assert spec.launch.block == (48, 1, 1)
    assert len(spec.check_sizes) >= 3
    assert {size.env["cols"] for size in spec.check_sizes} == {48}
    assert len({size.env["rows"] for size in spec.check_sizes}) == len(spec.check_sizes)


def test_no_gene_changes_it_and_variants_are_guarded(tmp_path: Path) -> None:
    campaign = load(tmp_path)
    names = {m.transform.name for m in moves(campaign.spec, Genome(), BUILTIN, Target.CUDA, DeviceLimits())}
    assert names and "block_shape" not in names
    variant = stripped(campaign, Target.CUDA)
    assert variant.launches[0].block == (48, 1, 1)
    assert variant.guard.holds({"rows": 7, "cols": 48}) and not variant.guard.holds({"rows": 7, "cols": 49})


def test_it_runs(tmp_path: Path) -> None:
    variant = stripped(load(tmp_path), Target.OPENCL)
    x = np.random.default_rng(3).normal(size=(5, 48)).astype(np.float32)
    (launch,) = variant.launches
    grid = tuple(axis.blocks({"rows": 5, "cols": 48}) for axis in launch.grid)
    y = run_opencl(variant.source, "rows", [x, np.zeros_like(x), np.int32(48)], grid, launch.block, variant.options)[1]
    np.testing.assert_allclose(y, x + 2 * x.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-4)


HALVES = (
    ("grid: rows, block: [cols]", "domain: rows * cols, block: {x: cols // 2 * HALVES}"),
    ("sizes:", "tunables: {HALVES: [2, 1]}\nsizes:"),
    ("source: kernel.cu}", "source: kernel.cu, defines: {HALVES: 2}}"),
)


@pytest.mark.parametrize(("changes", "side"), [((), "size_cols"), (HALVES, "((size_cols / 2) * 2)")])
def test_the_launcher_gives_other_sizes_to_the_kernel_as_it_was(
    tmp_path: Path, changes: tuple[tuple[str, str], ...], side: str
) -> None:
    campaign = load(tmp_path, *changes)
    genome = stripped(campaign, Target.CUDA).genome
    text = best_cu(campaign.spec, print_for(campaign.spec, genome, BUILTIN, Target.CUDA), [])
    before, after = text[text.index("launch_rows_baseline(") :].split("// Launches the evolved kernel", 1)
    assert f"dim3({side}, 1, 1)" in before and "dim3(48, 1, 1)" not in before
    assert "dim3(48, 1, 1)" in after and re.search(r"fits = .*== 48", after)
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not on PATH")
    (tmp_path / "best.cu").write_text(text)
    command = ["nvcc", "-arch=sm_80", "-cubin", str(tmp_path / "best.cu"), "-o", str(tmp_path / "best.cubin")]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_the_recipe_for_opencl_gives_the_kernel_as_it_was_the_block_of_the_sizes(tmp_path: Path) -> None:
    spec = load(tmp_path).spec
    genome = stripped(load(tmp_path), Target.OPENCL).genome
    text = best_cl(spec, print_for(spec, genome, BUILTIN, Target.OPENCL), [])
    before, after = text.split("// The kernel as it was:")
    assert "local size (48, 1, 1)" in before and "(cols) == 48" in before
    assert "global size (ceil((rows) / 1) * (cols), " in after and "local size ((cols), 1, 1)" in after


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ("[cols]", "[colls]", "launch.block[0]", "'colls' is neither; did you mean 'cols'?"),
        ("[cols]", "[cols - 48]", "launch.block[0]", "at least 1, got 0"),
        ("cols: 48}", "cols: 2048}", "launch.block", "2048 threads"),
        ("cols: 48}]", "cols: 48}, {rows: 300, cols: 64}]", "launch.block[0]", "48 threads at rows=300,cols=48, 64 at"),
        ("cols: 48}]", "cols: 48}]\ncheck_sizes: [{rows: 2, cols: 48}, {rows: 3, cols: 48}, {rows: 3, cols: 49}]",
         "check_sizes[2]", "is 49 at rows=3,cols=49 and 48 where it is tuned"),
    ],
)  # fmt: skip
def test_what_is_no_one_block_is_refused(tmp_path: Path, old: str, new: str, field: str, words: str) -> None:
    with pytest.raises(CampaignError) as caught:
        load(tmp_path, (old, new))
    assert f": {field}: " in str(caught.value) and words in str(caught.value)


def test_sizes_that_share_a_block_are_tuned_together(tmp_path: Path) -> None:
    spec = load(tmp_path, ("cols: 48}]", "cols: 48}, {rows: 900, cols: 48}]")).spec
    assert len(spec.sizes) == 2 and spec.launch.block == (48, 1, 1)

"""Convolutions, bodies and stencils through masks, tiles and windows: executed against the untransformed kernel.

On PoCL at sizes that do not divide, and the CUDA text on system threads, where a missing barrier is a race. The same
genes, by their roles, make the same of kernels with other names, argument orders and layouts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.spec import Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.property.test_cuda_text_execution import execute
from tests.property.test_transforms_execute import CASES, Case, assert_same, baseline, size_of, spec_of


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


def staged(x: str, o: str, c: str, weight: str) -> tuple[Gene, ...]:
    """The genes that a tiled convolution has with any border."""
    return (gene("coarsen_blocked", x, factor=2), gene("coarsen_blocked", o, factor=2),
            gene("register_tile", "instances"), gene("unroll", c, factor=2),
            gene("shared_tile", weight, pad=4, transpose=1, width=1))  # fmt: skip


LIMITS = DeviceLimits(max_threads=256, shared_bytes=64 * 1024, unrolled=512)
MASKED = (gene("masked_reads", "in"), *staged("x", "o", "c", "weight"), gene("masked_tile", "in", pad=2))
PADDED = (*staged("w", "oc", "ic", "wt"), gene("shared_tile", "x", pad=1, transpose=0, width=1))
GENOMES = {
    "conv3x3: one buffer ahead": ("conv3x3", *MASKED, gene("pipeline", "c_outer", buffers=1)),
    "conv3x3: two buffers": ("conv3x3", *MASKED, gene("pipeline", "c_outer", buffers=2)),
    "conv3x3: a window of the tile": (
        "conv3x3", *MASKED, gene("register_window", "in_tile", depth=2), gene("scalar_reads", "weight_tile")),
    "conv3: a padded image": ("conv3", *PADDED, gene("pipeline", "ic_outer", buffers=1)),
    "conv3: windows of both": (
        "conv3", gene("coarsen_blocked", "w", factor=4), gene("register_tile", "instances"),
        gene("register_window", "x", depth=2), gene("register_window", "wt", depth=2)),
    "nbody: strips in wide loads": (
        "nbody", gene("fused_sums", "sums"), gene("coarsen_strided", "i", factor=2), gene("register_tile", "instances"),
        gene("strip", "j", factor=8), gene("register_window", "px", depth=1), gene("register_window", "mass", depth=1),
        gene("vectorise", "px", width=4), gene("vectorise", "mass", width=4)),
    "stencil: rolling rows": (
        "stencil", gene("coarsen_blocked", "y", factor=8), gene("register_tile", "instances"),
        gene("register_window", "in", depth=0)),
}  # fmt: skip
THREADED = ("conv3x3: one buffer ahead", "conv3: a padded image")


def lowered(name: str, target: Target) -> tuple[Case, Variant]:
    entry, *genes = GENOMES[name]
    case = next(case for case in CASES if case.name == entry)
    variant = lower(spec_of(case), Genome(tuple(genes)), BUILTIN, target, LIMITS)  # type: ignore[arg-type]
    assert isinstance(variant, Variant), variant
    assert not variant.skipped
    return case, variant


@pytest.mark.parametrize("name", [name for name in GENOMES if name not in THREADED])
def test_a_composition_keeps_the_result(name: str, opencl_run) -> None:
    assert_same(*lowered(name, Target.OPENCL), opencl_run)


@pytest.mark.parametrize("name", THREADED)
def test_the_cuda_text_has_no_race(name: str, opencl_run, tmp_path: Path) -> None:
    case, variant = lowered(name, Target.CUDA)
    size = case.sizes[1]
    assert variant.guard.holds(size_of(size).env)
    inputs, expected = baseline(case, size, opencl_run)
    got, complaint = execute(variant, case, size_of(size).env, inputs, tmp_path)
    assert "data race" not in complaint, complaint
    (out,) = (arg.name for arg in spec_of(case).args if arg.role is Role.OUT)
    np.testing.assert_allclose(got[out], expected[out], rtol=2e-4, atol=2e-4, err_msg=variant.source)

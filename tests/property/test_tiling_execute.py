"""Tiled and pipelined kernels compute what the untransformed one computes: on PoCL, and as CUDA text on threads."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.property.test_cuda_text_execution import execute
from tests.property.test_transforms_execute import CASES, Case, assert_same, baseline, size_of, spec_of

LIMITS = DeviceLimits(max_threads=256)


def gene(name: str, role: str, **params: int) -> Gene:
    return Gene.of(name, Site(role, role), **params)


def vectors(count: int, width: int = 4) -> tuple[Gene, ...]:
    return tuple(gene("vectorise", f"access.unit[{number}]", width=width) for number in range(count))


def contraction(transpose: int, *more: Gene, pads: tuple[int, int] = (4, 0), width: int = 4) -> tuple[Gene, ...]:
    """The genes of a tiled matrix product, by roles: they name nothing of the kernel."""
    return (
        gene("promote", "accumulator[0]"),
        gene("coarsen_blocked", "parallel.y", factor=4), gene("coarsen_strided", "parallel.y", factor=2),
        gene("coarsen_blocked", "parallel.x", factor=4), gene("block_shape", "parallel.x", threads=8),
        gene("block_shape", "parallel.y", threads=8), gene("warp_tile", "warp", width=4),
        gene("register_tile", "instances"), gene("strip", "reduction[0]", factor=8),
        gene("shared_tile", "read.reused[0]", pad=pads[0], transpose=transpose, width=width),
        gene("shared_tile", "read.reused[1]", pad=pads[1], transpose=0, width=width),
        gene("scalar_reads", "read.shared[0]"), gene("scalar_reads", "read.shared[1]"), *more,
    )  # fmt: skip


def halo(buffers: int, *tile: Gene) -> tuple[Gene, ...]:
    return (
        *tile, gene("strip", "reduction[0]", factor=2), gene("shared_tile", "read.reused[0]", pad=0, transpose=0),
        gene("shared_tile", "read.reused[1]", pad=1), gene("pipeline", "staged[0]", buffers=buffers),
    )  # fmt: skip


def bodies(buffers: int, width: int) -> tuple[Gene, ...]:
    tiles = tuple(gene("shared_tile", f"read.reused[{n}]", pad=0, transpose=0, width=width) for n in range(4))
    return (gene("strip", "reduction[0]", factor=16), *tiles, gene("pipeline", "staged[0]", buffers=buffers),
            *vectors(4))  # fmt: skip


TWO, ONE = gene("pipeline", "staged[0]", buffers=2), gene("pipeline", "staged[0]", buffers=1)
GENOMES = {
    "matmul: tiled": ("matmul", *contraction(1, TWO, *vectors(5))),
    "matmul: narrow copies, one buffer": ("matmul", *contraction(0, ONE, pads=(1, 1), width=1)),
    "matmul: copies of two": ("matmul", *contraction(1, TWO, *vectors(3, 2), width=2)),
    "gemm_tn: other names, order and layout": ("gemm_tn", *contraction(0, TWO, *vectors(5), pads=(0, 0))),
    "gemm_tn: one buffer": ("gemm_tn", *contraction(0, ONE)),
    "conv3: halo, two buffers": ("conv3", *halo(2)),
    "conv3: halo, one buffer": (
        "conv3", *halo(1, gene("coarsen_blocked", "parallel.z", factor=2), gene("register_tile", "instances")),
        gene("scalar_reads", "read.shared[0]")),
    "nbody: wide copies": ("nbody", *bodies(2, 4)),
    "nbody: one buffer": ("nbody", *bodies(1, 1)),
    "stencil: a warp is a square": ("stencil", gene("warp_tile", "warp", width=8),
                                    gene("shared_tile", "read.reused[0]", pad=2, transpose=0, width=2)),
    "transpose: a warp is a column": ("transpose", gene("warp_tile", "warp", width=2),
                                      gene("shared_tile", "read.reused[0]", pad=1, transpose=1, width=4)),
}  # fmt: skip
ABSENT = {"promote", "scalar_reads", "vectorise"}
"""Transforms that have nothing to do in some of these kernels."""


def lowered(name: str, target: Target) -> tuple[Case, Variant]:
    entry, *genes = GENOMES[name]
    case = next(case for case in CASES if case.name == entry)
    variant = lower(spec_of(case), Genome(tuple(genes)), BUILTIN, target, LIMITS)
    assert isinstance(variant, Variant), variant
    assert not [skipped for skipped in variant.skipped if skipped.gene.transform not in ABSENT]
    return case, variant


@pytest.mark.parametrize("name", GENOMES)
def test_opencl_computes_the_same(name: str, opencl_run) -> None:
    case, variant = lowered(name, Target.OPENCL)
    assert_same(case, variant, opencl_run)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to run CUDA text with")
@pytest.mark.parametrize("name", ["matmul: tiled", "gemm_tn: one buffer", "nbody: wide copies"])
def test_cuda_text_computes_the_same_without_a_race(name: str, opencl_run, tmp_path: Path) -> None:
    case, variant = lowered(name, Target.CUDA)
    size = next(size for size in reversed(case.sizes) if variant.guard.holds(size_of(size).env))
    inputs, expected = baseline(case, size, opencl_run)
    got, complaint = execute(variant, case, size_of(size).env, inputs, tmp_path)
    assert "data race" not in complaint, complaint
    for arg in spec_of(case).args:
        if not arg.is_scalar and arg.role != "in":
            np.testing.assert_allclose(got[arg.name], expected[arg.name], rtol=2e-4, atol=2e-4, err_msg=variant.source)

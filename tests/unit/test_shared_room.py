"""Tiles beyond CUDA's 48 KiB of constant size: one array that the launch sizes, and nothing else changes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.cuda.compile import compile_variant
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from evaluator.plan import bind
from evo.campaign import load_campaign
from genome.genes import Gene, Genome, Site
from genome.limits import STATIC_SHARED, DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import KernelSpec, ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Rejection, Target, Variant

ROOT = Path(__file__).parents[2]
LARGE = DeviceLimits(shared_bytes=232448, units=132)


def spec() -> KernelSpec:
    found = load_campaign(ROOT / "benchmarks" / "genomes" / "half_gemm" / "campaign.yaml").spec
    return replace(found, sizes=(ProblemSize((("M", 256), ("N", 256), ("K", 256))),))


def genome(stages: int, depth: int) -> Genome:
    """A hand-written one with tiles that deep, in so many buffers."""
    data = json.loads((ROOT / "benchmarks" / "genomes" / "half_gemm_async64.json").read_text())
    found = Genome.from_json(data["genome"])
    found = found.with_gene(Gene.of("strip", Site("k", "reduction[0]"), factor=depth))
    return found.with_gene(Gene.of("async_copy", Site("k_outer", "staged[0]"), stages=stages))


def lowered(stages: int, depth: int, target: Target = Target.CUDA) -> Variant | Rejection:
    return lower(spec(), genome(stages, depth), BUILTIN, target, LARGE)


@pytest.mark.parametrize(("stages", "depth"), [(2, 32), (3, 32), (4, 32), (3, 64)])
def test_the_launch_asks_for_what_the_arrays_take(stages: int, depth: int) -> None:
    variant = lowered(stages, depth)
    assert isinstance(variant, Variant)
    assert not variant.skipped
    wanted = stages * 2 * (128 * (depth + 8) + depth * (128 + 8))  # two bytes an element, rows padded by eight
    (launch,) = variant.launches
    asked, static = launch.shared_bytes.evaluate({}), launch.static_shared_bytes
    assert (asked, static) == ((wanted, 0) if wanted > STATIC_SHARED else (0, wanted))
    parts = re.findall(r"half \(&(\w+)\)((?:\[\d+\])+) = .*\+ (\d+)\);", variant.source)
    if asked:
        sizes = [2 * eval_product(dims) for _, dims, _ in parts]
        assert [int(start) for _, _, start in parts] == [sum(sizes[:n]) for n in range(len(sizes))]
        assert sum(sizes) == asked


def eval_product(dims: str) -> int:
    result = 1
    for extent in re.findall(r"\d+", dims):
        result *= int(extent)
    return result


def test_what_the_device_has_is_the_limit() -> None:
    tight = lower(spec(), genome(4, 32), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(tight, Rejection)
    assert "shared memory are over the limit of 49152" in tight.reason


def test_a_kernel_whose_launch_gives_shared_memory_keeps_it_to_itself() -> None:
    own = replace(spec(), launch=replace(spec().launch, shared_bytes=SizeExpr("1024")))
    found = lower(own, genome(4, 32), BUILTIN, Target.CUDA, LARGE)
    assert isinstance(found, Rejection)
    assert "arrays of constant size" in found.reason


def test_it_compiles_and_its_occupancy_counts_what_the_launch_asks_for() -> None:
    try:
        compiler = Nvrtc()
    except NvrtcMissing as missing:
        pytest.skip(str(missing))
    variant = lowered(3, 64)
    assert isinstance(variant, Variant)
    call = bind(spec(), variant, spec().sizes[0])
    binary = compile_variant(compiler, "sm_90", variant, [call], "", lambda stage: None)
    assert binary.resources.shared_bytes == call.launches[0].shared_bytes > STATIC_SHARED
    assert not binary.resources.spills_bytes
    assert binary.resources.occupancy == 2 * 4 / 64  # two blocks of four warps: three would take 323 KiB

"""Whole shapes: what a genome holds is read back, steps keep it consistent, and nothing is shaped that does not fit."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.result import DeviceInfo
from evo.campaign import load_campaign
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.spec import KernelSpec, ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from operators.base import AgentContext, Parent
from operators.choice import Want, compose
from operators.digits import product_of, varied
from operators.local_search import LocalSearch
from operators.parallelism import Parallelism
from operators.product import Digits, Product, product, random_product
from operators.recipe import Recipe, known_sizes, redrawn
from operators.rows import random_rows, shared_rows
from operators.streams import gathered, transposed
from operators.windows import random_windows, windows

ROOT = Path(__file__).parents[3]
LIMITS = DeviceLimits(shared_bytes=232448, units=132)
DEEP = Product(Digits(16, 1, 4), Digits(4, 1, 2), Digits(4, 1, 8), buffers=1, fragments=False)
SHAPE = Product(Digits(16, 2, 4), Digits(8, 4, 4), warp=8)
KNOWN = Gene.of("specialise", Site("M", "scalar[0]"), value=4096)


@lru_cache(maxsize=1)
def kernel(example: str, sizes: tuple[tuple[str, int], ...] = ()) -> tuple[KernelSpec, AgentContext]:
    spec = load_campaign(ROOT / "examples" / example / "campaign.yaml").spec
    spec = replace(spec, sizes=(ProblemSize(sizes),)) if sizes else spec

    @lru_cache(maxsize=4096)
    def listed(genome: Genome, only: frozenset[str] | None = None) -> Any:
        return moves(spec, genome, BUILTIN, Target.CUDA, LIMITS, only)

    baseline = Parent(Genome(), "baseline", 1.0)
    device = DeviceInfo("cuda:0", "a GPU", "", "sm_90", "gpu", LIMITS.units, 1 << 37)
    return spec, AgentContext((baseline,), baseline, listed, lambda genome: False, Target.CUDA, device, wanted=3)


def matmul() -> tuple[KernelSpec, AgentContext]:
    return kernel("matmul", (("M", 4096), ("N", 4096), ("K", 4096)))


def convolution() -> tuple[KernelSpec, AgentContext]:
    return kernel("conv3x3", (("IC", 64), ("OC", 64), ("H", 256), ("W", 256)))


@pytest.mark.parametrize(
    "shape",
    [
        replace(SHAPE, x=Digits(8, 2, 4), warp=4),
        replace(SHAPE, x=Digits(32, 1, 2), y=Digits(4, 4, 2), warp=0, depth=16, copies=2, buffers=1, group=8),
        replace(SHAPE, x=Digits(8, 1, 8), warp=4, stages=4, buffers=0, fragments=False, bounds=0),
        replace(SHAPE, x=Digits(8, 1, 4), y=Digits(8, 1, 4), warp=4, depth=32, parts=16),
    ],
)
def test_a_product_is_read_back_from_its_genome(shape: Product) -> None:
    spec, context = matmul()
    genome = product(shape)(context, Genome())
    assert product_of(genome) == shape
    variant = lower(spec, genome, BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant)
    assert not variant.skipped


@pytest.mark.parametrize("get", [matmul, convolution])
def test_steps_of_a_product_stay_whole(get: Any) -> None:
    spec, context = get()
    kept = KNOWN if spec.name == "matmul" else Gene.of("specialise", Site("IC", "scalar[0]"), value=64)
    genome = product(SHAPE if spec.name == "matmul" else DEEP)(context, Genome((kept,)))
    rng = np.random.default_rng(1)
    steps = [step for _ in range(40) if (step := varied(context, genome, rng)) is not None]
    variants = [lower(spec, step, BUILTIN, Target.CUDA, LIMITS) for step, _ in steps]
    legal = [variant for variant in variants if isinstance(variant, Variant)]
    assert len({variant.digest() for variant in legal}) >= 10
    assert len(legal) >= 0.8 * len(variants)
    assert not [variant.skipped for variant in legal if variant.skipped]
    assert all(kept in step.genes and product_of(step) is not None for step, _ in steps)


def test_large_blocks_of_register_tiles_bound_their_registers() -> None:
    """Without a bound, 1024 threads of 96 registers are more than a multiprocessor has."""
    _, context = kernel("nbody")
    parent = Parent(windows(128, 8, 4, 2)(context, Genome()), "v", 3.0)
    rng = np.random.default_rng(0)
    drawn = [p.genome for _ in range(30) for p in Parallelism().propose(replace(context, parents=(parent,)), rng)]
    large = [genome for genome in drawn if genome.find("register_tile") and genome.find("block_shape", "i")
             and int(genome.find("block_shape", "i").values["threads"]) > 256]  # fmt: skip
    assert large
    assert all(genome.find("launch_bounds") for genome in large)
    assert not all(genome.find("launch_bounds") for genome in drawn)


def test_what_is_no_product_has_no_digits() -> None:
    _, context = matmul()
    assert product_of(Genome()) is None
    assert varied(context, Genome((KNOWN,)), np.random.default_rng(0)) is None


def test_a_step_of_local_search_may_change_the_whole_shape() -> None:
    _, context = matmul()
    genome = product(SHAPE)(context, Genome())
    parent = Parent(genome, "v", 5.0)
    proposals = [
        proposal
        for seed in range(8)
        for proposal in LocalSearch().propose(replace(context, parents=(parent,)), np.random.default_rng(seed))
    ]
    assert any(p.note != "one step" for p in proposals)
    assert any(p.note == "one step" for p in proposals)


@pytest.mark.parametrize(
    ("example", "recipe"),
    [
        ("gelu", product(SHAPE)), ("stencil", product(SHAPE)), ("gemv", product(SHAPE)),
        ("matmul", windows(128, 2, 8, 4)), ("matmul", product(replace(SHAPE, z=Digits(4, 1, 8)))),
        ("gelu", windows(128, 2, 8, 4)), ("gelu", gathered("cascade", 256, 8, 4)), ("matmul", shared_rows(256, 4)),
        ("matmul", transposed(256, 64, 4)),
    ],
)  # fmt: skip
def test_a_shape_is_left_out_where_its_facts_do_not_hold(example: str, recipe: Recipe) -> None:
    assert recipe(kernel(example)[1], Genome()) == Genome()


def test_a_shape_replaces_the_one_before_and_leaves_the_rest() -> None:
    _, context = matmul()
    old = compose(Genome((KNOWN,)), (Want("coarsen_strided", values={"factor": 32}, sites=1),), context.moves)
    drawn = redrawn(context, old, (random_rows, random_windows, random_product), np.random.default_rng(2))
    assert drawn is not None
    genome, note = drawn
    assert note.startswith("blocked product")
    assert KNOWN in genome.genes
    assert [gene for gene in old.genes if gene in genome.genes] == [KNOWN]
    assert redrawn(context, old, (random_rows, random_windows), np.random.default_rng(2)) is None


def test_some_size_stays_open() -> None:
    spec, context = convolution()
    for seed in range(10):
        genome = known_sizes(context, Genome(), np.random.default_rng(seed))
        assert 1 <= len(genome.genes) <= 3
        variant = lower(spec, genome, BUILTIN, Target.CUDA, LIMITS)
        assert isinstance(variant, Variant)
        assert not variant.skipped

"""Genomes that once changed the result of an untidy kernel: each is refused now, or right."""

from __future__ import annotations

import pytest

from genome.genes import Gene, Genome, Site
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.property.test_transforms_execute import CASES, LIMITS, assert_same, spec_of


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


TILED = (gene("coarsen_blocked", "i", factor=2), gene("register_tile", "instances"))
STRIDED = (gene("coarsen_strided", "i", factor=4), gene("register_tile", "instances"))
SHARED = {"pad": 0, "transpose": 0}
GENOMES = {
    "a tile of a loop from 1": ("taps", gene("shared_tile", "x", **SHARED)),
    "a tile of a loop by 3": ("taps", gene("shared_tile", "w", **SHARED)),
    "a tile of loops unrolled": (
        "taps", gene("unroll", "d", factor=2), gene("unroll", "d_2", factor=0), gene("shared_tile", "w", **SHARED)),
    "locals that do not vary": ("fading", *TILED),
    "locals that do not vary, strided": ("fading", *STRIDED),
    "lanes with a local of an iteration": ("fading", gene("cooperate", "i", threads=32, inner=4)),
    "a counter in opaque text": ("weights", *TILED),
    "another block under shared memory": ("flip", gene("block_shape", "i", threads=32)),
    "a striding block under shared memory": ("flip", gene("grid_stride", "i", blocks=1)),
    "another shape under shared memory": ("turn", gene("block_shape", "c", threads=16)),
    "other axes under shared memory": ("turn", gene("axis_swap", "r"), gene("block_shape", "r", threads=4)),
    "another block under a helper that sees threads": ("grouped", gene("block_shape", "i", threads=16)),
    "coarser threads under a helper that sees them": ("grouped", gene("coarsen_blocked", "i", factor=2)),
    "accumulators under a condition": (
        "quarter", gene("promote", "C"), gene("coarsen_blocked", "i", factor=4), gene("register_tile", "instances")),
    "unsigned and wide sizes": (
        "typed", gene("specialise", "n", value=256), gene("specialise", "ld", value=536870912)),
    "a size that the kernel changes": ("typed", gene("specialise", "m", value=300)),
    "a bound of floating point": ("fraction", gene("cooperate", "r", threads=128, inner=1)),
    "an address of floating point": ("fraction", gene("shared_tile", "x", **SHARED)),
    "an index that wraps": ("wrapped", gene("block_shape", "c", threads=16)),
    "a sum that is truncated": ("truncated", gene("cooperate", "r", threads=128, inner=1)),
    "a bound that shrinks": ("shrinking", gene("strip", "j", factor=8)),
    "a bound in memory that shrinks": ("shrinking", gene("unroll", "j_2", factor=4)),
    "an early exit": ("shrinking", gene("unroll", "j_3", factor=4)),
    "tickets of a thread's instances": ("tickets", *TILED),
}  # fmt: skip


@pytest.mark.parametrize("name", GENOMES)
def test_a_genome_that_was_wrong(name: str, opencl_run) -> None:
    entry, *genes = GENOMES[name]
    case = next(case for case in CASES if case.entry == entry)
    variant = lower(spec_of(case), Genome(tuple(genes)), BUILTIN, Target.OPENCL, LIMITS)
    if isinstance(variant, Variant):
        assert_same(case, variant, opencl_run)

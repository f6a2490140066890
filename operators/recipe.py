"""Recipes: whole shapes as one proposal, because no gene of them gains anything alone.

A recipe is a function from a genome to one with the shape. It names transforms and roles only, never a kernel, and
gives the genome back unchanged where the facts that it is about (a reduction with reuse along two axes, rows that
several threads can share, an update of few addresses, ...) do not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from genome.genes import Genome
from operators.base import AgentContext
from operators.choice import Want, compose, wanted_gene, without_transforms

Recipe = Callable[[AgentContext, Genome], Genome]
Draw = Callable[[AgentContext, np.random.Generator], tuple[Recipe, str]]
"""Draws a recipe's parameters; the phrase says for a person what it is."""

SHAPING = frozenset({
    "block_shape", "coarsen_blocked", "coarsen_strided", "grid_stride", "axis_swap", "cooperate", "transpose_tile",
    "warp_tile", "cascade", "two_stages", "privatise", "register_tile", "strip", "unroll", "unroll_jam", "shared_tile",
    "masked_tile", "pipeline", "async_copy", "register_window", "scalar_reads", "keep", "hoist_loads", "early_loads",
    "tensor_core", "vectorise", "launch_bounds", "rasterise", "split_reduction",
})  # fmt: skip
"""What makes the shape of a genome; the rest (known sizes, cheaper arithmetic, qualifiers) goes with any shape."""


_KNOWN = 0.4  # share of redrawn shapes that know sizes


def wants(*wanted: Want) -> Recipe:
    """Every wanted gene that applies."""
    return lambda context, genome: compose(genome, wanted, context.moves)


def around(key: str, *wanted: Want) -> Recipe:
    """The composite where the transform that it is about applies, else nothing."""

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        return compose(genome, wanted, context.moves) if applies(context, genome, key) else genome

    return recipe


def applies(context: AgentContext, genome: Genome, transform: str) -> bool:
    """True if the transform can be added somewhere."""
    return any(all(move.domain.values()) for move in context.moves(genome, frozenset((transform,))))


def parallel_axes(context: AgentContext, genome: Genome) -> frozenset[str]:
    """Roles of the axes whose blocks can be changed."""
    return frozenset(move.site.role for move in context.moves(genome, frozenset(("block_shape",))))


def redrawn(
    context: AgentContext, genome: Genome, draws: Sequence[Draw], rng: np.random.Generator
) -> tuple[Genome, str] | None:
    """The genome with its shape replaced by one of these, the first in a random order that applies; else None.

    Some of them are compiled for known sizes, which a shape alone may not need, and others need it to be fast.
    """
    bare = without_transforms(genome, SHAPING)
    for index in rng.permutation(len(draws)):
        recipe, note = draws[int(index)](context, rng)
        shaped = recipe(context, bare)
        if shaped != bare:
            return (known_sizes(context, shaped, rng), note) if rng.random() < _KNOWN else (shaped, note)
    return None


def known_sizes(context: AgentContext, genome: Genome, rng: np.random.Generator) -> Genome:
    """The genome compiled for some of the tuned sizes, and not for all of them: it must run at others, too."""
    found = [m for m in context.moves(genome, frozenset(("specialise",))) if all(m.domain.values())]
    some = rng.permutation(len(found))[: int(rng.integers(1, max(len(found), 2)))]
    for index in sorted(int(i) for i in some):
        genome = genome.with_gene(wanted_gene(found[index], {}))
    return genome

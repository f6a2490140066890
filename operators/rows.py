"""Rows: kernels with a row a thread, whose rows several threads can share."""

from __future__ import annotations

import numpy as np

from genome.genes import Genome
from operators.base import AgentContext
from operators.choice import Want, compose, pick, wanted_gene
from operators.recipe import Recipe, applies, around, parallel_axes


def shared_rows(threads: int, inner: int, rows: int = 1) -> Recipe:
    """Several threads an instance, for kernels of one axis: with more, there are threads enough already."""
    wanted = [Want("promote"), Want("cooperate", "parallel.x", {"threads": threads, "inner": inner})]
    if rows > 1:
        wanted.append(Want("block_shape", "parallel.x", {"threads": rows}))
    wanted.append(Want("restrict"))
    if inner > 1:
        wanted.append(Want("vectorise", values={"width": inner}))
    return lambda context, genome: (
        around("cooperate", *wanted)(context, genome) if len(parallel_axes(context, genome)) == 1 else genome
    )


def joined_rows(threads: int, inner: int, rows: int = 1) -> Recipe:
    """Rows shared by several threads, a pass less: a maximum or a mean is found together with the sum that needs it."""

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        whole = compose(genome, (Want("unpeel"),), context.moves) if applies(context, genome, "cooperate") else genome
        shared = shared_rows(threads, inner, rows)(context, whole)
        joined = compose(shared, (Want("online"), Want("moments")), context.moves)
        return genome if joined == shared else joined

    return recipe


def kept_rows(threads: int, inner: int, rows: int = 1) -> Recipe:
    """Rows shared by several threads, compiled for the width at which a row stays in registers between its passes."""

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        if not applies(context, genome, "cooperate"):
            return genome
        shared = shared_rows(threads, inner, rows)(context, compose(genome, (Want("unpeel"),), context.moves))
        for move in context.moves(shared, frozenset(("specialise",))):
            fixed = shared.with_gene(wanted_gene(move, {})) if all(move.domain.values()) else shared
            if applies(context, fixed, "keep"):
                wide = (Want("keep"), Want("vectorise", values={"width": inner}))
                return compose(fixed, wide, context.moves)
        return genome

    return recipe


def random_rows(context: AgentContext, rng: np.random.Generator) -> tuple[Recipe, str]:
    """A row a warp or a row a block of any width, most often read once or with joined passes."""
    threads = int(pick(rng, (32, 64, 128, 256, 256, 512, 512, 1024)))
    rows = int(pick(rng, (1, 1, 2, 4))) if threads > 32 else int(pick(rng, (4, 8, 16)))
    rows = rows if threads * rows <= 1024 else 1
    inner = int(pick(rng, (1, 2, 4, 4, 4)))
    kind, note = pick(rng, _KINDS)
    return kind(threads, inner, rows), f"{threads} threads a row{note}"


_KINDS = ((kept_rows, ", read once"), (kept_rows, ", read once"), (joined_rows, ", passes joined"), (shared_rows, ""))

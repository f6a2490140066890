"""Products by warps: sums of products of 16-bit floats on tensor cores."""

from __future__ import annotations

import numpy as np

from genome.genes import Genome
from operators.base import AgentContext
from operators.choice import Want, compose, pick
from operators.recipe import Recipe

_EIGHT = 8  # 16-bit floats of one access


def by_warps(across: tuple[int, int], down: tuple[int, int], depth: int, stages: int, group: int = 0) -> Recipe:
    """Warps of 4 x 8 threads, tiles of ``depth`` copied ``stages`` turns ahead; nothing where that does not apply.

    ``across`` is (threads, pairs of columns a thread), ``down`` (threads, rows a thread).
    """
    strips = (Want("promote"), Want("strip", "reduction*", {"factor": depth}, sites=1))
    wanted = (
        Want("promote"),
        Want("block_shape", "parallel.x", {"threads": across[0]}),
        Want("block_shape", "parallel.y", {"threads": down[0]}),
        Want("coarsen_strided", "parallel.y", {"factor": down[1]}),
        Want("coarsen_strided", "parallel.x", {"factor": across[1]}),
        Want("coarsen_blocked", "parallel.x", {"factor": 2}),
        Want("warp_tile", values={"width": 4}),
        Want("register_tile"),
        Want("strip", "reduction*", {"factor": depth}, sites=1),
        Want("shared_tile", "read.reused*", {"pad": _EIGHT, "transpose": 0, "width": _EIGHT}),
        Want("async_copy", values={"stages": stages}),
        Want("tensor_core"),
        Want("vectorise", values={"width": 2}),
        *((Want("rasterise", values={"group": group}),) if group else ()),
        Want("restrict"),
    )

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        tiles = context.moves(compose(genome, strips, context.moves), frozenset(("shared_tile",)))
        if not any(_EIGHT in move.domain.get("width", ()) for move in tiles):
            return genome  # nothing of 16 bits to copy eight at a time
        found = compose(genome, wanted, context.moves)
        return found if any(gene.transform == "tensor_core" for gene in found.genes) else genome

    return recipe


def random_by_warps(context: AgentContext, rng: np.random.Generator) -> tuple[Recipe, str]:
    """Blocks and tiles of any sensible size."""
    across = int(pick(rng, (8, 8, 16))), int(pick(rng, (2, 4, 8, 8)))
    down = int(pick(rng, (8, 16, 16))), int(pick(rng, (2, 4, 8, 8)))
    depth, stages = int(pick(rng, (16, 32, 32, 64))), int(pick(rng, (2, 3, 4)))
    shape = by_warps(across, down, depth, stages, int(pick(rng, (0, 4, 8))))
    return shape, f"products by warps, tiles of {depth} copied {stages} ahead"

"""Windows: a loop whose elements every thread reads; a strip of them is loaded at once, into registers.

The shape of all-pairs sums, and of other loops over one axis where nothing but the elements of a thread shares what the
loop reads: each load then serves several of them, and adjacent ones move together.
"""

from __future__ import annotations

import numpy as np

from genome.genes import Genome
from operators.base import AgentContext
from operators.choice import Want, compose, pick
from operators.recipe import Recipe, applies, parallel_axes


def windows(threads: int, strided: int, depth: int, width: int, fused: bool = True, parts: int = 0) -> Recipe:
    """``strided`` elements of a thread share strips of ``depth`` elements, loaded ``width`` at a time.

    With ``parts``, so many blocks share the loop of an element: few elements then still fill the device. Where the
    campaign grants it, roots and quotients are the quick ones: arithmetic is all that is left.
    """
    tiled = (
        *((Want("split_reduction", values={"parts": parts}),) if parts else ()),
        *((Want("fused_sums"),) if fused else ()),
        Want("block_shape", "parallel.x", {"threads": threads}),
        *((Want("coarsen_strided", "parallel.x", {"factor": strided}),) if strided > 1 else ()),
        Want("register_tile"),
        Want("strip", "reduction*", {"factor": depth}, sites=1),
    )
    loads = (
        Want("register_window", "read.window*", {"depth": 1}),
        Want("vectorise", values={"width": width}),
        Want("inverse_root"),
        Want("fast_math"),
    )

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        if len(parallel_axes(context, genome)) != 1 or not applies(context, genome, "strip"):
            return genome
        strips = compose(genome, tiled, context.moves)
        found = compose(strips, loads, context.moves)
        return found if any(gene.transform == "register_window" for gene in found.genes) else genome

    return recipe


def random_windows(context: AgentContext, rng: np.random.Generator) -> tuple[Recipe, str]:
    """Windows of any sensible size."""
    threads, strided = int(pick(rng, (64, 128, 128, 256))), int(pick(rng, (1, 2, 2, 4, 8)))
    depth, parts = int(pick(rng, (4, 8, 8, 16))), int(pick(rng, (0, 4, 8, 16, 32)))
    shape = windows(threads, strided, depth, int(pick(rng, (2, 4, 4))), bool(rng.random() < 0.8), parts)
    return shape, f"strips of {depth} in registers, {strided} a thread, {max(1, parts)} blocks an element"

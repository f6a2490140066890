"""Computation: more work for each value loaded (register tiles, unrolled strips, known sizes, cheaper arithmetic)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from genome.genes import Genome
from operators.base import AgentContext, Proposal
from operators.choice import Want, compose, pick, without_transforms
from operators.digits import varied
from operators.mutation import batch, mutated
from operators.product import random_product
from operators.recipe import Recipe, redrawn
from operators.warps import random_by_warps
from operators.windows import random_windows

TABLE: Mapping[str, float] = {
    "register_tile": 2.0, "unroll": 2.0, "strip": 1.0, "promote": 1.0, "coarsen_blocked": 1.0, "specialise": 0.7,
    "fast_math": 0.7, "scalar_reads": 0.5, "vectorise": 0.5, "macro": 0.5,
    "shared_tile": 0.0, "restrict": 0.3, "axis_swap": 0.0, "block_shape": 0.0, "coarsen_strided": 0.3,
    "launch_bounds": 0.0, "cooperate": 0.7, "cascade": 0.5, "privatise": 0.3, "grid_stride": 0.3, "transpose_tile": 0.0,
    "tensor_core": 2.0,
    "single": 1.0, "intrinsic": 0.7, "inverse_root": 0.7, "carried_quotient": 0.7, "shift_mask": 0.2, "predicate": 0.5,
    "unroll_jam": 1.0, "interchange": 0.5, "fusion": 0.7, "fission": 0.3, "hoist_loads": 0.7, "early_loads": 0.3,
    "rasterise": 0.0, "warp_aggregate": 0.0, "fused_sums": 1.0, "masked_reads": 0.7, "register_window": 1.0,
    "masked_tile": 0.0, "warp_tile": 0.7, "pipeline": 0.5, "async_copy": 0.5, "keep": 0.0, "unpeel": 0.2,
    "split_reduction": 0.0, "two_stages": 0.0, "online": 0.3, "moments": 0.3,
}  # fmt: skip
"""Weights of the single moves; a transform at 0 is another agent's business."""
GENERIC = 0.5

_RETILED = frozenset({"coarsen_blocked", "coarsen_strided", "register_tile", "vectorise"})


@dataclass(frozen=True)
class Tile:
    """Shape of a register tile: instances of a thread along x, y, z, and what goes with them (0 = left alone).

    ``threads`` along x and y, ``strip`` of the reduction loop with its inner loop unrolled, ``unroll`` of the reduction
    loop itself, vector ``width``.
    """

    x: int = 1
    y: int = 1
    z: int = 1
    threads_x: int = 0
    threads_y: int = 0
    strip: int = 0
    unroll: int = 0
    width: int = 0
    restrict: bool = False


@dataclass(frozen=True)
class Computation:
    """Register tiles as one proposal of several genes (each alone gains nothing), and single moves.

    On a GPU whole shapes around them: blocked products and their neighbours, windows, products by warps.
    """

    name: str = "computation"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""

        def make() -> tuple[Genome, str] | None:
            draw = rng.random()
            if context.device.kind == "gpu" and draw < 0.7:
                shaped = varied(context, context.parent.genome, rng) if draw < 0.35 else None
                return shaped or redrawn(context, context.parent.genome, _GPU_SHAPES, rng)
            if draw < 0.5:
                tile = random_tile(context, rng)
                return register_tile(context, context.parent.genome, tile), f"register tile {tile.y}x{tile.x}"
            genome = mutated(context.parent.genome, context, TABLE, GENERIC, rng)
            return None if genome is None else (genome, "compute move")

        return batch(self.name, context, make)


def random_tile(context: AgentContext, rng: np.random.Generator) -> Tile:
    """A tile of at most 64 instances (beyond that they spill on every device known)."""
    x = int(pick(rng, (1, 2, 4, 8, 16)))
    y = int(pick(rng, [factor for factor in (1, 2, 4, 8, 16) if 1 < factor * x <= 64]))
    on_gpu = context.device.kind == "gpu"
    return Tile(
        x=x,
        y=y,
        z=int(pick(rng, [factor for factor in (1, 2, 4, 8) if factor * x * y <= 64])),
        threads_x=int(pick(rng, (0, 8, 16, 32) if on_gpu else (0, 1, 2, 4, 8, 16, 32, 64))),
        threads_y=int(pick(rng, (0, 4, 8, 16) if on_gpu else (0, 1, 2, 4, 8, 16))),
        strip=int(pick(rng, (0, 0, 4, 8, 16))),
        unroll=int(pick(rng, (0, 0, 2, 4, 8))),
        # A CPU's compiler makes vectors of neighbouring instances by itself, and most often better ones.
        width=int(pick(rng, (0, min(x, 4)) if on_gpu else (0, 0, 0, min(x, 8)))),
        restrict=bool(rng.random() < 0.5),
    )


def register_tile(context: AgentContext, genome: Genome, tile: Tile) -> Genome:
    """The genome with its instances replaced by this tile.

    Promotion and masks first (an accumulator in memory or a condition cannot be tiled), then blocked coarsening of each
    axis, block shape, jam, and what the tile asks for inside.
    """
    wants = [Want("promote"), Want("masked_reads")]
    for dim, factor, threads in (("x", tile.x, tile.threads_x), ("y", tile.y, tile.threads_y), ("z", tile.z, 0)):
        if threads:
            wants.append(Want("block_shape", f"parallel.{dim}", {"threads": threads}))
        if factor > 1:
            wants.append(Want("coarsen_blocked", f"parallel.{dim}", {"factor": factor}))
    wants.append(Want("register_tile"))
    if tile.strip:
        wants += [Want("strip", "reduction*", {"factor": tile.strip}, sites=1), Want("unroll", "strip*", sites=1)]
    elif tile.unroll:
        wants.append(Want("unroll", "reduction*", {"factor": tile.unroll}, sites=1))
    if tile.restrict:
        wants.append(Want("restrict"))
    if tile.width > 1:
        wants.append(Want("vectorise", values={"width": tile.width}))
    return compose(without_transforms(genome, _RETILED), wants, context.moves)


def _drawn_tile(context: AgentContext, rng: np.random.Generator) -> tuple[Recipe, str]:
    tile = random_tile(context, rng)
    return lambda where, genome: register_tile(where, genome, tile), f"register tile {tile.y}x{tile.x}"


_GPU_SHAPES = (random_product, random_product, random_product, random_by_warps, random_windows, _drawn_tile)

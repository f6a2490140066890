"""Parallelism: how the work spreads over blocks and threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from genome.genes import Gene, Genome
from operators.base import AgentContext, MoveLike, Proposal
from operators.choice import Want, compose, random_gene, wanted_gene
from operators.mutation import batch, mutated
from operators.recipe import redrawn
from operators.rows import random_rows
from operators.streams import random_gathered

TABLE: Mapping[str, float] = {
    "block_shape": 3.0, "coarsen_strided": 1.5, "coarsen_blocked": 1.5, "axis_swap": 0.7, "launch_bounds": 0.5,
    "register_tile": 0.5, "promote": 0.2, "cooperate": 1.5, "grid_stride": 1.5, "cascade": 1.5, "privatise": 1.0,
    "transpose_tile": 0.3, "split_reduction": 1.0, "two_stages": 0.5,
    "shared_tile": 0.0, "vectorise": 0.0, "scalar_reads": 0.0, "restrict": 0.0, "strip": 0.0, "unroll": 0.0,
    "specialise": 0.0, "fast_math": 0.0, "macro": 0.3,
    "rasterise": 1.0, "warp_aggregate": 1.0, "unroll_jam": 0.3, "predicate": 0.2, "interchange": 0.0, "fusion": 0.0,
    "fission": 0.0, "hoist_loads": 0.0, "early_loads": 0.0, "single": 0.0, "intrinsic": 0.0, "inverse_root": 0.0,
    "carried_quotient": 0.0, "shift_mask": 0.0, "warp_tile": 1.0, "masked_reads": 0.0, "masked_tile": 0.0,
    "fused_sums": 0.0, "register_window": 0.0, "pipeline": 0.0, "async_copy": 0.0, "keep": 0.0, "unpeel": 0.0,
    "online": 0.0, "moments": 0.0, "tensor_core": 0.0,
}  # fmt: skip
"""Weights of the single moves; a transform at 0 is another agent's business."""
GENERIC = 0.5
_UNBOUND = 256  # threads of a block that all registers of a thread always suffice for (65536 / 255)


_GPU_SHAPES = (random_rows, random_gathered)


@dataclass(frozen=True)
class Parallelism:
    """Whole block shapes as one proposal (all axes together keep the block's size sensible), and single moves.

    On a GPU also rows that several threads share, and updates that a block sends once.
    """

    name: str = "parallelism"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""

        def make() -> tuple[Genome, str] | None:
            draw = rng.random()
            if context.device.kind == "gpu" and draw >= 0.7:
                shaped = redrawn(context, context.parent.genome, _GPU_SHAPES, rng)
                if shaped is not None:
                    return shaped
            if draw < 0.5:
                genome = block_shape(context, context.parent.genome, rng)
                return None if genome is None else (fitting(context, genome), "block shape")
            moved = mutated(context.parent.genome, context, TABLE, GENERIC, rng)
            return None if moved is None else (fitting(context, moved), "geometry move")

        return batch(self.name, context, make)


def block_shape(context: AgentContext, genome: Genome, rng: np.random.Generator) -> Genome | None:
    """The genome with threads drawn anew for every axis whose block can change.

    The total is drawn first (a GPU wants 64 to 1024 threads, a CPU runs them in a loop and is happy with few), then
    split over the axes. None if the geometry is locked.
    """
    axes = [move for move in context.moves(genome) if move.transform.name == "block_shape"]
    if not axes:
        return None
    low, high = (6, 10) if context.device.kind == "gpu" else (2, 8)
    left = int(rng.integers(low, high + 1))
    order = [axes[int(index)] for index in rng.permutation(len(axes))]
    for position, move in enumerate(order):
        last = position == len(order) - 1
        bits = left if last else int(rng.integers(0, left + 1))
        genome = genome.with_gene(_threads(move, bits, rng))
        left -= bits
    return genome


def fitting(context: AgentContext, genome: Genome) -> Genome:
    """The genome with a bound on its registers, where many threads hold a register tile each: the file has to do."""
    threads = prod(int(gene.values["threads"]) for gene in genome.genes if gene.transform == "block_shape")
    if context.device.kind != "gpu" or threads <= _UNBOUND or genome.find("register_tile") is None:
        return genome
    bounded = genome.find("launch_bounds") is not None
    return genome if bounded else compose(genome, (Want("launch_bounds", values={"blocks": 1}),), context.moves)


def _threads(move: MoveLike, bits: int, rng: np.random.Generator) -> Gene:
    return wanted_gene(move, {"threads": 2**bits}) if "threads" in move.domain else random_gene(move, rng)

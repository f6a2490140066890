"""Memory layout: how data reach the arithmetic (shared tiles, wide accesses, registers, coalescing)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from genome.genes import Genome
from genome.variant import Target
from operators.base import AgentContext, Proposal
from operators.choice import Want, compose, pick
from operators.mutation import batch, mutated
from operators.recipe import redrawn
from operators.rows import random_rows
from operators.streams import random_bins, random_transposed

TABLE: Mapping[str, float] = {
    "shared_tile": 2.0, "vectorise": 2.0, "coarsen_blocked": 1.0, "scalar_reads": 1.0, "restrict": 0.7,
    "axis_swap": 0.7, "block_shape": 0.5, "promote": 0.5, "transpose_tile": 2.0, "privatise": 1.0,
    "cooperate": 0.5, "cascade": 0.3, "grid_stride": 0.3, "keep": 2.0, "unpeel": 0.3, "online": 1.0, "moments": 1.0,
    "coarsen_strided": 0.0, "register_tile": 0.3, "strip": 0.0, "unroll": 0.0, "specialise": 0.0, "launch_bounds": 0.0,
    "fast_math": 0.0, "macro": 0.0,
    "interchange": 1.0, "fusion": 0.5, "fission": 0.3, "hoist_loads": 0.7, "early_loads": 0.7, "rasterise": 0.5,
    "unroll_jam": 0.3, "warp_aggregate": 0.3, "single": 0.0, "intrinsic": 0.0, "inverse_root": 0.0, "predicate": 0.0,
    "carried_quotient": 0.0, "shift_mask": 0.0, "masked_reads": 0.7, "masked_tile": 2.0, "pipeline": 1.5,
    "async_copy": 1.5, "register_window": 1.0, "warp_tile": 0.5, "fused_sums": 0.0, "split_reduction": 0.0,
    "two_stages": 0.0, "tensor_core": 0.0,
}  # fmt: skip
"""Weights of the single moves; a transform at 0 is another agent's business."""
GENERIC = 0.5


_GPU_SHAPES = (random_rows, random_bins, random_transposed)


@dataclass(frozen=True)
class MemoryLayout:
    """Single layout moves, and composites.

    *Wide copies*: neighbours along the unit-stride axis in one thread, restrict, vector accesses (streaming kernels
    gain only from the three together). *Staged tile*: a reduction loop in strips, its reused reads in shared memory.
    On a GPU also rows that are read once, bins of a block's own, and stores that are turned.
    """

    name: str = "memory_layout"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""

        def make() -> tuple[Genome, str] | None:
            draw = rng.random()
            if context.device.kind == "gpu" and draw >= 0.7:
                shaped = redrawn(context, context.parent.genome, _GPU_SHAPES, rng)
                if shaped is not None:
                    return shaped
            if draw < 0.3:
                width = int(pick(rng, _widths(context.target)))
                return wide_copies(context, context.parent.genome, width), "wide copies"
            if draw < (0.45 if context.device.kind == "gpu" else 0.35):
                return staged_tile(context, context.parent.genome, int(pick(rng, (8, 16, 32)))), "staged tile"
            genome = mutated(context.parent.genome, context, TABLE, GENERIC, rng)
            return None if genome is None else (genome, "layout move")

        return batch(self.name, context, make)


def wide_copies(context: AgentContext, genome: Genome, width: int) -> Genome:
    """Adds blocked coarsening along x, restrict and vector accesses of that width."""
    wants = (
        Want("promote"),
        Want("coarsen_blocked", "parallel.x", {"factor": width}),
        Want("register_tile"),
        Want("restrict"),
        Want("vectorise", values={"width": width}),
    )
    return compose(genome, wants, context.moves)


def staged_tile(context: AgentContext, genome: Genome, depth: int) -> Genome:
    """Adds a strip of the reduction loops and shared tiles of the reused reads."""
    wants = (
        Want("promote"),
        Want("masked_reads"),
        Want("strip", "reduction*", {"factor": depth}, sites=1),
        Want("shared_tile", "read.reused*", {"pad": 1}),
        Want("masked_tile", "read.masked*", {"pad": 2}),
    )
    return compose(genome, wants, context.moves)


def _widths(target: Target) -> tuple[int, ...]:
    return (4, 8) if target is Target.OPENCL else (2, 4)

"""Profiler-guided mutation: what limits the parent decides which transforms are tried.

==========  ==================================================  ============================================
Bottleneck  Evidence                                            Moves that answer it
==========  ==================================================  ============================================
dram        achieved bandwidth near the roofline's slope        vectorise, shared_tile, cooperate, keep, transpose_tile
l2          traffic far above compulsory bytes                  shared_tile, register_tile, rasterise
shared      shared-memory throughput, bank conflicts            register_tile, vectorise, pad of shared_tile
compute     arithmetic near the peak                            fast_math, single, register_tile, tensor_core
issue       instructions without arithmetic (addresses, loads)  unroll, register_tile, carried_quotient
latency     low occupancy or few independent instructions       cooperate, coarsening, unroll, block_shape
divergence  threads of a warp take other paths                  axis_swap, block_shape, predicate
atomics     contention on few addresses                         cascade, privatise, grid_stride, promote
launch      too few or too small blocks                         block_shape, coarsening, split_reduction
unknown     no profile                                          everything alike
==========  ==================================================  ============================================

The table holds weights, not rules: every other transform keeps ``GENERIC`` in total, so that a wrong verdict costs some
proposals and never closes a door.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evaluator.result import Bottleneck
from genome.genes import Genome
from operators.base import AgentContext, Proposal
from operators.mutation import batch, mutated

GENERIC = 1.5

ANSWERS: Mapping[Bottleneck, Mapping[str, float]] = {
    Bottleneck.DRAM: {
        "vectorise": 3.0, "shared_tile": 3.0, "coarsen_blocked": 2.0, "restrict": 1.0, "axis_swap": 1.0,
        "cooperate": 2.0, "transpose_tile": 2.0, "interchange": 1.0, "fusion": 1.0, "keep": 2.0, "online": 1.0,
        "moments": 1.0, "masked_tile": 2.0, "register_window": 1.0,
    },
    Bottleneck.L2: {
        "shared_tile": 3.0, "register_tile": 2.0, "coarsen_blocked": 2.0, "axis_swap": 1.0, "block_shape": 1.0,
        "rasterise": 2.0, "interchange": 1.0, "masked_tile": 2.0, "register_window": 1.0,
    },
    Bottleneck.SHARED: {
        "register_tile": 3.0, "coarsen_blocked": 2.0, "vectorise": 2.0, "shared_tile": 2.0, "scalar_reads": 1.0,
        "warp_tile": 2.0, "register_window": 1.5,
    },
    Bottleneck.COMPUTE: {
        "register_tile": 2.0, "fast_math": 2.0, "specialise": 1.5, "unroll": 1.5, "coarsen_blocked": 1.5,
        "promote": 1.0, "vectorise": 1.0, "single": 2.0, "intrinsic": 1.5, "inverse_root": 1.5, "unroll_jam": 1.0,
        "tensor_core": 2.0, "fused_sums": 1.5,
    },
    Bottleneck.ISSUE: {
        "unroll": 2.0, "register_tile": 2.0, "vectorise": 2.0, "specialise": 1.5, "coarsen_blocked": 1.5,
        "promote": 1.0, "scalar_reads": 1.0, "carried_quotient": 1.5, "hoist_loads": 1.0, "unroll_jam": 1.0,
        "shift_mask": 0.5, "register_window": 1.5, "fused_sums": 1.0, "masked_reads": 1.0,
    },
    Bottleneck.LATENCY: {
        "coarsen_blocked": 2.0, "coarsen_strided": 1.5, "unroll": 2.0, "block_shape": 2.0, "strip": 1.0,
        "promote": 1.0, "register_tile": 1.0, "cooperate": 3.0, "grid_stride": 1.0, "early_loads": 1.0,
        "unroll_jam": 1.0, "split_reduction": 1.0, "pipeline": 2.0, "async_copy": 2.0, "register_window": 1.0,
    },
    Bottleneck.DIVERGENCE: {"axis_swap": 2.0, "block_shape": 2.0, "specialise": 1.0, "predicate": 1.0,
                            "masked_reads": 1.0},
    Bottleneck.ATOMICS: {
        "cascade": 3.0, "privatise": 3.0, "grid_stride": 2.0, "promote": 2.0, "coarsen_strided": 1.0,
        "coarsen_blocked": 1.0, "block_shape": 1.0, "warp_aggregate": 1.5, "two_stages": 1.0,
    },
    Bottleneck.LAUNCH: {"block_shape": 3.0, "coarsen_blocked": 2.0, "coarsen_strided": 2.0, "grid_stride": 2.0,
                        "split_reduction": 2.0},
    Bottleneck.UNKNOWN: {},
}  # fmt: skip


@dataclass(frozen=True)
class Profiler:
    """Moves drawn by the decision table of this module for the parent's bottleneck."""

    name: str = "profiler"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""
        bottleneck = context.parent.bottleneck

        def make() -> tuple[Genome, str] | None:
            genome = mutated(context.parent.genome, context, ANSWERS.get(bottleneck, {}), GENERIC, rng)
            return None if genome is None else (genome, f"answers {bottleneck.value}")

        return batch(self.name, context, make)

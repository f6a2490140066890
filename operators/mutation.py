"""Mutation of a genome by weighted moves: what the specialised agents have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from genome.genes import Genome
from operators.base import AgentContext, Proposal
from operators.choice import pick, random_gene, weighted_moves

_TRIES = 4  # draws for each genome asked for: most repeats of a small space are over after that

_SELDOM_ON_CPU: Mapping[str, float] = dict.fromkeys(
    ("warp_tile", "pipeline", "masked_reads", "masked_tile", "register_window", "fused_sums"), 0.1
)
"""What answers a GPU's limits: a CPU has no warps, its caches are its shared memory, and its compiler fuses."""


def mutated(
    genome: Genome, context: AgentContext, table: Mapping[str, float], generic: float, rng: np.random.Generator
) -> Genome | None:
    """The genome with one move drawn by the table, and with a second one half of the time. None if nothing applies."""
    if context.device.kind != "gpu":
        table = {**table, **_SELDOM_ON_CPU}
    for step in range(2):
        if step and rng.random() < 0.5:
            break
        kept, weights = weighted_moves(context.moves(genome), table, generic)
        if not kept:
            return genome if step else None
        genome = genome.with_gene(random_gene(pick(rng, kept, weights), rng))
    return genome


def batch(
    agent: str, context: AgentContext, make: Callable[[], tuple[Genome, str] | None], parents: int = 1
) -> tuple[Proposal, ...]:
    """Up to ``context.wanted`` proposals with genomes that were not proposed before.

    Args:
        agent: Name of the author.
        context: What the agent sees.
        make: Draws one (genome, note), or None if this draw gave nothing.
        parents: How many of the context's parents take part.
    """
    found: dict[str, Proposal] = {}
    lineage = tuple(parent.variant for parent in context.parents[:parents])
    for _ in range(_TRIES * context.wanted):
        drawn = make()
        if drawn is None:
            continue
        genome, note = drawn
        if genome == context.parent.genome or context.proposed(genome):
            continue
        found.setdefault(genome.digest(), Proposal(genome, agent, lineage, note))
        if len(found) >= context.wanted:
            break
    return tuple(found.values())

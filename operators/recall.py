"""Recall: replays what worked before on this kernel, or on one like it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genome.genes import Gene, Genome
from knowledge.records import Prior
from operators.base import AgentContext, MoveLike, Moves, Proposal
from operators.choice import nearest, pick

_AXIS = "parallel."


@dataclass(frozen=True)
class Recall:
    """Priors in their order; once all were tried, priors with one gene left out."""

    name: str = "recall"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""
        found: list[Proposal] = []
        for prior in context.priors:
            if len(found) == context.wanted:
                return tuple(found)
            genome = placed(prior, context)
            if genome.genes and not context.proposed(genome) and all(p.genome != genome for p in found):
                found.append(Proposal(genome, self.name, (), prior.why, expected=prior.speedup))
        if not found and context.priors:
            trimmed = _trimmed(context, rng)
            found += [Proposal(trimmed, self.name, (), "a prior without one gene")] if trimmed else []
        return tuple(found)


def placed(prior: Prior, context: AgentContext) -> Genome:
    """The prior's genome on this kernel: as it is if it comes from this very kernel, else re-sited by role.

    Roles follow the mapping (exchanged axes exchange their roles), so that on the same kernel labels are the surer
    guide, as long as its axes are still called what they were.
    """
    if prior.kernel_digest == context.kernel:
        labels = {move.site.label for move in context.moves(Genome())}
        axes = [gene.site.label for gene in prior.genome.genes if gene.site.role.startswith(_AXIS)]
        if all(label in labels for label in axes):
            return prior.genome
    return resited(prior.genome, context.moves)


def resited(genome: Genome, moves: Moves) -> Genome:
    """The genome as this kernel can hold it.

    Each gene goes to the site with its label and role, else to the one with its role, else to the label; numbers move
    to the nearest value of the domain there. A gene that finds no site waits for those that may make it (the inner loop
    of a strip) and is trimmed if none does.
    """
    placed, waiting = Genome(), list(genome.genes)
    while waiting:
        still: list[Gene] = []
        available = moves(placed)
        for gene in waiting:
            move = _site_for(gene, available)
            if move is None:
                still.append(gene)
            else:
                placed = placed.with_gene(_fitted(gene, move))
        if len(still) == len(waiting):
            break
        waiting = still
    return placed


def _site_for(gene: Gene, available: Sequence[MoveLike]) -> MoveLike | None:
    same = [move for move in available if move.transform.name == gene.transform]
    exact = [move for move in same if move.site == gene.site]
    by_role = [move for move in same if gene.site.role and move.site.role == gene.site.role]
    by_label = [move for move in same if move.site.label == gene.site.label]
    return next(iter((*exact, *by_role, *by_label)), None)


def _fitted(gene: Gene, move: MoveLike) -> Gene:
    values = {name: nearest(domain, gene.values.get(name, domain[0])) for name, domain in move.domain.items() if domain}
    return Gene.of(gene.transform, move.site, **{**gene.values, **values})


def _trimmed(context: AgentContext, rng: np.random.Generator) -> Genome | None:
    prior: Prior = pick(rng, context.priors)
    genome = placed(prior, context)
    shorter = [genome.without(gene) for gene in genome.genes if len(genome.genes) > 1]
    new = [candidate for candidate in shorter if not context.proposed(candidate)]
    return pick(rng, new) if new else None

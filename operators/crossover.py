"""Crossover and merge: what several parents found, in one genome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genome.genes import Gene, Genome
from operators.base import AgentContext, Parent, Proposal
from operators.mutation import batch
from operators.recipe import SHAPING

_TILE = frozenset({"coarsen_blocked", "coarsen_strided", "register_tile", "vectorise"})


@dataclass(frozen=True)
class Crossover:
    """Exchanges genes between two parents by (transform, site)."""

    name: str = "crossover"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""
        mates = [parent for parent in context.parents[1:] if parent.genome != context.parent.genome]
        if not mates:
            return ()

        def make() -> tuple[Genome, str] | None:
            mate = mates[int(rng.integers(len(mates)))]
            together = SHAPING if context.device.kind == "gpu" else _TILE
            return exchange(context.parent.genome, mate.genome, rng, together), "exchange"

        return batch(self.name, context, make, parents=2)


def exchange(first: Genome, second: Genome, rng: np.random.Generator, together: frozenset[str] = _TILE) -> Genome:
    """Genes of both by (transform, site): each key is drawn from one of the two parents.

    A key that only one parent has is kept with that parent's half chance. Half of the time, the genes of the transforms
    that go ``together`` (a tile, or a whole shape) come from one parent as a whole: a mixed tile is often none.
    """
    whole = bool(rng.random() < 0.5)
    tile_from_first = bool(rng.random() < 0.5)
    mine = {gene.key: gene for gene in first.genes}
    theirs = {gene.key: gene for gene in second.genes}
    child: list[Gene] = []
    for key in dict.fromkeys((*mine, *theirs)):
        take_first = tile_from_first if whole and key[0] in together else bool(rng.random() < 0.5)
        gene = (mine if take_first else theirs).get(key)
        if gene is not None:
            child.append(gene)
    return Genome(tuple(child))


@dataclass(frozen=True)
class Merge:
    """The union of several elites' independent gains on top of the best one."""

    name: str = "merge"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""
        donors = [parent for parent in context.elites if parent.gain > 0.0 and parent.delta]
        if not donors:
            return ()

        def make() -> tuple[Genome, str] | None:
            count = int(rng.integers(1, min(4, len(donors)) + 1))
            chosen = [donors[int(index)] for index in rng.permutation(len(donors))[:count]]
            return union(context.parent, chosen), f"union of {count + 1}"

        return batch(self.name, context, make)


def union(base: Parent, donors: Sequence[Parent]) -> Genome:
    """The base genome with the genes by which each donor gained over its own parent.

    Where two want the same (transform, site), the gene with the larger gain stays; the base's own genes count with the
    base's gain if they were its news, and give way otherwise.
    """
    claims: dict[tuple[str, str], float] = {gene.key: base.gain for gene in base.delta}
    genome = base.genome
    for donor in sorted(donors, key=lambda parent: (-parent.gain, parent.variant)):
        for gene in donor.delta:
            if claims.get(gene.key, -1.0) < donor.gain:
                claims[gene.key] = donor.gain
                genome = genome.with_gene(gene)
    return genome

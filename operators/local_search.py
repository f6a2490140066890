"""Numeric local search: one parameter of a good genome a step up or down, or one gene left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genome.genes import Gene, Genome, ParamValue
from operators.base import AgentContext, MoveLike, Moves, Proposal
from operators.choice import is_number, pick
from operators.digits import product_of, varied
from operators.mutation import batch

_TRADE = 0.3  # share of two steps at once: one parameter up, another one down (a tile 8x4 becomes 4x8)
_SHAPE = 0.5  # share of steps of a blocked product that keep its genes consistent
_DROP = 0.25  # share of genes left out: what does not pay only narrows the guard


@dataclass(frozen=True)
class LocalSearch:
    """Neighbours of the main parent."""

    name: str = "local_search"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""

        def make() -> tuple[Genome, str] | None:
            if context.device.kind == "gpu" and product_of(context.parent.genome) and rng.random() < _SHAPE:
                return varied(context, context.parent.genome, rng)
            genome = neighbour(context.parent.genome, context.moves, rng)
            return None if genome is None else (genome, "one step")

        return batch(self.name, context, make)


def neighbour(genome: Genome, moves: Moves, rng: np.random.Generator) -> Genome | None:
    """A genome one step away, or None if it has no parameter to move."""
    if len(genome.genes) > 1 and rng.random() < _DROP:
        return genome.without(pick(rng, genome.genes))
    steps = all_steps(genome, moves(genome))
    if not steps:
        return None
    first = pick(rng, steps)
    moved = genome.with_gene(first)
    if rng.random() < _TRADE:
        others = [gene for gene in steps if gene.key != first.key]
        if others:
            moved = moved.with_gene(pick(rng, others))
    return moved


def all_steps(genome: Genome, moves: Sequence[MoveLike]) -> list[Gene]:
    """Every gene of the genome with one parameter at the next value of its domain, up or down."""
    by_key = {(move.transform.name, move.site.label): move for move in moves}
    steps = []
    for gene in genome.genes:
        move = by_key.get(gene.key)
        if move is None:
            continue
        for name, value in gene.params:
            for other in _adjacent(move.domain.get(name, ()), value):
                steps.append(Gene.of(gene.transform, gene.site, **{**gene.values, name: other}))
    return steps


def _adjacent(domain: Sequence[ParamValue], value: ParamValue) -> list[ParamValue]:
    """The next values of a numeric domain below and above; every other value of one without an order."""
    if not is_number(value):
        return [other for other in domain if other != value]
    numbers = sorted({int(other) for other in domain if is_number(other)})
    below = [number for number in numbers if number < int(value)]
    above = [number for number in numbers if number > int(value)]
    return [*below[-1:], *above[:1]]

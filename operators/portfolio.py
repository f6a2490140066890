"""The portfolio: which remembered genomes to measure first, and in which order.

The nearest optimum is the best guess, but the next nearest is mostly the same shape again. A portfolio takes the best
prediction first, and then what promises most and is least like what it holds already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from genome.genes import Genome
from knowledge.records import Prior
from operators.base import AgentContext
from operators.recall import placed

_SAME_SITE = 0.5  # how much two genes of one transform at one site have in common if their numbers differ


@dataclass(frozen=True)
class Stake:
    """A remembered genome as this kernel can hold it.

    Attributes:
        genome: Re-sited by role, without the genes that have no place here.
        prior: Where it comes from.
        predicted: log2 of the speed-up to expect here.
    """

    genome: Genome
    prior: Prior
    predicted: float


def portfolio(priors: Sequence[Prior], context: AgentContext, room: int) -> tuple[Stake, ...]:
    """At most ``room`` remembered genomes, in the order in which they should be measured.

    The prediction of a prior is its promise (what it gained, less with the distance of kernel, device and size), times
    the share of its genes that found a place. Each next choice has the largest prediction times one minus its likeness
    to the most similar one chosen so far. Genomes that come out alike count once, under the better promise.
    """
    left = _stakes(priors, context)
    chosen: list[Stake] = []
    while left and len(chosen) < room:
        best = max(left, key=lambda stake: (_worth(stake, chosen), stake.genome.digest()))
        if _worth(best, chosen) <= 0.0:
            break
        chosen.append(best)
        left.remove(best)
    return tuple(chosen)


def likeness(first: Genome, second: Genome) -> float:
    """How alike two genomes are, 0..1: shared genes over all genes of both.

    Genes of one transform at one site count in part where their parameters differ. Two empty genomes are alike.
    """
    ours, theirs = set(first.genes), set(second.genes)
    if not ours and not theirs:
        return 1.0
    same = len(ours & theirs)
    sites = {(gene.transform, gene.site) for gene in ours - theirs} & {(g.transform, g.site) for g in theirs - ours}
    return (same + _SAME_SITE * len(sites)) / (len(ours | theirs) - len(sites))


def _stakes(priors: Sequence[Prior], context: AgentContext) -> list[Stake]:
    found: dict[Genome, Stake] = {}
    for prior in priors:
        genome = placed(prior, context)
        promise = math.log2(prior.speedup) if prior.promise is None else prior.promise
        if not genome.genes or promise <= 0.0:
            continue
        stake = Stake(genome, prior, promise * len(genome.genes) / len(prior.genome.genes))
        if genome not in found or found[genome].predicted < stake.predicted:
            found[genome] = stake
    return list(found.values())


def _worth(stake: Stake, chosen: Sequence[Stake]) -> float:
    return stake.predicted * (1.0 - max((likeness(stake.genome, other.genome) for other in chosen), default=0.0))

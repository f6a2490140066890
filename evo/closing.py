"""The last measurements of a search: the leader with one gene left out, each gene in turn.

Genes ride along with good ones, and some of them cost a little. Whoever reads the result wants only what pays.
"""

from __future__ import annotations

from evo.campaign_types import Budget
from evo.state import SearchState
from operators.base import Proposal
from operators.local_search import LocalSearch

LAST = 0.1  # part of the search time that closing may take, where time is the budget that ends first
MOST = 0.15  # part of the measurements that it may take


def closing_due(budget: Budget, state: SearchState, in_flight: int, elapsed_s: float, limit_s: float | None) -> bool:
    """True once no more than the closing fits into the budget."""
    genes = min(len(state.leader.variant.genome.genes), round(MOST * budget.evaluations))
    left = budget.evaluations - state.ledger.counts.evaluations - in_flight
    return left <= genes or (limit_s is not None and elapsed_s >= (1.0 - LAST) * limit_s)


def closing(state: SearchState) -> tuple[Proposal, ...]:
    """The leader without each of its genes, last gene first (the first ones carry the others)."""
    leader = state.leader
    genome = leader.variant.genome
    if len(genome.genes) < 2:
        return ()
    found = [
        Proposal(genome.without(gene), LocalSearch().name, (leader.digest,), f"leader without {gene.transform}")
        for gene in reversed(genome.genes)
    ]
    return tuple(proposal for proposal in found if proposal.genome.digest() not in state.genomes)

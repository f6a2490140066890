"""From agents to candidates: propose, lower, drop duplicates, look up, screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evaluator.result import Evaluation, Status
from evo.coordinator import Coordinator
from evo.parts import Parts
from evo.population import Individual
from evo.screening import Screen
from evo.state import Candidate, SearchState, context_of
from genome.genes import Genome
from genome.variant import Rejection, Variant
from knowledge.records import Lineage
from operators.base import Proposal
from operators.choice import delta

_ROUNDS = 40  # times that agents are asked for one place on the device before the space counts as exhausted


@dataclass(frozen=True)
class Known:
    """A candidate whose measurements the knowledge base already holds."""

    candidate: Candidate
    evaluations: tuple[Evaluation, ...]


class Proposer:
    """Fills one place on the device at a time."""

    def __init__(
        self,
        campaign: int,
        parts: Parts,
        state: SearchState,
        screen: Screen,
        remaining: Callable[[], int | None],
    ) -> None:
        self._campaign = campaign
        self._parts = parts
        self._state = state
        self._screen = screen
        self._remaining = remaining
        self._coordinator = Coordinator(parts.agents)

    def next(self, queue_only: bool = False) -> Candidate | Known | None:
        """The next candidate for the device (or a known outcome, to be booked at once); None if nobody has anything.

        Args:
            queue_only: Ask no agent: only what waits already is tried.
        """
        self._ask_verifier()
        while self._state.queue:
            found = self._admit(self._state.queue.popleft())
            if found is not None:
                return found
        pool: list[Candidate] = []
        for _ in range(0 if queue_only else _ROUNDS):
            size = self._screen.pool
            context = context_of(self._state, self._parts, size - len(pool), self._remaining())
            for proposal in self._coordinator.propose(context, self._state.credit, self._state.rng):
                found = self._admit(proposal, context.parent.bottleneck.value)
                if isinstance(found, Known):
                    return found
                if found is not None:
                    pool.append(found)
                if len(pool) >= size:
                    return self._screened(pool)
        return self._screened(pool) if pool else None

    def _ask_verifier(self) -> None:
        state = self._state
        if len(state.asked) == len(state.doubts):
            return
        context = context_of(state, self._parts, 1, self._remaining())
        state.queue.extendleft(reversed(self._coordinator.verify(context, state.rng)))
        state.asked.update(state.doubts)

    def _screened(self, pool: list[Candidate]) -> Candidate:
        chosen, discarded = self._screen.choose(pool, self._state.rng)
        self._state.ledger.pruned(discarded)
        for candidate in pool:  # what was discarded now may be proposed again to a better model
            if candidate.digest != chosen.digest:
                self._state.variants.discard(candidate.digest)
                self._state.genomes.discard(candidate.proposal.genome.digest())
        return chosen

    def _admit(self, proposal: Proposal, bottleneck: str | None = None) -> Candidate | Known | None:
        """The candidate of a proposal that is new and gives a variant. Books what falls out on the way."""
        state = self._state
        parent = (state.archive.get(proposal.parents[0]) if proposal.parents else None) or state.baseline
        where = bottleneck or parent.parent.bottleneck.value
        state.ledger.proposed(proposal.agent)
        generation = state.ledger.counts.proposals  # from 1: the baseline is number 0
        digest = proposal.genome.digest()
        known = digest in state.genomes
        state.genomes.add(digest)
        if known and not proposal.fresh:
            self._fell_out(proposal, where)
            return None
        lowered = self._parts.lower(proposal.genome)
        if isinstance(lowered, Rejection):
            state.ledger.rejected(proposal.agent)
            state.credit = state.credit.updated(proposal.agent, where, 0.0, 0.5)
            self._parts.memory.reject(self._campaign, lowered, lineage(proposal, proposal.genome, parent, generation))
            return None
        if not proposal.fresh and lowered.digest() in state.variants:
            self._fell_out(proposal, where)
            return None
        state.variants.add(lowered.digest())
        candidate = Candidate(proposal, lowered, where, parent, generation)
        evaluations = () if proposal.fresh else self._lookup(lowered)
        return Known(candidate, evaluations) if evaluations else candidate

    def _fell_out(self, proposal: Proposal, bottleneck: str) -> None:
        self._state.ledger.duplicate(proposal.agent)
        self._state.credit = self._state.credit.updated(proposal.agent, bottleneck, 0.0, 0.25)

    def _lookup(self, variant: Variant) -> tuple[Evaluation, ...]:
        """What the base holds, if it settles the matter: every tuned size, or a failure that is the variant's own."""
        parts = self._parts
        found = parts.memory.lookup(
            parts.kernel.digest, parts.evaluator.device, parts.evaluator.toolchain, variant.digest(), parts.contract
        )
        failures = [e for e in found if e.status is not Status.OK and not e.status.retryable]
        if failures:
            return (failures[0],)
        timed = {e.size: e for e in found if e.status is Status.OK and e.timing is not None}
        wanted = [size.label for size in self._state.fitness.sizes]
        known = tuple(timed[label] for label in wanted if label in timed)
        return known if self._state.fitness.score(known) is not None else ()  # energies are in no base


def lineage(proposal: Proposal, genome: Genome, parent: Individual, generation: int) -> Lineage:
    """Where a genome came from, for the knowledge base."""
    return Lineage(proposal.agent, proposal.parents, delta(genome, parent.parent.genome), generation)

"""Intake: an outcome goes to the knowledge base, ledger, credit, population and archive, or to quarantine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from evaluator.result import Evaluation, Status
from evo.fitness import Speedup
from evo.ledger import Finding
from evo.parts import Parts
from evo.population import Individual
from evo.proposing import lineage
from evo.quarantine import throw_out
from evo.result import CreditPoint
from evo.screening import Screen
from evo.state import Candidate, Doubt, SearchState
from knowledge.records import Outcome
from operators.base import Parent, Suspect
from operators.choice import delta
from operators.verifier import agree, doubt


@dataclass(frozen=True)
class Booked:
    """What came of an outcome: its status, its speed-up (None if it failed) and a line for a person."""

    status: Status
    speedup: float | None
    message: str


class Intake:
    """Books outcomes one after the other."""

    def __init__(
        self,
        campaign: int,
        parts: Parts,
        state: SearchState,
        screen: Screen,
        shares: Callable[[], dict[str, float]],
        elapsed: Callable[[], float],
    ) -> None:
        self._campaign = campaign
        self._parts = parts
        self._state = state
        self._screen = screen
        self._shares = shares
        self._elapsed = elapsed
        self._previous = ""  # digest measured last: a stray write may kill the process only after it

    def book(
        self,
        candidate: Candidate,
        evaluations: tuple[Evaluation, ...],
        checks: tuple[Evaluation, ...] = (),
        cached: bool = False,
    ) -> Booked:
        """Takes in one finished candidate. It is in the knowledge base before anything else happens."""
        failure = next((e for e in (*evaluations, *checks) if e.status is not Status.OK), None)
        score = None if failure else self._state.fitness.score(evaluations)
        status = failure.status if failure else Status.OK
        speedup = score.value if score else None
        self._store(candidate, evaluations, checks, speedup, cached)
        message = self._judge(candidate, evaluations, score, status, cached)
        if not cached:
            self._previous = candidate.digest
        return Booked(
            status, speedup, message or f"{candidate.proposal.agent}: {failure.status.value if failure else ''}"
        )

    def _store(
        self,
        candidate: Candidate,
        evaluations: tuple[Evaluation, ...],
        checks: tuple[Evaluation, ...],
        speedup: float | None,
        cached: bool,
    ) -> None:
        origin = lineage(candidate.proposal, candidate.variant.genome, candidate.parent, candidate.generation)
        outcome = Outcome(
            candidate.variant, evaluations, checks, origin, speedup, candidate.predicted, candidate.forced, cached
        )
        self._parts.memory.record(self._campaign, outcome)

    def _judge(
        self,
        candidate: Candidate,
        evaluations: tuple[Evaluation, ...],
        score: Speedup | None,
        status: Status,
        cached: bool,
    ) -> str:
        """Confirms or refutes a doubt, raises a new one, or admits; returns a line for a person."""
        state, agent = self._state, candidate.proposal.agent
        digest, speedup = candidate.digest, score.value if score else None
        pending = state.doubts.pop(digest, None)
        if pending is not None:
            state.asked.discard(digest)
            return self._second_look(candidate, pending, evaluations, score, status)
        best = state.ledger.best
        individual = self._individual(candidate, evaluations, score) if score else None
        known = cached or candidate.proposal.fresh  # looked up or a champion: an earlier campaign has proven it
        held = max(best, candidate.proposal.expected)  # what was seen before is no leap
        reason = doubt(individual.parent, held) if individual and not known and self._parts.second_looks else ""
        trusted = None if reason else speedup
        reward = self._ledger(candidate, status, trusted, cached)
        self._credit(candidate, reward, 0.5 if cached else 1.0)
        if self._screen.observe(candidate, speedup):
            ordinal = state.ledger.counts.proposals
            self._parts.memory.record_metrics(self._campaign, ordinal, self._screen.metrics())
        self._blame(candidate, status)
        if individual is None:
            return f"{agent}: {status.value}"
        if reason:
            state.doubts[digest] = Doubt(
                Suspect(candidate.variant.genome, digest, reason), individual.speedup, individual
            )
            return f"{agent}: {individual.speedup:.2f}x, doubted ({reason})"
        self._admit(individual)
        return f"{agent}: {individual.speedup:.2f}x" + (", new best" if reward == 1.0 else "")

    def _second_look(
        self,
        candidate: Candidate,
        pending: Doubt,
        evaluations: tuple[Evaluation, ...],
        score: Speedup | None,
        status: Status,
    ) -> str:
        """A doubted variant was measured again: it is admitted under its first author's name, or thrown out."""
        state, author = self._state, pending.individual.parent.agent
        second = score.value if score else None
        if score is None or not agree(pending.speedup, second):
            seen = f"{second:.2f}x" if second is not None else status.value
            reason = f"{pending.suspect.reason}; measured again: {seen}"
            throw_out(self._campaign, self._parts, state, pending.individual, reason, evaluations)
            self._ledger(candidate, status if score is None else Status.UNSTABLE, None, False)
            return f"{author}: {pending.speedup:.2f}x thrown out ({reason})"
        value = min(score.value, pending.speedup)
        held = pending.individual
        confirmed = replace(
            held,
            parent=replace(held.parent, speedup=value, evaluations=evaluations),
            low=score.low,
            high=score.high,
            evaluation=state.ledger.counts.evaluations + 1,
        )
        reward = self._ledger(candidate, Status.OK, value, False, author)
        origin = replace(candidate, proposal=replace(candidate.proposal, agent=author))
        self._credit(origin, reward, 1.0)
        self._admit(confirmed)
        return f"{author}: {value:.2f}x confirmed" + (", new best" if reward == 1.0 else "")

    def _blame(self, candidate: Candidate, status: Status) -> None:
        """After a crash: one more attempt; if that runs, the variant measured before the crash is doubted."""
        state, digest = self._state, candidate.digest
        if digest in state.crashed:
            before = state.archive.get(state.crashed.pop(digest))
            if status is not Status.CRASH and before is not None and before is not state.baseline:
                self._withdraw(before, "another variant crashed right after it, and runs alone")
        elif status is Status.CRASH:
            state.crashed[digest] = self._previous
            state.queue.append(replace(candidate.proposal, fresh=True, note="again after a crash"))

    def _withdraw(self, individual: Individual, reason: str) -> None:
        state = self._state
        state.population.remove(individual.digest)
        state.archive.remove(individual.digest)
        state.ledger.lowered(state.leader.speedup)
        suspect = Suspect(individual.variant.genome, individual.digest, reason)
        state.doubts[individual.digest] = Doubt(suspect, individual.speedup, individual)

    def _individual(self, candidate: Candidate, evaluations: tuple[Evaluation, ...], score: Speedup) -> Individual:
        parent = candidate.parent.parent
        own = Parent(
            genome=candidate.variant.genome,
            variant=candidate.digest,
            speedup=score.value,
            agent=candidate.proposal.agent,
            evaluations=evaluations,
            delta=delta(candidate.variant.genome, parent.genome),
            gain=math.log2(score.value / parent.speedup),
        )
        return Individual(own, candidate.variant, score.low, score.high, self._state.ledger.counts.evaluations + 1)

    def _admit(self, individual: Individual) -> None:
        self._state.population.add(individual)
        self._state.archive.add(individual)

    def _ledger(
        self, candidate: Candidate, status: Status, speedup: float | None, cached: bool, author: str = ""
    ) -> float:
        parent = candidate.parent.speedup if candidate.proposal.parents else self._state.ledger.best
        finding = Finding(
            author or candidate.proposal.agent, candidate.digest, status, speedup, parent, cached,
            candidate.predicted, candidate.forced)  # fmt: skip
        return self._state.ledger.finished(finding, self._elapsed())

    def _credit(self, candidate: Candidate, reward: float, weight: float) -> None:
        state = self._state
        state.credit = state.credit.updated(candidate.proposal.agent, candidate.bottleneck, reward, weight)
        state.ledger.credit.append(CreditPoint(state.ledger.counts.proposals, tuple(self._shares().items())))

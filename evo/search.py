"""The steady-state search: proposals in flight, no generation barrier, one loop of ask and tell."""

from __future__ import annotations

from collections.abc import Callable

from evaluator.api import Compiled, Event, Measured
from evaluator.result import Evaluation, Status
from evo.campaign_types import Campaign
from evo.checkpoint import save_checkpoint
from evo.closing import closing, closing_due
from evo.coordinator import Coordinator
from evo.diagnosis import diagnosed
from evo.intake import Booked, Intake
from evo.parts import Parts
from evo.progress import BestSoFar, CampaignPhase, Observer, ProgressSnapshot, StopRequest
from evo.proposing import Known, Proposer
from evo.result import StopReason
from evo.screening import Screen
from evo.state import Candidate, SearchState

POLL_S = 0.5  # how soon a stop request is seen while the device works
DRAIN_S = 30.0  # how long measurements in progress may still take when the search ends
CHECKPOINT_EVERY = 5


class Search:
    """Runs proposals through the device until the budget ends."""

    def __init__(
        self,
        campaign: Campaign,
        number: int,
        parts: Parts,
        state: SearchState,
        screen: Screen,
        observer: Observer,
        stop: StopRequest,
        elapsed: Callable[[], float],
    ) -> None:
        self._campaign, self._number, self._parts, self._state = campaign, number, parts, state
        self._observer, self._stop, self.elapsed = observer, stop, elapsed
        self._proposer = Proposer(number, parts, state, screen, self._remaining)
        self._intake = Intake(number, parts, state, screen, self._shares, elapsed)
        self._timing = screen.timing
        self._in_flight: dict[int, Candidate] = {}
        self._ready: set[int] = set()
        self._measuring: set[int] = set()
        self._tickets = 0
        self._exhausted = False
        # True once the leader's trimmed forms were proposed; in a table no configuration is simpler than another.
        self._closed = parts.guide is not None
        self._winding_down: StopReason | None = None  # why nothing but the queue is tried any more
        self._unsaved = 0
        self._start_s = elapsed()
        self._start_evaluations = state.ledger.counts.evaluations

    def run(self) -> StopReason:
        """Searches to the end of the budget; the state holds what was found."""
        while (reason := self._reason()) is None or self._close_early(reason):
            added = self._add()
            self._dispatch()
            if not self._in_flight and not added:
                self._exhausted = True
                continue
            # Proposing takes as long as measuring on a fast device: it must not wait for a full pipeline.
            for event in self._parts.evaluator.events(0.0 if added else POLL_S):
                self._handle(event)
        self._checkpoint()
        self._drain(reason)
        return reason

    def snapshot(
        self, message: str = "", phase: CampaignPhase = CampaignPhase.SEARCHING, step: int = 0, steps: int = 0
    ) -> ProgressSnapshot:
        """Counters as of now."""
        counts, leader = self._state.ledger.counts, self._state.leader
        best = None
        if leader is not self._state.baseline:
            best = BestSoFar(leader.speedup, leader.low, leader.high, leader.parent.agent, leader.digest,
                             leader.variant.genome, leader.evaluation)  # fmt: skip
        return ProgressSnapshot(
            phase, message, counts.proposals, counts.evaluations, self._campaign.budget.evaluations, counts.pruned,
            counts.rejected, counts.duplicates, counts.wrong, counts.failed, counts.cached, len(self._in_flight), best,
            self.elapsed(), self._seconds_left(), step, steps)  # fmt: skip

    def _reason(self) -> StopReason | None:
        budget, ledger = self._campaign.budget, self._state.ledger
        if self._stop():
            return StopReason.INTERRUPTED
        if ledger.counts.evaluations >= budget.evaluations:
            return StopReason.EVALUATIONS
        if budget.minutes is not None and self.elapsed() >= search_seconds(budget.minutes):
            return StopReason.MINUTES
        if self._winding_down is not None:
            if self._state.queue or self._in_flight:
                return None
            if self._winding_down is StopReason.EXHAUSTED or ledger.since_record >= (budget.patience or 0):
                return self._winding_down
            # Trimming found a new leader: the search goes on.
            self._winding_down, self._closed, self._exhausted = None, self._parts.guide is not None, False
        if budget.patience is not None and ledger.since_record >= budget.patience:
            return StopReason.PATIENCE
        return StopReason.EXHAUSTED if self._exhausted else None

    def _close_early(self, reason: StopReason) -> bool:
        """A search that would end before its budget trims its leader first; True if there is something to try."""
        if self._closed or reason not in (StopReason.PATIENCE, StopReason.EXHAUSTED):
            return False
        self._closed, self._winding_down = True, reason
        self._state.queue.extend(closing(self._state))
        return bool(self._state.queue)

    def _close_in_time(self) -> None:
        minutes = self._campaign.budget.minutes
        limit = None if minutes is None else search_seconds(minutes)
        if closing_due(self._campaign.budget, self._state, len(self._in_flight), self.elapsed(), limit):
            self._closed = True
            self._state.queue.extend(closing(self._state))

    def _remaining(self) -> int | None:
        return self._campaign.budget.evaluations - self._state.ledger.counts.evaluations - len(self._in_flight)

    def _seconds_left(self) -> float | None:
        budget, elapsed = self._campaign.budget, self.elapsed()
        limits = [] if budget.minutes is None else [max(0.0, budget.minutes * 60.0 - elapsed)]
        done = self._state.ledger.counts.evaluations - self._start_evaluations
        if done > 0:
            left = budget.evaluations - self._state.ledger.counts.evaluations
            limits.append((elapsed - self._start_s) / done * left)
        return min(limits) if limits else None

    def _shares(self) -> dict[str, float]:
        bottleneck = self._state.leader.parent.bottleneck
        return Coordinator(self._parts.agents).shares(bottleneck, self._state.credit)

    def _add(self) -> bool:
        """One more proposal, if pipeline and budget have room for it; True if there was one."""
        if not self._closed:
            self._close_in_time()
        if len(self._in_flight) >= self._parts.pipeline.ahead or self._stop():
            return False
        if (self._remaining() or 0) <= 0 or (self._winding_down is not None and not self._state.queue):
            return False
        found = self._proposer.next(queue_only=self._winding_down is not None)
        if found is None:
            return False
        if isinstance(found, Known):
            self._booked(self._intake.book(found.candidate, found.evaluations, cached=True))
            return True
        self._tickets += 1
        self._in_flight[self._tickets] = found
        self._parts.evaluator.compile(self._tickets, found.variant)
        return True

    def _dispatch(self) -> None:
        """Sends the most promising compiled variants to the device: doubts and recalled ones first, then by what the
        surrogate makes of the compilation, or by spills and prediction as long as it makes nothing of it.
        """
        while self._ready and len(self._measuring) < self._parts.pipeline.measuring:
            ticket = min(self._ready, key=self._order)
            self._ready.remove(ticket)
            self._measuring.add(ticket)
            self._parts.evaluator.measure(ticket)

    def _order(self, ticket: int) -> tuple[bool, float, int, float, int]:
        candidate = self._in_flight[ticket]
        spills = candidate.resources.spills_bytes if candidate.resources is not None else None
        proven = candidate.proposal.fresh or candidate.proposal.expected > 0.0
        return (not proven, -(candidate.promise or 0.0), spills or 0, -(candidate.predicted or 0.0), ticket)

    def _handle(self, event: Event) -> None:
        candidate = self._in_flight.get(event.ticket)
        if candidate is None:  # a late event of something given up
            return
        if isinstance(event, Compiled):
            if event.status is Status.OK:
                self._compiled(event, candidate)
                return
            del self._in_flight[event.ticket]
            self._booked(self._intake.book(candidate, (compile_failure(self._campaign, candidate, event),)))
        elif isinstance(event, Measured):
            del self._in_flight[event.ticket]
            self._measuring.discard(event.ticket)
            sizes, kind = self._campaign.spec.sizes, self._parts.evaluator.device.kind
            evaluations = diagnosed(event.evaluations, candidate.variant, sizes, self._parts.strain, kind)
            self._booked(self._intake.book(candidate, evaluations, event.checks))

    def _compiled(self, event: Compiled, candidate: Candidate) -> None:
        """Lets a variant on to the device, or gives it up: it is not asked for again."""
        kept = self._timing.compiled(candidate, event.resources, self._state.rng)
        if kept is not None:
            self._in_flight[event.ticket] = kept
            self._ready.add(event.ticket)
            return
        del self._in_flight[event.ticket]
        self._parts.evaluator.discard(event.ticket)
        self._state.ledger.pruned(1)

    def _booked(self, booked: Booked) -> None:
        self._unsaved += 1
        if self._unsaved >= CHECKPOINT_EVERY:
            self._checkpoint()
        for message in (booked.message, *self._parts.memory.news()):
            self._observer.on_event(self.snapshot(message))

    def _checkpoint(self) -> None:
        self._unsaved = 0
        waiting = [candidate.proposal for candidate in self._in_flight.values()]
        save_checkpoint(self._parts.memory, self._number, self._state, waiting, self.elapsed())

    def _drain(self, reason: StopReason) -> None:
        """Gives up what waits, and takes in what the device is busy with."""
        for ticket in [ticket for ticket in self._in_flight if ticket not in self._measuring]:
            self._parts.evaluator.discard(ticket)
            del self._in_flight[ticket]
        self._ready.clear()
        patience = 5.0 if reason is StopReason.INTERRUPTED else DRAIN_S
        deadline = self.elapsed() + patience
        while self._measuring and self.elapsed() < deadline:
            for event in self._parts.evaluator.events(POLL_S):
                self._handle(event)
        self._in_flight.clear()
        self._measuring.clear()


def search_seconds(minutes: float) -> float:
    """Seconds for searching: a quarter of the budget, 45 s at most, is kept for proof and explanation."""
    return minutes * 60.0 - min(0.25 * minutes * 60.0, 45.0)


def compile_failure(campaign: Campaign, candidate: Candidate, event: Compiled) -> Evaluation:
    """A failed compilation as an evaluation at the first tuned size."""
    return Evaluation(
        candidate.digest, campaign.spec.sizes[0].label, event.status, event.message, resources=event.resources,
        compile_s=event.compile_s, stage="compile")  # fmt: skip

"""The device process of an evaluator, and the queue in front of it."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from evaluator.accounts import Accounts
from evaluator.api import Measured
from evaluator.drift import DriftWatch
from evaluator.lane import Lane, Lost
from evaluator.messages import MeasureJob, Outcome, Prepared, Retimed, RetimeJob, Settled, SettleJob
from evaluator.result import Evaluation, Status
from genome.spec import KernelSpec, ProblemSize

# Its memory may be damaged where no canary stands, or its device context gone: the next variant gets a fresh process.
_DAMAGING = frozenset({Status.STRAY_WRITE, Status.OUT_OF_MEMORY, Status.LAUNCH_ERROR})
_STAGE = {"check": "correctness", "time": "timing"}  # of a beat -> of the accounts
_ATTEMPTS = 2  # a process that dies costs its ticket one retry in a fresh one: then the blame is certain


@dataclass(frozen=True)
class _Job:
    ticket: int
    prepared: Prepared
    attempt: int = 1


@dataclass(frozen=True)
class _Settling:
    size: ProblemSize
    attempt: int = 1


_Entry = _Job | _Settling | RetimeJob


class DeviceDesk:
    """Takes compiled variants to the device in order, and replaces its process when it dies or hangs.

    Args:
        lane: The device process.
        spec: The kernel.
        drift: Decides when the baseline is timed again; a measurement that asks for it waits for the answer, and those
            after it wait as well.
        accounts: Take what each variant cost.
        ahead: Variants that the process has at most, the one it works on included: with two it never waits.
    """

    def __init__(self, lane: Lane, spec: KernelSpec, drift: DriftWatch, accounts: Accounts, ahead: int = 1) -> None:
        self.lane, self.drift = lane, drift
        self._spec, self._accounts, self._ahead = spec, accounts, ahead
        self._queue: deque[_Job | _Settling] = deque()
        self._sent: deque[_Entry] = deque()
        self._since = 0.0
        self._held: list[Measured] = []
        self._done: deque[Measured] = deque()
        self._settled: list[Settled] = []
        self._best_ms: dict[str, float] = {}

    @property
    def pending(self) -> bool:
        """True while a variant is queued or on the device."""
        return bool(self._queue or self._sent or self._held or self._done)

    def submit(self, ticket: int, prepared: Prepared) -> None:
        """Queues a variant."""
        self._queue.append(_Job(ticket, prepared))

    def dispatch(self) -> None:
        """Gives the next variants to the device, as far as it takes more."""
        while self._queue and len(self._sent) < self._ahead:
            job = self._queue.popleft()
            if isinstance(job, _Settling):
                self._send(job, SettleJob(job.size))
            else:
                self._send(job, MeasureJob(job.ticket, job.prepared, dict(self._best_ms)))

    def settle(self, size: ProblemSize) -> None:
        """Has the baseline compared with the reference's answers at a size, before anything that is queued."""
        self._queue.appendleft(_Settling(size))

    def settled(self) -> list[Settled]:
        """What came of such comparisons since the last call."""
        found, self._settled = self._settled, []
        return found

    def collect(self) -> Measured | None:
        """What has ended since the last call; call it until it gives nothing more."""
        while not self._done and self._sent and (answer := self.lane.poll()) is not None:
            self._take(answer)
        if not self._done:
            return None
        measured = self._done.popleft()
        self.learn(measured)
        return measured

    def learn(self, measured: Measured) -> None:
        """Keeps the best time of each size, by which hopeless variants are cut short."""
        for evaluation in measured.evaluations:
            if evaluation.timing is not None and not evaluation.fallback:
                best = self._best_ms.get(evaluation.size, math.inf)
                self._best_ms[evaluation.size] = min(best, evaluation.timing.median_ms)

    def busy(self) -> list[tuple[Connection, float]]:
        """The pipe to wait on, with the seconds until its deadline."""
        return [(self.lane.connection, self.lane.seconds_left())] if self.lane.busy and self.lane.connection else []

    def _send(self, entry: _Entry, message: MeasureJob | SettleJob | RetimeJob) -> None:
        if not self._sent:
            self._since = time.monotonic()
        self._sent.append(entry)
        self.lane.give(message)

    def _take(self, answer: Outcome | Settled | Retimed | Lost) -> None:
        """An answer to the oldest job."""
        job, since = self._sent.popleft(), self._since
        self._since = time.monotonic()
        if isinstance(answer, Lost):
            self._lost(job, answer, since)
        elif isinstance(answer, Retimed):
            self.drift.look(answer)
            self._accounts.add("baseline again", answer.seconds)
            self._release()
        elif isinstance(job, _Settling) and isinstance(answer, Settled):
            self._accounts.add("reference arrived", self._since - since, refused=bool(answer.failure))
            self._compared(job, answer)
        elif isinstance(job, _Job) and isinstance(answer, Outcome):
            self._measured(job, answer)

    def _compared(self, job: _Settling, answer: Settled) -> None:
        """That the baseline is wrong is believed of a fresh process only: a variant may have damaged an old one."""
        if not answer.failure or job.attempt >= _ATTEMPTS:
            self._settled.append(answer)
            return
        self._take_back()
        self.lane.replace()
        self._queue.appendleft(replace(job, attempt=job.attempt + 1))

    def _measured(self, job: _Job, outcome: Outcome) -> None:
        self._accounts.book(outcome.spent)
        measured = Measured(job.ticket, outcome.evaluations, outcome.checks)
        failure = measured.failure
        if failure is not None and failure.status in _DAMAGING:
            self._take_back()
            self.lane.replace()
        due = self.drift.due(measured)
        if due and not any(isinstance(entry, RetimeJob) for entry in self._sent):
            self._send(RetimeJob(), RetimeJob())
        if due or self._held:
            self._held.append(measured)
        else:
            self._done.append(self.drift.apply(measured))

    def _lost(self, job: _Entry, lost: Lost, since: float) -> None:
        self._take_back()
        if isinstance(job, _Settling):
            text = f"the untransformed kernel cannot be compared with the reference at {job.size.label}: {lost.text}"
            self._compared(job, Settled(job.size, text))
        elif isinstance(job, _Job) and not lost.timed_out and job.attempt < _ATTEMPTS:
            self._queue.appendleft(replace(job, attempt=job.attempt + 1))
        elif isinstance(job, _Job):
            self._done.append(self._blame(job, lost, since))
        self.lane.start()

    def _take_back(self) -> None:
        """The process is gone: what it had not begun goes to the next one, and nobody waits for the baseline."""
        self._queue.extendleft(entry for entry in reversed(self._sent) if not isinstance(entry, RetimeJob))
        self._sent.clear()
        self._release()

    def _release(self) -> None:
        """Measurements that waited for the baseline's timing, with what is known of it now."""
        self._done.extend(self.drift.apply(measured) for measured in self._held)
        self._held = []

    def _blame(self, job: _Job, lost: Lost, since: float) -> Measured:
        status = Status.TIMEOUT if lost.timed_out else Status.CRASH
        self._accounts.add(_STAGE.get(lost.beat.stage, "load"), time.monotonic() - since, refused=True)
        size = lost.beat.size or self._spec.sizes[0].label
        how = f"came to {lost.text}" if lost.timed_out else f"killed its process: it {lost.text}"
        text = f"{status.value} at {size} ({lost.beat.stage}): the variant {how}"
        evaluation = Evaluation(
            job.prepared.variant.digest(), size, status, text,
            resources=job.prepared.binary.resources, compile_s=job.prepared.compile_s, stage=lost.beat.stage,
        )  # fmt: skip
        tuned = size in {tuned.label for tuned in self._spec.sizes}
        return Measured(job.ticket, (evaluation,) if tuned else (), () if tuned else (evaluation,))

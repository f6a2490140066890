"""The device process of an evaluator, and the queue in front of it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from evaluator.accounts import Accounts
from evaluator.api import Measured
from evaluator.drift import DriftWatch
from evaluator.lane import Lane, Lost
from evaluator.messages import MeasureJob, Outcome, Prepared, RetimeJob
from evaluator.result import Evaluation, Status
from genome.spec import KernelSpec

# Its memory may be damaged where no canary stands, or its device context gone: the next variant gets a fresh process.
_DAMAGING = frozenset({Status.STRAY_WRITE, Status.OUT_OF_MEMORY, Status.LAUNCH_ERROR})
_STAGE = {"check": "correctness", "time": "timing"}  # of a beat -> of the accounts
_ATTEMPTS = 2  # a process that dies costs its ticket one retry in a fresh one: then the blame is certain


@dataclass(frozen=True)
class _Job:
    ticket: int
    prepared: Prepared
    attempt: int = 1
    since: float = 0.0


class DeviceDesk:
    """Takes compiled variants to the device one at a time, and replaces its process when it dies or hangs.

    Args:
        lane: The device process.
        spec: The kernel.
        drift: Decides when the baseline is timed again; a measurement that asks for it waits for the answer.
        accounts: Take what each variant cost.
    """

    def __init__(self, lane: Lane, spec: KernelSpec, drift: DriftWatch, accounts: Accounts) -> None:
        self.lane, self.drift = lane, drift
        self._spec, self._accounts = spec, accounts
        self._queue: deque[_Job] = deque()
        self._running: _Job | None = None
        self._held: Measured | None = None

    @property
    def pending(self) -> bool:
        """True while a variant is queued or on the device."""
        return bool(self._queue) or self._running is not None or self._held is not None

    def submit(self, ticket: int, prepared: Prepared) -> None:
        """Queues a variant."""
        self._queue.append(_Job(ticket, prepared))

    def dispatch(self, best_ms: Mapping[str, float]) -> None:
        """Gives the next variant to the device if it is idle."""
        if self._running is None and self._held is None and self._queue:
            job = self._running = replace(self._queue.popleft(), since=time.monotonic())
            self.lane.give(MeasureJob(job.ticket, job.prepared, dict(best_ms)))

    def collect(self) -> Measured | None:
        """What has ended since the last call."""
        if self._held is not None:
            return self._baseline_again(self._held)
        job = self._running
        answer = self.lane.poll() if job is not None else None
        if job is None or answer is None:
            return None
        self._running = None
        if isinstance(answer, Lost):
            if not answer.timed_out and job.attempt < _ATTEMPTS:
                self._queue.appendleft(replace(job, attempt=job.attempt + 1))
                return None
            self.lane.start()
            return self._blame(job, answer)
        measured = self._measured(job, answer)
        if self.drift.due(measured):
            self._held = measured
            self.lane.give(RetimeJob())
            return None
        return self.drift.apply(measured)

    def _baseline_again(self, held: Measured) -> Measured | None:
        """The measurement that waited, once the baseline's timing is there (or its process is not)."""
        answer = self.lane.poll()
        if answer is None:
            return None
        self._held = None
        if isinstance(answer, Lost):
            self.lane.start()
        else:
            self.drift.look(answer)
            self._accounts.add("baseline again", answer.seconds)
        return self.drift.apply(held)

    def busy(self) -> list[tuple[Connection, float]]:
        """The pipe to wait on, with the seconds until its deadline."""
        return [(self.lane.connection, self.lane.seconds_left())] if self.lane.busy and self.lane.connection else []

    def _measured(self, job: _Job, outcome: Outcome) -> Measured:
        self._accounts.book(outcome.spent)
        measured = Measured(job.ticket, outcome.evaluations, outcome.checks)
        failure = measured.failure
        if failure is not None and failure.status in _DAMAGING:
            self.lane.stop()
            self.lane.start()
        return measured

    def _blame(self, job: _Job, lost: Lost) -> Measured:
        status = Status.TIMEOUT if lost.timed_out else Status.CRASH
        self._accounts.add(_STAGE.get(lost.beat.stage, "load"), time.monotonic() - job.since, refused=True)
        size = lost.beat.size or self._spec.sizes[0].label
        how = f"came to {lost.text}" if lost.timed_out else f"killed its process: it {lost.text}"
        text = f"{status.value} at {size} ({lost.beat.stage}): the variant {how}"
        evaluation = Evaluation(
            job.prepared.variant.digest(), size, status, text,
            resources=job.prepared.binary.resources, compile_s=job.prepared.compile_s, stage=lost.beat.stage,
        )  # fmt: skip
        tuned = size in {tuned.label for tuned in self._spec.sizes}
        return Measured(job.ticket, (evaluation,) if tuned else (), () if tuned else (evaluation,))

"""The compiler processes of an evaluator, and the queue in front of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from evaluator.lane import Lane, Lost
from evaluator.messages import Built, CompileJob
from evaluator.result import Status
from genome.variant import Variant

_ATTEMPTS = 2


@dataclass(frozen=True)
class _Job:
    ticket: int
    variant: Variant
    compile_s: float
    trial_s: float
    attempt: int = 1


class CompilerFarm:
    """Gives queued variants to idle compilers. One that dies or hangs is replaced; its job ends with a status."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = tuple(lanes)
        self._queue: deque[_Job] = deque()
        self._running: dict[int, _Job] = {}
        self._tries: dict[str, int] = {}

    @property
    def pending(self) -> bool:
        """True while a compilation is queued or under way."""
        return bool(self._queue or self._running)

    def start(self) -> None:
        """Starts every compiler ahead of its first job."""
        for lane in self._lanes:
            lane.start()

    def submit(self, ticket: int, variant: Variant, compile_s: float, trial_s: float) -> None:
        """Queues a compilation, which may take ``compile_s`` seconds, and its first launch ``trial_s``."""
        self._queue.append(_Job(ticket, variant, compile_s, trial_s))

    def dispatch(self) -> None:
        """Gives work to idle compilers."""
        for index, lane in enumerate(self._lanes):
            if not lane.busy and self._queue:
                job = self._running[index] = self._queue.popleft()
                salt = self._salt(job.variant)
                lane.give(CompileJob(job.ticket, job.variant, salt, job.compile_s, job.trial_s))

    def collect(self) -> list[Built]:
        """What has ended since the last call."""
        ended = []
        for index, lane in enumerate(self._lanes):
            answer = lane.poll() if index in self._running else None
            if answer is None:
                continue
            job = self._running.pop(index)
            if isinstance(answer, Lost):
                if answer.killed and job.attempt < _ATTEMPTS:
                    self._queue.appendleft(replace(job, attempt=job.attempt + 1))
                    continue
                answer = _blame(job, answer)
            ended.append(answer)
        return ended

    def busy(self) -> list[tuple[Connection, float]]:
        """Pipes to wait on, with the seconds until their deadlines."""
        return [(lane.connection, lane.seconds_left()) for lane in self._lanes if lane.busy and lane.connection]

    def stop(self) -> None:
        """Kills every compiler."""
        for lane in self._lanes:
            lane.stop()

    def _salt(self, variant: Variant) -> str:
        """Distinguishes a repeated compilation: a driver's cache may hold half an entry of one that was killed."""
        digest = variant.digest()
        number = self._tries[digest] = self._tries.get(digest, 0) + 1
        return f"attempt {number}" if number > 1 else ""


def _blame(job: _Job, lost: Lost) -> Built:
    """Why there is no binary. A compiler that aborts does so again: it counts as an error of the source."""
    in_trial = lost.beat.stage == "trial" or (lost.beat.stage == "first launch" and lost.faulted)
    if lost.timed_out:
        status = Status.TIMEOUT if in_trial else Status.COMPILE_TIMEOUT
        text = f"{'its first block' if in_trial else 'the compiler'} came to {lost.text}"
    elif in_trial or lost.killed:
        status = Status.CRASH
        text = f"the process that ran its first block {lost.text}" if in_trial else f"the compiler {lost.text}"
    else:
        status, text = Status.COMPILE_ERROR, f"the compiler {lost.text}"
    return Built(job.ticket, status, text, None, 0.0)

"""The parent's view of one compiler or device process: jobs in order, a deadline, a fresh process after a loss."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from evaluator.messages import Beat
from evaluator.process import Child, ChildDied

_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_START_S = 60.0  # imports and driver start of a fresh process


@dataclass(frozen=True)
class Lost:
    """A process died, or was killed at its deadline, in the middle of a job.

    Attributes:
        beat: What it was about to do.
        timed_out: True if its deadline passed.
        text: How it ended, for a person.
        killed: True if somebody else killed it (SIGKILL, SIGTERM): the job is not to blame.
        faulted: True if it died of an instruction of its own, such as an access outside of its memory.
    """

    beat: Beat
    timed_out: bool
    text: str
    killed: bool = False
    faulted: bool = False


class Lane:
    """One replaceable process. Jobs that are given while it works are waited for in its pipe.

    Args:
        module: Module of the child.
        log: File for its output.
        environment: Its variables.
        greeting: Messages that every fresh process gets first.
    """

    def __init__(self, module: str, log: Path, environment: Mapping[str, str], greeting: Sequence[Any]) -> None:
        self._module, self._log, self._environment = module, log, environment
        self.greeting = list(greeting)
        self._child: Child | None = None
        self._spare: Child | None = None
        self._keeps_spare = False
        self._started = 0
        self._beat = Beat("start")
        self._jobs = 0

    @property
    def busy(self) -> bool:
        """True while a job is under way."""
        return self._jobs > 0

    @property
    def doing(self) -> Beat:
        """What the process said last that it is about to do."""
        return self._beat

    @property
    def connection(self) -> Connection | None:
        """To wait on; None while there is no process."""
        return self._child.connection if self._child is not None else None

    @property
    def pid(self) -> int | None:
        """Process id, if there is a process."""
        return self._child.pid if self._child is not None else None

    def start(self) -> None:
        """Starts the process ahead of its first job, or takes the one that stands by."""
        if self._child is None:
            ready = self._spare if self._spare is not None and self._spare.alive else None
            self._child, self._spare = ready or self._fresh(), None if ready else self._spare
            if self._keeps_spare:
                self.stand_by()

    def stand_by(self) -> None:
        """Keeps another process from now on, greeted and ready for the moment in which this one is lost.

        Call it again after a change of ``greeting``.
        """
        if self._spare is not None:
            self._spare.kill()
        self._keeps_spare, self._spare = True, self._fresh()

    def give(self, job: Any) -> None:
        """Sends a job; ``poll`` tells how it ended, even if the process is gone already."""
        if self._child is not None and not self._child.alive and not self.busy:
            self._end()
        if not self.busy:
            self._beat = Beat("start", allowed_s=_START_S)
        self._jobs += 1
        try:
            self.start()
            if self._child is not None:
                self._child.send(job)
        except ChildDied:
            return  # poll finds the closed pipe and reports the loss

    def poll(self) -> Any:
        """The answer to the oldest job, or None while it goes on, or a ``Lost``, which loses the jobs behind it too."""
        if self._child is None or not self.busy:
            return None
        try:
            while (message := self._child.receive(0)) is not None:
                if not isinstance(message, Beat):
                    self._jobs -= 1
                    self._beat = Beat("start", allowed_s=_START_S)
                    return message
                self._beat = message
        except ChildDied as death:
            cause = self._child.ended_by()
            return self._lose(False, str(death), cause in (signal.SIGKILL, signal.SIGTERM), cause in _FAULTS)
        if time.monotonic() > self._beat.at + self._beat.allowed_s:
            return self._lose(True, f"no end within {self._beat.allowed_s:.3g} s")
        return None

    def seconds_left(self) -> float:
        """Until the deadline; infinite where there is none."""
        return max(0.0, self._beat.at + self._beat.allowed_s - time.monotonic()) if self.busy else math.inf

    def replace(self) -> None:
        """Kills the process and goes on with another."""
        self._end()
        self.start()

    def stop(self) -> None:
        """Kills the process and the one that stands by; the next job gets a fresh one. Idempotent."""
        self._end()
        if self._spare is not None:
            self._spare.kill()
            self._spare = None

    def _fresh(self) -> Child:
        self._started += 1
        child = Child(self._module, self._log.with_stem(f"{self._log.stem}-{self._started % 2}"), self._environment)
        try:
            for message in self.greeting:
                child.send(message)
        except ChildDied:
            return child  # whoever gives it a job sees that it is gone
        return child

    def _end(self) -> None:
        self._jobs = 0
        if self._child is not None:
            self._child.kill()
            self._child = None

    def _lose(self, timed_out: bool, text: str, killed: bool = False, faulted: bool = False) -> Lost:
        lost = Lost(self._beat, timed_out, text, killed, faulted)
        self._end()
        return lost

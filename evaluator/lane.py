"""The parent's view of one compiler or device process: one job at a time, a deadline, a fresh process after a loss."""

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
    """One replaceable process.

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
        self._beat = Beat("start")
        self.busy = False

    @property
    def connection(self) -> Connection | None:
        """To wait on; None while there is no process."""
        return self._child.connection if self._child is not None else None

    @property
    def pid(self) -> int | None:
        """Process id, if there is a process."""
        return self._child.pid if self._child is not None else None

    def start(self) -> None:
        """Starts the process ahead of its first job."""
        if self._child is None:
            self._child = Child(self._module, self._log, self._environment)
            for message in self.greeting:
                self._child.send(message)

    def give(self, job: Any) -> None:
        """Sends a job; ``poll`` tells how it ended, even if the process is gone already."""
        if self._child is not None and not self._child.alive:
            self.stop()
        self.busy = True
        self._beat = Beat("start", allowed_s=_START_S)
        try:
            self.start()
            if self._child is not None:
                self._child.send(job)
        except ChildDied:
            return  # poll finds the closed pipe and reports the loss

    def poll(self) -> Any:
        """The answer to the job, or a ``Lost``, or None while it goes on."""
        if self._child is None or not self.busy:
            return None
        try:
            while (message := self._child.receive(0)) is not None:
                if not isinstance(message, Beat):
                    self.busy = False
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

    def stop(self) -> None:
        """Kills the process; the next job gets a fresh one. Idempotent."""
        self.busy = False
        if self._child is not None:
            self._child.kill()
            self._child = None

    def _lose(self, timed_out: bool, text: str, killed: bool = False, faulted: bool = False) -> Lost:
        lost = Lost(self._beat, timed_out, text, killed, faulted)
        self.stop()
        return lost

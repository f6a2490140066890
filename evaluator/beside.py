"""The reference at the tuned sizes, beside the search: its process, what is awaited, and what became of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from evaluator.messages import Answered, Asking, AskPlan, Refused, Setup
from evaluator.process import Child, ChildDied
from evaluator.store import forget_answers
from genome.spec import ProblemSize


def threads_beside(on_gpu: bool) -> dict[str, str]:
    """Variables of the process: half of the cores for its arithmetic, where the device has no use for them."""
    count = max(1, (os.cpu_count() or 2) // 2) if on_gpu else 1
    return {f"{library}_NUM_THREADS": str(count) for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "BLIS")}


class Beside:
    """Asks a numpy reference in a process that may be killed at any moment.

    Args:
        log: File for the process's output.
        environment: Its variables.
        pauses: It stops while the device times, which has the same cores.
    """

    def __init__(self, log: Path, environment: Mapping[str, str], pauses: bool) -> None:
        self._log, self._environment, self._pauses = log, environment, pauses
        self._child: Child | None = None
        self._name = ""
        self._asking: Asking | None = None
        self._since = 0.0
        self._arrived: list[ProblemSize] = []
        self.awaited: tuple[ProblemSize, ...] = ()
        self.fault = ""  # what is wrong with the reference: the campaign ends
        self.lost = ""  # why there will be no answer, where nobody is to blame

    @property
    def connection(self) -> Connection | None:
        """To wait on; None where nothing more will come."""
        return self._child.connection if self._child is not None else None

    def start(self, setup: Setup, sizes: tuple[ProblemSize, ...]) -> None:
        """Begins, or begins anew with another setup: earlier answers are forgotten."""
        self.stop()
        forget_answers(setup.session)
        self.awaited, self.fault, self.lost, self._arrived = sizes, "", "", []
        if setup.reference is None:
            return
        self._name = f"{Path(setup.reference.path).name}:{setup.reference.function}"
        self._since = time.monotonic()
        self._child = Child("evaluator.beside_child", self._log, self._environment)
        with suppress(ChildDied):  # ``collect`` finds it
            self._child.send(AskPlan(setup, sizes, self._pauses))

    def collect(self) -> tuple[ProblemSize, ...]:
        """Sizes whose answers have arrived since the last call."""
        while self._child is not None:
            try:
                message = self._child.receive(0)
            except ChildDied as death:
                self._died(death)
                break
            if message is None:
                break
            self._take(message)
        found, self._arrived = tuple(self._arrived), []
        return found

    def waiting(self) -> str:
        """What is awaited, for a person; empty if nothing is."""
        if self._child is None or not self.awaited:
            return ""
        label = self._asking.size.label if self._asking else self.awaited[0].label
        return f"waiting for {self._name} at {label}, {time.monotonic() - self._since:.0f} s so far"

    def give_up(self, after_s: float) -> None:
        """Ends it: there was no answer in that time."""
        self.lost = self.lost or f"{self._name} gave no answer within {after_s:.0f} s"
        self.stop()

    def stop(self) -> None:
        """Ends the process, with whatever it has started. Idempotent."""
        if self._child is not None:
            if self._child.alive:
                with suppress(ProcessLookupError):
                    os.killpg(self._child.pid, signal.SIGKILL)
            self._child.kill()
            self._child = None

    def _take(self, message: Asking | Answered | Refused) -> None:
        match message:
            case Asking():
                self._asking, self._since = message, time.monotonic()
            case Answered(size=size):
                self._arrived.append(size)
                self.awaited = tuple(other for other in self.awaited if other != size)
                if not self.awaited:
                    self.stop()
            case Refused(message=text, fault=fault):
                self.fault, self.lost = (text, "") if fault else ("", text)
                self.stop()

    def _died(self, death: ChildDied) -> None:
        """Killed from outside, mostly because memory ran out; or it has ended itself, which is its own fault."""
        where = self._asking.size.label if self._asking else "its start"
        text = f"{self._name} at {where}: its process {death}"
        killed = self._child is not None and self._child.ended_by() in (signal.SIGKILL, signal.SIGTERM)
        self.fault, self.lost = ("", text) if killed else (text, "")
        self.stop()

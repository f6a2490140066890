"""When the reference's answers at the tuned sizes arrive, and what is said of a proof that had to do without them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

from evaluator.api import EvaluatorError
from evaluator.beside import Beside
from evaluator.desk import DeviceDesk
from evaluator.messages import Setup
from evaluator.plan import compulsory_bytes
from evaluator.store import give_up_answer
from evaluator.waiting import Pace, Say
from genome.spec import ProblemSize

_LOOK_S = 0.5


class Arrival:
    """Hands each answer to the device process, which compares the baseline with it.

    Args:
        beside: The process that asks the reference.
        desk: Of the device process.
        timeout_s: Longest wait for answers at the end.
    """

    def __init__(self, beside: Beside, desk: DeviceDesk, timeout_s: float) -> None:
        self._beside, self._desk, self._timeout_s = beside, desk, timeout_s
        self._setup: Setup | None = None
        self._open: list[ProblemSize] = []
        self._early: list[ProblemSize] = []
        self._missing: list[ProblemSize] = []

    def begin(self, setup: Setup) -> None:
        """Asks the reference at the tuned sizes, the smallest first, where the setup says so."""
        self._setup, self._open, self._early = setup, [], []
        if setup.beside:
            sizes = sorted(setup.spec.sizes, key=lambda size: compulsory_bytes(setup.spec, size))
            self._beside.start(setup, tuple(sizes))

    def expect(self, sizes: Sequence[ProblemSize]) -> None:
        """Names the sizes that the baseline was opened at without an answer."""
        self._open = list(sizes)
        early, self._early = self._early, []
        self._hand_over(early)
        if not self._open:
            self._beside.stop()

    def busy(self) -> list[tuple[Connection, float]]:
        """The pipe to wait on."""
        connection = self._beside.connection
        return [(connection, math.inf)] if connection is not None else []

    def look(self) -> None:
        """Takes in what has happened.

        Raises:
            EvaluatorError: If the baseline differs from the reference, or the reference fails.
        """
        self._hand_over(self._beside.collect())
        for settled in self._desk.settled():
            if settled.failure:
                raise EvaluatorError(settled.failure)
            self._open.remove(settled.size)
        if self._beside.fault:
            raise EvaluatorError(self._beside.fault)

    def settle(self, pump: Callable[[float], None], say: Say, give_up: Callable[[], bool]) -> str:
        """Waits for what is awaited; the proof rests on the baseline where it does not come.

        Args:
            pump: Moves work on, for so many seconds at most; calls ``look``.
            say: Hears what is awaited.
            give_up: Asked while waiting; True ends it.

        Returns:
            What limits the proof, for a person; empty if nothing does.

        Raises:
            EvaluatorError: See ``look``.
        """
        began, pace = time.monotonic(), Pace(say)
        while self._open and (self._beside.connection is not None or self._desk.pending):
            if give_up():
                return ""
            pump(_LOOK_S)
            pace(self._beside.waiting())
            if self._beside.connection is not None and time.monotonic() - began >= self._timeout_s:
                self._beside.give_up(self._timeout_s)
        self._beside.stop()
        if self._setup is not None:
            for size in self._open:
                give_up_answer(self._setup.session, self._setup.spec, size)
            self._missing, self._open = self._missing + self._open, []
        return self._remark()

    def stop(self) -> None:
        """Ends the process. Idempotent."""
        self._beside.stop()

    def _hand_over(self, arrived: Sequence[ProblemSize]) -> None:
        """Answers that come before it is known whether the baseline was opened without them are kept until it is."""
        for size in arrived:
            if size in self._open:
                self._desk.settle(size)
            else:
                self._early.append(size)

    def _remark(self) -> str:
        if not self._missing or self._setup is None:
            return ""
        where = "; ".join(size.label for size in self._missing)
        seen = "; ".join(size.label for size in self._setup.spec.check_sizes)
        return (
            f"reference not computed at {where} ({self._beside.lost}): compared there with the untransformed kernel, "
            f"which agrees with the reference at {seen}"
        )

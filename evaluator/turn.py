"""Who may use the cores of a CPU device: any number of compilers and a reference, or the one process that is timing.

Locks on files, because the kernel gives them up for a process that is killed. A turnstile in front keeps a stream of
compilers from starving the timer. A compilation that lasts longer than the timer's patience is stopped while the timer
runs, and goes on after it: one that hangs costs the device no more than that patience. A reference in the background
is stopped at once.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE_S = 2.0
_POLL_S = 0.01


class Turn:
    """One process's handle on the two locks in a folder.

    Args:
        folder: Shared by the processes of an evaluator.
        enabled: False makes every wait free: a GPU does not compete with compilers for cores.
        patience_s: Longest wait of a timer for compilers.
    """

    def __init__(self, folder: Path, enabled: bool, patience_s: float = PATIENCE_S) -> None:
        self._folder, self._enabled, self._patience_s = folder, enabled, patience_s
        self._gate = (folder / "turnstile.lock").open("ab")
        self._cores = (folder / "cores.lock").open("ab")

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Held beside other compilers, never beside a timer."""
        if not self._enabled:
            yield
            return
        self._pass_gate(fcntl.LOCK_SH)
        try:
            with self._own("compiler").open("ab") as own:
                fcntl.flock(own, fcntl.LOCK_EX)
                yield
        finally:
            fcntl.flock(self._cores, fcntl.LOCK_UN)

    @contextmanager
    def background(self) -> Iterator[None]:
        """Held by a process that leads a group of its own: while a timer runs, the whole group is stopped."""
        if not self._enabled:
            yield
            return
        self._pass_gate(fcntl.LOCK_SH)  # not in the middle of a timing
        with self._own("background").open("ab") as own:
            fcntl.flock(own, fcntl.LOCK_EX)
            fcntl.flock(self._cores, fcntl.LOCK_UN)
            yield

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Held alone: compilers have ended, or are stopped."""
        if not self._enabled:
            yield
            return
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        stopped: list[int] = []
        behind: list[int] = []
        try:
            self._signal(self._holders("compiler"), signal.SIGCONT)  # a timer that was killed may have left them
            got = self._got_cores()
            behind = self._holders("background")
            self._signal(behind, signal.SIGSTOP, os.killpg)
            if not got:
                stopped = self._holders("compiler")
                self._signal(stopped, signal.SIGSTOP)
            else:
                fcntl.flock(self._gate, fcntl.LOCK_UN)
            yield
        finally:
            self._signal(stopped, signal.SIGCONT)
            self._signal(behind, signal.SIGCONT, os.killpg)
            fcntl.flock(self._cores, fcntl.LOCK_UN)
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def wake(self) -> None:
        """Lets those go on whom a timer that was killed has left stopped. Call it where nobody times."""
        if self._enabled:
            self._signal(self._holders("compiler"), signal.SIGCONT)
            self._signal(self._holders("background"), signal.SIGCONT, os.killpg)

    def _pass_gate(self, kind: int) -> None:
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._cores, kind)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def _got_cores(self) -> bool:
        """Waits for the compilers under way, as long as patience lasts; nobody new gets past the gate meanwhile."""
        deadline = time.monotonic() + self._patience_s
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(self._cores, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)

    def _own(self, kind: str) -> Path:
        return self._folder / f"{kind}-{os.getpid()}-{id(self):x}.lock"

    def _holders(self, kind: str) -> list[int]:
        """Processes of a kind at work: each holds a lock of its own, so that no reused number is taken for one."""
        found = []
        for path in self._folder.glob(f"{kind}-*.lock"):
            with path.open("ab") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    found.append(int(path.stem.split("-")[1]))
        return found

    def _signal(self, processes: list[int], what: signal.Signals, send: Callable[[int, int], None] = os.kill) -> None:
        for process in set(processes) - {os.getpid()}:
            with suppress(ProcessLookupError):
                send(process, what)

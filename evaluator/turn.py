"""Who may use the cores of a CPU device: any number of compilers, or the one process that is timing.

Locks on files, because the kernel gives them up for a process that is killed. A turnstile in front keeps a stream of
compilers from starving the timer.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Turn:
    """One process's handle on the two locks in a folder.

    Args:
        folder: Shared by the processes of an evaluator.
        enabled: False makes every wait free: a GPU does not compete with compilers for cores.
    """

    def __init__(self, folder: Path, enabled: bool) -> None:
        self._enabled = enabled
        self._gate = (folder / "turnstile.lock").open("ab")
        self._cores = (folder / "cores.lock").open("ab")

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Held beside other compilers, never beside a timer."""
        with self._hold(fcntl.LOCK_SH):
            yield

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Held alone."""
        with self._hold(fcntl.LOCK_EX):
            yield

    @contextmanager
    def _hold(self, kind: int) -> Iterator[None]:
        if not self._enabled:
            yield
            return
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._cores, kind)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._cores, fcntl.LOCK_UN)

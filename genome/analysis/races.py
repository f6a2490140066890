"""Static barrier check: no shared array may be both written and read between two barriers.

Conservative by array: a staged tile that is written by the cooperative copy and read by the computation must have a
barrier on both sides, around the back edge of every loop as well. A CPU device cannot show such a race.
"""

from __future__ import annotations

from genome.analysis.effects import reads_of, shared_arrays
from genome.ir.expr import Index
from genome.ir.kernel import Kernel
from genome.ir.stmt import Barrier, Body, If, Loop, Opaque, Stmt, writes


def race(kernel: Kernel) -> str | None:
    """Name of a shared array that is read and written with no barrier in between, or None.

    A user's own shared arrays are judged like staged ones.
    """
    shared = frozenset(shared_arrays(kernel))
    if not shared:
        return None
    state = _State(shared)
    state.body(kernel.body)
    return state.conflict


class _State:
    def __init__(self, shared: frozenset[str]) -> None:
        self.shared = shared
        self.read: set[str] = set()
        self.written: set[str] = set()
        self.conflict: str | None = None

    def body(self, body: Body) -> None:
        for stmt in body:
            if isinstance(stmt, Barrier):
                self.read.clear()
                self.written.clear()
            elif isinstance(stmt, Loop):
                # Twice: the second pass sees what the first left behind at the back edge.
                for _ in range(2):
                    self.body(stmt.body)
            elif isinstance(stmt, If):
                self._branches(stmt)
            else:
                self._simple(stmt)

    def _branches(self, stmt: If) -> None:
        self._simple(stmt)
        before = set(self.read), set(self.written)
        self.body(stmt.then)
        after = set(self.read), set(self.written)
        self.read, self.written = before
        self.body(stmt.orelse)
        self.read |= after[0]
        self.written |= after[1]

    def _simple(self, stmt: Stmt) -> None:
        if isinstance(stmt, Opaque):
            self.read |= self.shared & set(stmt.reads)
            self.written |= self.shared & set(stmt.writes)
        targets = writes(stmt)
        self.read |= {access.array for access in reads_of(stmt)} & self.shared
        for target in targets:
            if isinstance(target, Index) and target.array in self.shared:
                self.written.add(target.array)
        both = sorted(self.read & self.written)
        if both and self.conflict is None:
            self.conflict = both[0]

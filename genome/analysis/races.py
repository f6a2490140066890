"""Static barrier check: no shared array may be both written and read between two barriers, nor be updated by atomics
and touched in another way.

Conservative by array: a staged tile that is written by the cooperative copy and read by the computation must have a
barrier on both sides, around the back edge of every loop as well. A CPU device cannot show such a race.
"""

from __future__ import annotations

from genome.analysis.atomics import update_of
from genome.analysis.effects import reads_of, shared_arrays
from genome.ir.expr import Index, accesses
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
        self.updated: set[str] = set()
        self.conflict: str | None = None

    def body(self, body: Body) -> None:
        for stmt in body:
            if isinstance(stmt, Barrier):
                self.read.clear()
                self.written.clear()
                self.updated.clear()
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
        before = set(self.read), set(self.written), set(self.updated)
        self.body(stmt.then)
        after = self.read, self.written, self.updated
        self.read, self.written, self.updated = before
        self.body(stmt.orelse)
        self.read |= after[0]
        self.written |= after[1]
        self.updated |= after[2]

    def _simple(self, stmt: Stmt) -> None:
        if isinstance(stmt, Opaque):
            self.read |= self.shared & set(stmt.reads)
            self.written |= self.shared & set(stmt.writes)
        update = update_of(stmt)
        if update is not None and update.target.array in self.shared:
            self.updated.add(update.target.array)
            inside = (*update.target.subscripts, update.value)
            self.read |= {access.array for expr in inside for access in accesses(expr)} & self.shared
            self._look()
            return
        targets = writes(stmt)
        self.read |= {access.array for access in reads_of(stmt)} & self.shared
        for target in targets:
            if isinstance(target, Index) and target.array in self.shared:
                self.written.add(target.array)
        self._look()

    def _look(self) -> None:
        both = sorted(self.read & self.written | self.updated & (self.read | self.written))
        if both and self.conflict is None:
            self.conflict = both[0]

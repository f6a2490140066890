"""Static barrier check: no shared array may be both written and read between two barriers, nor be updated by atomics
and touched in another way.

Conservative by array: a staged tile that is written by the cooperative copy and read by the computation must have a
barrier on both sides, around the back edge of every loop as well. Where lanes share an instance, the arrays behind
pointers are judged too: an element that one lane writes may be read by another one, unless both accesses stand in parts
of the same shared loop. A CPU device cannot show such a race.
"""

from __future__ import annotations

from dataclasses import replace

from genome.analysis.atomics import update_of
from genome.analysis.effects import reads_of, shared_arrays
from genome.analysis.touches import Touches, touches
from genome.ir.expr import Binary, Const, Index, Var, accesses, conjuncts
from genome.ir.kernel import Kernel
from genome.ir.stmt import Barrier, Body, If, Loop, Opaque, Stmt, writes


def race(kernel: Kernel) -> str | None:
    """Name of an array that is read and written with no barrier in between, or None.

    A user's own shared arrays are judged like staged ones.
    """
    shared = frozenset(shared_arrays(kernel))
    if shared:
        state = _State(shared)
        state.body(kernel.body)
        if state.conflict is not None:
            return state.conflict
    lanes = next((axis.lanes for axis in kernel.axes if axis.lanes is not None), None)
    if lanes is None or not kernel.threads:
        return None
    exchange = _Exchange(frozenset(p.name for p in kernel.params if p.pointer), kernel.threads[0][0], lanes.no_alias)
    exchange.body(kernel.body, _ALL)
    return exchange.conflict


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


_ALL, _FIRST = "every lane", "the first lane"


class _Exchange:
    """What lanes touch behind pointers since the last barrier, by who touches it: all of them, the first one alone, or
    each its own elements of a shared loop.
    """

    def __init__(self, pointers: frozenset[str], lane: str, no_alias: bool) -> None:
        self.pointers, self.no_alias = pointers, no_alias
        self.first = Binary("==", Var(lane), Const("0"))
        self.seen: dict[str, Touches] = {}
        self.conflict: str | None = None

    def body(self, body: Body, who: str) -> None:
        for stmt in body:
            if isinstance(stmt, Barrier):
                self.seen = {}
            elif isinstance(stmt, Loop):
                self._touch(replace(stmt, body=()), who)
                for _ in range(2):
                    self.body(stmt.body, stmt.origin or who)
            elif isinstance(stmt, If):
                self._touch(If(stmt.condition, ()), who)
                before = self.seen
                self.body(stmt.then, _FIRST if self.first in conjuncts(stmt.condition) else who)
                after, self.seen = self.seen, before
                self.body(stmt.orelse, who)
                self.seen = {name: self.seen.get(name, Touches()) | after.get(name, Touches())
                             for name in dict.fromkeys((*self.seen, *after))}  # fmt: skip
            else:
                self._touch(stmt, who)

    def _touch(self, stmt: Stmt, who: str) -> None:
        mine = touches((stmt,), self.pointers)
        if not mine.read and not mine.written:
            return
        for other, past in self.seen.items():
            if other != who and past.conflicts(mine, self.no_alias) and self.conflict is None:
                both = (past.written & (mine.read | mine.written)) | (past.read & mine.written)
                self.conflict = min(both or mine.written or past.written)
        if who == _ALL and mine.written and self.conflict is None:
            self.conflict = min(mine.written)
        self.seen = {**self.seen, who: self.seen.get(who, Touches()) | mine}

"""Static barrier check: no shared array may be both written and read between two barriers, nor be written by two
statements, nor be updated by atomics and touched in another way.

Conservative by array (by buffer of it, where the block agrees on that): a staged tile that is written by the
cooperative copy and read by the computation must have a barrier on both sides, around the back edge of every loop as
well, and past a loop that may not run. Where lanes share an instance, the arrays behind pointers are judged too: an
element that one lane writes may be read by another one, unless both accesses stand in parts of the same shared loop. A
CPU device cannot show such a race.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from genome.analysis.atomics import update_of
from genome.analysis.buffers import Place, may_meet, place_of
from genome.analysis.effects import reads_of, shared_arrays
from genome.analysis.facts import Uniformity
from genome.analysis.touches import Touches, atomic_target, touches
from genome.analysis.uniformity import Levels, agrees, levels_of
from genome.ir.async_stmt import AsyncCopy
from genome.ir.expr import Binary, Const, Index, Unary, Var, accesses, base_name, calls, conjuncts, names
from genome.ir.kernel import Kernel
from genome.ir.print_functions import ATOMICS
from genome.ir.rewrite_stmt import head
from genome.ir.stmt import (
    Barrier,
    Body,
    Decl,
    If,
    Loop,
    Opaque,
    Repeat,
    Stmt,
    VectorStore,
    expressions,
    flatten,
    handed_places,
    writes,
    written_names,
)


def race(kernel: Kernel, own: frozenset[str] = frozenset()) -> str | None:
    """Name of an array that is read and written, or written twice, with no barrier in between; None if there is none.

    Args:
        kernel: The kernel.
        own: The user's own shared arrays. Two statements may write them: which thread writes what is not known.
    """
    shared = frozenset(shared_arrays(kernel))
    if shared:
        state = _State(shared, own, kernel)
        state.body(kernel.body)
        if state.conflict is not None:
            return state.conflict
    lanes = next((axis.lanes for axis in kernel.axes if axis.lanes is not None), None)
    if lanes is None or not kernel.threads:
        return None
    exchange = _Exchange(frozenset(p.name for p in kernel.params if p.pointer), kernel.threads[0][0], lanes.no_alias)
    exchange.body(kernel.body, _ALL)
    return exchange.conflict


_Seen = tuple[set[Place], set[Place], set[Index], set[str]]


class _State:
    def __init__(self, shared: frozenset[str], own: frozenset[str], kernel: Kernel) -> None:
        self.shared, self.own, self.kernel = shared, own, kernel
        self.read: set[Place] = set()
        self.written: set[Place] = set()
        self.targets: set[Index] = set()
        self.updated: set[str] = set()
        self.conflict: str | None = None

    def body(self, body: Body) -> None:
        for stmt in body:
            if isinstance(stmt, Barrier):
                self.read.clear()
                self.written.clear()
                self.targets.clear()
                self.updated.clear()
            elif isinstance(stmt, Loop | Repeat):
                before = self._copy()
                self._turn(stmt)
                if self._copy() != before:
                    self._turn(stmt)  # sees what the first pass left behind at the back edge
                if isinstance(stmt, Loop) and not stmt.trip:
                    self._merge(before)
            elif isinstance(stmt, If):
                self._branches(stmt)
            else:
                self._simple(stmt)

    def _turn(self, loop: Loop | Repeat) -> None:
        """One pass through the loop, and what the next one no longer knows."""
        self.body(loop.body)
        changed = set(written_names(loop.body))
        for inner in flatten((loop,)):
            changed |= {inner.var} if isinstance(inner, Loop) else {inner.name} if isinstance(inner, Decl) else set()
        self.read = {place.forget(changed) for place in self.read}
        self.written = {place.forget(changed) for place in self.written}

    def _branches(self, stmt: If) -> None:
        self._simple(stmt)
        before = self._copy()
        self.body(stmt.then)
        after = self._copy()
        if not stmt.orelse or agrees(self.levels.of(stmt.condition), Uniformity.BLOCK):
            self.read, self.written, self.targets, self.updated = before
        self.body(stmt.orelse)  # threads that part run both branches side by side
        self._merge(after)

    @cached_property
    def levels(self) -> Levels:
        """Who agrees on a condition: asked for only where there is an else."""
        return levels_of(self.kernel)

    def _copy(self) -> _Seen:
        return set(self.read), set(self.written), set(self.targets), set(self.updated)

    def _merge(self, other: _Seen) -> None:
        self.read |= other[0]
        self.written |= other[1]
        self.targets |= other[2]
        self.updated |= other[3]

    def _simple(self, stmt: Stmt) -> None:
        if isinstance(stmt, Opaque):
            self.read |= {Place(name) for name in self.shared & set(stmt.reads)}
            self.written |= {Place(name) for name in self.shared & set(stmt.writes)}
        if all(self.shared.isdisjoint(names(expr)) for expr in expressions(stmt)):
            self._look()
            return
        update = update_of(stmt)
        if update is not None and update.target.array in self.shared:
            self.updated.add(update.target.array)
            inside = (*update.target.subscripts, update.value)
            self.read |= {
                place_of(access) for expr in inside for access in accesses(expr) if access.array in self.shared
            }
            self._look()
            return
        updated = self._called(stmt)
        plain = (access for access in reads_of(stmt) if access.array in self.shared and access not in updated)
        self.read |= {place_of(access) for access in plain}
        # A wide store or copy is one access, which starts where its first element is.
        for target in (stmt.target,) if isinstance(stmt, VectorStore | AsyncCopy) else writes(stmt):
            if isinstance(target, Index) and target.array in self.shared:
                self.written.add(place_of(target))
                self._write(target)
        self._look()

    def _called(self, stmt: Stmt) -> frozenset[Index]:
        """Arrays that calls are given: an atomic whose value is used updates one, others may touch every element.

        Returns the elements that the statement touches by atomics alone.
        """
        given = self.shared & {base_name(place) for place in handed_places(stmt)}
        self.read |= {Place(name) for name in given}
        self.written |= {Place(name) for name in given}
        atomics = [call for expr in expressions(stmt) for call in calls(expr) if call.function in ATOMICS]
        self.updated |= self.shared & {atomic_target(call) for call in atomics}
        targets = Counter(arg.operand for call in atomics for arg in call.args[:1] if isinstance(arg, Unary))
        touched = Counter(access for expr in expressions(stmt) for access in accesses(expr))
        return frozenset(t for t, times in targets.items() if isinstance(t, Index) and touched[t] <= times)

    def _write(self, target: Index) -> None:
        if target.array in self.own:
            return
        if self.conflict is None and any(_may_meet(target, other) for other in self.targets):
            self.conflict = target.array
        self.targets.add(target)

    def _look(self) -> None:
        if self.conflict is not None:
            return
        both = {one.array for one in self.read for other in self.written if self._meet(one, other)}
        both |= self.updated & {place.array for place in (*self.read, *self.written)}
        if both:
            self.conflict = min(both)

    def _meet(self, one: Place, other: Place) -> bool:
        """True unless two accesses of the array are in different buffers, on which all threads of the block agree."""
        if one.array != other.array or may_meet(one, other):
            return one.array == other.array
        buffers = (place.buffer for place in (one, other) if place.buffer is not None)
        return not all(agrees(self.levels.of(buffer), Uniformity.BLOCK) for buffer in buffers)


def _may_meet(one: Index, other: Index) -> bool:
    """True if two statements may write the same element: no pair of subscripts are different numbers."""
    if one.array != other.array or one == other:
        return False
    pairs = zip(one.subscripts, other.subscripts, strict=False)
    return not any(isinstance(a, Const) and isinstance(b, Const) and a != b for a, b in pairs)


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
            elif isinstance(stmt, Loop | Repeat):
                self._touch(head(stmt), who)
                before = self.seen
                inside = (stmt.origin if isinstance(stmt, Loop) else "") or who
                self.body(stmt.body, inside)
                if self.seen != before:
                    self.body(stmt.body, inside)
                if isinstance(stmt, Loop) and not stmt.trip:
                    self._merge(before)
            elif isinstance(stmt, If):
                self._touch(head(stmt), who)
                before = self.seen
                self.body(stmt.then, _FIRST if self.first in conjuncts(stmt.condition) else who)
                after, self.seen = self.seen, before
                self.body(stmt.orelse, who)
                self._merge(after)
            else:
                self._touch(stmt, who)

    def _merge(self, other: Mapping[str, Touches]) -> None:
        self.seen = {name: self.seen.get(name, Touches()) | other.get(name, Touches())
                     for name in dict.fromkeys((*self.seen, *other))}  # fmt: skip

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

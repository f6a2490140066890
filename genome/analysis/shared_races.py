"""Races of shared arrays: accesses of different threads of a block with no barrier between, one of them a write.

Accesses are followed in program order from barrier to barrier, around the back edge of every loop, and through both
branches of a condition that differs between threads. Of each pair that may run side by side, the indices are compared:
the same element must take the same thread, or another iteration that a barrier keeps apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from genome.analysis.access import Access, AccessMode, MemorySpace, VariableKind
from genome.analysis.facts import Hazard, SharedRace, Uniformity
from genome.analysis.integers import OPEN, Range
from genome.analysis.meeting import Relation, Side, never_meet, side_of
from genome.analysis.places import Digit
from genome.analysis.proof import Proof, doubted, proven
from genome.analysis.scope import Scope
from genome.analysis.trial import Runs, trial
from genome.analysis.uniformity import Levels, agrees
from genome.ir.stmt import Barrier, Body, If, Loop, Repeat, Stmt

_EFFORT = 60_000  # executions that are compared for one kernel


@dataclass(frozen=True)
class Pair:
    """Two accesses that threads may make side by side; ``relation`` ties the iterations of their common loops.

    ``again`` if the second one is made in a further turn of a loop that nothing counts, should it have one.
    """

    first: Access
    second: Access
    relation: Relation
    again: bool = False


def shared_races(levels: Levels, accesses: Sequence[Access]) -> tuple[SharedRace, ...]:
    """Proven and possible races of the shared arrays of a kernel.

    Args:
        levels: Who agrees on what.
        accesses: Those of ``genome.analysis.collect``.
    """
    judge = _Judge(levels.scope)
    found: dict[tuple[str, int, int, Hazard], SharedRace] = {}
    for pair in side_by_side(levels, accesses):
        proof = judge.race(pair)
        if proof is not None:
            race = _fact(pair, proof)
            key = (race.array, race.first_line, race.second_line, race.hazard)
            if key not in found or (proof.holds and not found[key].proof.holds):
                found[key] = race
    return tuple(found.values())


def _fact(pair: Pair, proof: Proof) -> SharedRace:
    first, second = pair.first, pair.second
    if first.mode is AccessMode.READ:
        hazard = Hazard.ANTI
    else:
        hazard = Hazard.FLOW if second.mode is AccessMode.READ else Hazard.OUTPUT
    return SharedRace(first.array, first.line, second.line, hazard, proof)


class _Judge:
    """Decides pairs; what is known of one access is kept."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.sides: dict[int, Side] = {}
        self.runs: dict[int, Runs] = {}
        self.left = _EFFORT
        self.dims = [f"threadIdx.{dim}" for dim in _block_dims(scope)]
        self.blocks = frozenset(name for name, kind in scope.kinds.items() if kind is VariableKind.BLOCK)
        self.blocks |= {_base(axis.name) for axis in scope.kernel.axes}

    def race(self, pair: Pair) -> Proof | None:
        """None if different threads never meet; else the proof that they do, or the doubt."""
        one, other = self._side(pair.first), self._side(pair.second)
        same = pair.relation.same | self.blocks
        doubt = ""
        for dim in self.dims:
            ahead = replace(pair.relation, same=same, apart=dim)
            behind = replace(ahead, later=tuple((name, -step) for name, step in ahead.later))
            doubt = doubt or never_meet(one, other, ahead) or never_meet(other, one, behind)
        if not doubt:
            return None
        line = pair.second.line
        tried = trial(self._runs(pair.first), self._runs(pair.second), pair.relation) if self.left > 0 else None
        self.left -= tried.executions if tried is not None else 0
        if tried is not None and not tried.met:
            return None
        if tried is not None and tried.sure and not pair.again:
            return proven(f"{tried.met}, and no barrier stands between", line)
        return doubted(doubt, line, "" if self.scope.block else "launch.block")

    def _runs(self, access: Access) -> Runs:
        key = id(access)
        if key not in self.runs:
            self.runs[key] = Runs(access, self._side(access), self.scope)
        return self.runs[key]

    def _side(self, access: Access) -> Side:
        key = id(access)
        if key not in self.sides:
            self.sides[key] = _by_threads(side_of(access, self.scope), self.scope)
        return self.sides[key]


def _block_dims(scope: Scope) -> str:
    """Dimensions along which a block has threads: those of its shape, else those that the kernel uses."""
    if scope.block is not None:
        return "".join(dim for dim, extent in zip("xyz", scope.block, strict=True) if extent > 1)
    used = {name[-1] for name in scope.kernel.used_names if name.startswith("threadIdx.")}
    used |= {axis.dim for axis in scope.kernel.axes}
    return "".join(sorted(used))


def _base(axis: str) -> str:
    return f"block of {axis}"


def _by_threads(side: Side, scope: Scope) -> Side:
    """The side with each axis as the block's first index and the thread's own."""
    axes = {axis.name: f"threadIdx.{axis.dim}" for axis in scope.kernel.axes}
    ranges = dict(side.ranges)
    for name, thread in axes.items():
        found = ranges.pop(name, OPEN)
        ranges[thread] = ranges.get(thread, OPEN).meet(Range(None, found.high))
        ranges[_base(name)] = Range(0, found.high)

    def turned(digit: Digit) -> Digit:
        factors: dict[str, int] = {}
        for name, factor in digit.factors.items():
            for part in (axes[name], _base(name)) if name in axes else (name,):
                factors[part] = factors.get(part, 0) + factor
        return Digit(digit.constant, {name: factor for name, factor in factors.items() if factor})

    place = side.place if isinstance(side.place, str) else replace(
        side.place, digits=tuple(turned(digit) for digit in side.place.digits))  # fmt: skip
    return Side(place, ranges, {guard: turned(pin) for guard, pin in side.pins.items()})


def side_by_side(levels: Levels, accesses: Sequence[Access]) -> list[Pair]:
    """Pairs of accesses to one shared array, at least one a write, that no barrier keeps apart."""
    walk = _Walk(levels, accesses)
    kernel = levels.scope.kernel
    walk.body(kernel.prologue + kernel.whole, ())
    return list(dict.fromkeys(walk.pairs))


@dataclass(frozen=True)
class _Live:
    """An access since the last barrier; ``ties`` says of each loop around it how a later access is tied to it."""

    access: int
    ties: tuple[tuple[str, int | None], ...]  # steps ahead: 0 in the same iteration; None in any


class _Walk:
    def __init__(self, levels: Levels, accesses: Sequence[Access]) -> None:
        self.levels, self.accesses = levels, accesses
        self.by_statement: dict[int, list[int]] = {}
        for number, access in enumerate(accesses):
            if access.space in (MemorySpace.SHARED, MemorySpace.UNKNOWN):
                self.by_statement.setdefault(access.statement, []).append(number)
        self.live: frozenset[_Live] = frozenset()
        self.position = 0
        self.again = False
        self.pairs: list[Pair] = []

    def body(self, body: Body, loops: tuple[Loop, ...]) -> None:
        for stmt in body:
            self._stmt(stmt, loops)

    def _stmt(self, stmt: Stmt, loops: tuple[Loop, ...]) -> None:
        numbers = self.by_statement.get(self.position, [])
        for number in numbers:
            self._touch(number, loops)
        self.position += 1
        if isinstance(stmt, Barrier):
            self.live = frozenset()
        elif isinstance(stmt, Loop):
            self._loop(stmt, (*loops, stmt), numbers)
        elif isinstance(stmt, Repeat):
            self._repeat(stmt, loops)
        elif isinstance(stmt, If):
            self._if(stmt, loops)

    def _touch(self, number: int, loops: tuple[Loop, ...]) -> None:
        self.live |= {_Live(number, tuple((loop.var, 0) for loop in loops))}
        for other in self.live:
            if _conflict(self.accesses[other.access], self.accesses[number]):
                first, second = self.accesses[other.access], self.accesses[number]
                self.pairs.append(Pair(first, second, self._relation(other), self.again))

    def _relation(self, other: _Live) -> Relation:
        """Loops with the same bounds for all threads count alike in all of them."""
        steady = [(name, ahead) for name, ahead in other.ties if ahead is not None and self._counted_alike(name)]
        later = tuple((name, ahead) for name, ahead in steady if ahead)
        return Relation(frozenset(name for name, ahead in steady if not ahead), later)

    def _counted_alike(self, name: str) -> bool:
        loop = self.levels.scope.loops[name]
        return all(agrees(self.levels.of(bound), Uniformity.BLOCK) for bound in (loop.lower, loop.upper))

    def _loop(self, stmt: Loop, loops: tuple[Loop, ...], numbers: Sequence[int]) -> None:
        start, before = self.position, self.live
        self.body(stmt.body, loops)
        waits = always_waits(stmt.body)
        self._tested(numbers, loops)
        self.live = _moved(self.live, stmt.var, stmt.step if waits else None)
        self.position = start
        self.body(stmt.body, loops)
        self._tested(numbers, loops)
        ended = _moved(self.live, stmt.var, None)
        self.live = ended if stmt.trip else before | ended

    def _repeat(self, stmt: Repeat, loops: tuple[Loop, ...]) -> None:
        start, before = self.position, self.again
        self.body(stmt.body, loops)
        self.position, self.again = start, True
        self.body(stmt.body, loops)
        self.again = before

    def _tested(self, numbers: Sequence[int], loops: tuple[Loop, ...]) -> None:
        """The bound is read again before every iteration."""
        for number in numbers:
            self._touch(number, loops[:-1])

    def _if(self, stmt: If, loops: tuple[Loop, ...]) -> None:
        before = self.live
        self.body(stmt.then, loops)
        after = self.live
        parted = not agrees(self.levels.of(stmt.condition), Uniformity.BLOCK)
        self.live = before | after if parted else before
        self.body(stmt.orelse, loops)
        self.live |= after


def _moved(live: Iterable[_Live], loop: str, ahead: int | None) -> frozenset[_Live]:
    """What is left once an iteration has ended: tied to the next one where a barrier keeps others apart."""
    return frozenset(
        _Live(item.access, tuple(_later(name, now, loop, ahead) for name, now in item.ties)) for item in live
    )


def _later(name: str, now: int | None, loop: str, ahead: int | None) -> tuple[str, int | None]:
    return (name, ahead if now == 0 else None) if name == loop else (name, now)


def always_waits(body: Body) -> bool:
    """True if every way through the body passes a barrier."""
    for stmt in body:
        if isinstance(stmt, Barrier):
            return True
        if isinstance(stmt, Loop) and stmt.trip and always_waits(stmt.body):
            return True
        if isinstance(stmt, Repeat) and always_waits(stmt.body):
            return True
        if isinstance(stmt, If) and always_waits(stmt.then) and always_waits(stmt.orelse):
            return True
    return False


def _conflict(first: Access, second: Access) -> bool:
    anywhere = MemorySpace.UNKNOWN in (first.space, second.space)
    modes = {first.mode, second.mode}
    harmless = modes == {AccessMode.READ} or modes == {AccessMode.ATOMIC}
    return not harmless and (first.array == second.array or anywhere)

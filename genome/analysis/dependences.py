"""Orders that a rewrite must keep: between the iterations of each loop, and between the threads of the launch.

Two accesses of one array, one of them a write, depend on each other unless their indices are shown to differ whenever
the iteration (or the thread) does. What overlapping pointers would add is told by ``genome.analysis.aliasing``.
A launch is taken to have blocks along the dimensions whose indices the kernel uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

from genome.analysis.access import Access, AccessMode, MemorySpace, VariableKind
from genome.analysis.atomics import update_of
from genome.analysis.facts import Dependence, Hazard
from genome.analysis.meeting import Relation, Side, fixed_distance, meet_always, never_meet, side_of
from genome.analysis.proof import Proof, doubted, proven
from genome.analysis.scalar_dependences import scalar_dependences
from genome.analysis.scope import Scope
from genome.ir.stmt import Body, Loop, Stmt, flatten

_MOST = 150  # accesses of one array that are compared with each other


def dependences(scope: Scope, accesses: Sequence[Access]) -> tuple[Dependence, ...]:
    """Dependences of arrays and scalars, loop by loop in program order, then those between threads.

    Where a loop holds very many accesses of one array, one doubt stands for all of them.

    Args:
        scope: The names of the kernel.
        accesses: Those of ``genome.analysis.collect``.
    """
    finder = _Finder(scope, accesses)
    found: list[Dependence] = []
    body = scope.kernel.prologue + scope.kernel.whole
    for outer, loop in _loops(body, ()):
        found += finder.between_iterations(outer, loop)
        found += scalar_dependences(loop, scope.types)
    return _surest((*found, *finder.between_threads()))


def thread_dependences(scope: Scope, accesses: Sequence[Access]) -> tuple[Dependence, ...]:
    """Those between threads alone; see ``dependences``."""
    return _surest(tuple(_Finder(scope, accesses).between_threads()))


def _surest(found: Sequence[Dependence]) -> tuple[Dependence, ...]:
    """One fact for each order and distance: a proven one where there is one."""
    kept: dict[tuple[object, ...], Dependence] = {}
    for fact in found:
        key = (fact.name, fact.source_line, fact.sink_line, fact.hazard, fact.loop, fact.distance)
        if key not in kept or (fact.proof.holds and not kept[key].proof.holds):
            kept[key] = fact
    return tuple(kept.values())


def _loops(body: Body, outer: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Loop]]:
    """(variables of the enclosing loops, loop) in program order."""
    for stmt in body:
        if isinstance(stmt, Loop):
            yield outer, stmt
            yield from _loops(stmt.body, (*outer, stmt.var))
        elif stmt.inside:
            yield from _loops(stmt.inside, outer)


class _Finder:
    def __init__(self, scope: Scope, accesses: Sequence[Access]) -> None:
        self.scope, self.accesses = scope, accesses
        self.statements: tuple[Stmt, ...] = tuple(flatten(scope.kernel.prologue + scope.kernel.whole))
        self.sides: dict[int, Side] = {}
        self.places = frozenset(name for name, kind in scope.kinds.items() if kind is not VariableKind.LOOP)

    def between_iterations(self, outer: tuple[str, ...], loop: Loop) -> Iterator[Dependence]:
        """Of one thread; iterations of the loops around are the same."""
        relation = Relation(self.places | set(outer), apart=loop.var)
        doubts: set[tuple[str, int, int, Hazard]] = set()
        for group in self._groups([access for access in self.accesses if loop.var in access.loops]):
            if len(group) > _MOST:
                yield _crowd(group, loop.var)
                continue
            for first, second in product(group, group):
                key = (first.array, first.line, second.line, _hazard(first, second))
                if key in doubts or not self._ordered(first, second):
                    continue
                found = self._between(first, second, relation)
                if found is not None:
                    yield found
                    if found.distance is None and not found.proof.holds:
                        doubts.add(key)  # a doubt of these lines covers whatever else they do

    def between_threads(self) -> Iterator[Dependence]:
        """Of any two threads of the launch, over arrays that they share."""
        shared = [access for access in self.accesses if access.space in (MemorySpace.GLOBAL, MemorySpace.UNKNOWN)]
        relations = [Relation(apart=variable) for variable in self._identity()]
        for group in self._groups(shared):
            if len(group) > _MOST:
                yield _crowd(group, None)
                continue
            for first, second in combinations_with_replacement(group, 2):
                if not self._ordered(first, second):
                    continue
                for relation in relations:
                    found = self._between(first, second, relation) or self._between(second, first, relation)
                    if found is not None:
                        yield _between_threads(found, first, second)
                        break

    @staticmethod
    def _groups(accesses: Sequence[Access]) -> list[list[Access]]:
        """Accesses that may meet, array by array; arrays that are only read are left out."""
        groups: dict[str, list[Access]] = {}
        anywhere = any(access.space is MemorySpace.UNKNOWN for access in accesses)
        for access in accesses:
            groups.setdefault("" if anywhere else access.array, []).append(access)
        return [group for group in groups.values() if any(access.mode is not AccessMode.READ for access in group)]

    def _identity(self) -> tuple[str, ...]:
        """Variables by which two threads differ: along each dimension its axis, else indices of thread and block."""
        kernel, block = self.scope.kernel, self.scope.block
        axes = {axis.dim: axis.name for axis in kernel.axes}
        found: list[str] = []
        for number, dim in enumerate("xyz"):
            if dim in axes:
                found.append(axes[dim])
                continue
            many = block is not None and block[number] > 1
            found += [name for name in (f"threadIdx.{dim}", f"blockIdx.{dim}")
                      if name in kernel.used_names or (many and name.startswith("thread"))]  # fmt: skip
        return tuple(found) or ("threadIdx.x",)

    def _ordered(self, first: Access, second: Access) -> bool:
        """True if it matters which of the two comes first."""
        if MemorySpace.UNKNOWN not in (first.space, second.space) and first.array != second.array:
            return False
        modes = {first.mode, second.mode}
        if modes == {AccessMode.ATOMIC}:
            one, other = (update_of(self.statements[access.statement]) for access in (first, second))
            return one is None or other is None or one.kind != other.kind
        return modes != {AccessMode.READ}

    def _between(self, first: Access, second: Access, relation: Relation) -> Dependence | None:
        """The order between the first access and the second one where ``relation.apart`` is larger."""
        one, other = self._side(first), self._side(second)
        doubt = never_meet(one, other, relation)
        if not doubt:
            return None
        loop = relation.apart if relation.apart in self.scope.loops else None
        distance = fixed_distance(one, other, relation)
        always = meet_always(one, other, relation)
        proof = self._proof(first, second, distance if distance or not always else 0, relation.apart, doubt)
        return Dependence(first.array, first.line, second.line, _hazard(first, second), loop, distance, proof)

    def _proof(self, first: Access, second: Access, distance: int | None, variable: str, doubt: str) -> Proof:
        """Proven where both accesses happen in every iteration (or thread), a fixed distance apart."""
        if distance is None:
            return doubted(doubt, second.line)
        for access in (first, second):
            if access.guards:
                return doubted("one of the two stands under a condition", access.guards[-1].line)
            for name in access.loops[access.loops.index(variable) + 1 if variable in access.loops else 0 :]:
                if not self.scope.loops[name].trip:
                    return doubted(f"the loop over {name} may not run", self.scope.loops[name].line)
        what = "iterations" if variable in self.scope.loops else "threads"
        apart = f" {distance} apart along {variable}" if distance else f" that differ in {variable}"
        return proven(f"{what}{apart} touch one element", second.line)

    def _side(self, access: Access) -> Side:
        key = id(access)
        if key not in self.sides:
            self.sides[key] = side_of(access, self.scope)
        return self.sides[key]


def _crowd(group: Sequence[Access], loop: str | None) -> Dependence:
    """One doubt for more accesses than are compared one by one."""
    first, last = group[0], group[-1]
    proof = doubted(f"{len(group)} accesses of {first.array} are not compared one by one", first.line)
    return Dependence(first.array, first.line, last.line, Hazard.OUTPUT, loop, None, proof)


def _between_threads(found: Dependence, first: Access, second: Access) -> Dependence:
    """The fact in program order: between threads neither comes first by itself."""
    hazard = _hazard(first, second)
    return Dependence(found.name, first.line, second.line, hazard, None, found.distance, found.proof)


def _hazard(first: Access, second: Access) -> Hazard:
    if first.mode is AccessMode.READ:
        return Hazard.ANTI
    return Hazard.FLOW if second.mode is AccessMode.READ else Hazard.OUTPUT

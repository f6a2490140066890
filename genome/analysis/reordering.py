"""Whether parts of loops may run in another order: what interchange, fission, fusion and jamming have to ask.

Every test is a proof that no two accesses of one element, one of them a write, change sides. Each function returns the
doubt that stands in the way, or None. Statements whose order matters beyond what they touch (barriers, atomics, text
that is not looked into, early exits) are refused as they are. Between threads no order is lost: what threads exchange
without a barrier is a race before the rewrite, too.
Source: Allen and Kennedy, "Optimizing Compilers for Modern Architectures", chapters 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import product

from genome.analysis.access import Access, AccessMode, MemorySpace, VariableKind
from genome.analysis.aliasing import aliases
from genome.analysis.collect import collect
from genome.analysis.effects import is_pure
from genome.analysis.meeting import Relation, Side, never_meet, side_of
from genome.analysis.proof import Proof, doubted
from genome.analysis.scope import make_scope
from genome.analysis.uniformity import Levels
from genome.ir.expr import Expr, Index, Member, Unary, Var, walk
from genome.ir.kernel import Kernel
from genome.ir.stmt import (
    Assign,
    Body,
    Decl,
    If,
    Loop,
    Space,
    Stmt,
    VectorLoad,
    VectorStore,
    expressions,
    flatten,
    used_names,
    writes,
    written_names,
)

_PLAIN = (Assign, Decl, If, Loop, VectorLoad, VectorStore)
_MOST = 120  # accesses of one array that are compared with each other

Blocked = Callable[[Side, Side], str]
"""Why the first access, which now comes first, may have to stay in front of the second one; empty if it need not."""


def fixed_order(body: Body) -> str:
    """Why statements of the body keep their order whatever they touch; empty where nothing of the kind is there."""
    for stmt in flatten(body):
        if not isinstance(stmt, _PLAIN) or (isinstance(stmt, Decl) and stmt.space is Space.SHARED):
            return "the loop holds a barrier, an exit, an atomic or a region that the engine does not see into"
        if not all(is_pure(expr) for expr in expressions(stmt)):
            return "the loop calls a function that may have an effect"
        if not all(_is_place(target) for target in writes(stmt)):
            return "the loop stores through a computed pointer"
        nodes = (node for expr in expressions(stmt) for node in walk(expr))
        if any(isinstance(node, Unary) and node.op in "*&" for node in nodes):
            return "the loop computes with pointers"
    return ""


def _is_place(target: Expr) -> bool:
    place = target.base if isinstance(target, Member) else target
    return isinstance(place, (Var, Index))


def outer_scalars(body: Body) -> tuple[str, ...]:
    """Scalars that the body writes and does not declare, fields of structs included."""
    inside = tuple(flatten(body))
    own = {stmt.name for stmt in inside if isinstance(stmt, Decl)}
    own |= {stmt.var for stmt in inside if isinstance(stmt, Loop)}
    elements = {target.base if isinstance(target, Member) else target for stmt in inside for target in writes(stmt)}
    arrays = {element.array for element in elements if isinstance(element, Index)}
    return tuple(name for name in written_names(body) if name not in own | arrays)


def handed_on(first: Body, second: Body) -> str:
    """A private value by which one part of a loop's body depends on the other; empty if there is none.

    What the first part declares, and scalars that one part writes and the other one uses, tie the two together.
    """
    declared = {stmt.name for stmt in flatten(first) if isinstance(stmt, Decl)}
    tied = (declared & used_names(second)) | (set(outer_scalars(first)) & used_names(second))
    tied |= set(outer_scalars(second)) & used_names(first)
    return min(tied, default="")


@lru_cache(maxsize=64)
def reordering(kernel: Kernel, no_alias: bool) -> Reordering:
    """What may be reordered in a kernel.

    Args:
        kernel: Before its mapping is written.
        no_alias: True if the campaign grants that pointer arguments do not overlap.
    """
    return Reordering(kernel, no_alias)


class Reordering:
    """The accesses of one kernel, and the questions asked of them."""

    def __init__(self, kernel: Kernel, no_alias: bool) -> None:
        self.kernel, self.no_alias = kernel, no_alias
        self.scope = make_scope(kernel)
        self._sides: dict[int, Side] = {}

    def interchange(self, outer: Loop, inner: Loop) -> Proof | None:
        """Whether two iterations (i, j) and (i', j') with i < i' and j > j' may touch one element."""
        same = self._same(outer.var)
        later, sooner = Relation(same, apart=outer.var), Relation(same, apart=inner.var)

        def blocked(first: Side, second: Side) -> str:
            return never_meet(first, second, later) and never_meet(second, first, sooner)

        inside = self._within(inner)
        return self._overlap(inside) or self._crossed(inside, inside, blocked, inner)

    def independent(self, loop: Loop) -> Proof | None:
        """Whether two different iterations of the loop may touch one element, arrays of its own body apart."""
        later = Relation(self._same(loop.var), apart=loop.var)
        inside = self._within(loop)
        return self._overlap(inside) or self._crossed(inside, inside, lambda a, b: never_meet(a, b, later), loop)

    def distributed(self, loop: Loop, at: int) -> Proof | None:
        """Whether the second part of an iteration's body may touch what the first part of a later one does.

        The second part begins at the statement ``at`` of the body. None says both that the loop may be split there, and
        that two loops that were joined there may stand as one.
        """
        later = Relation(self._same(loop.var), apart=loop.var)
        start, middle, end = self._positions(loop, at)
        inside = self._within(loop)
        first = [access for access in inside if start < access.statement < middle]
        second = [access for access in inside if middle <= access.statement < end]
        return self._overlap(inside) or self._crossed(second, first, lambda a, b: never_meet(a, b, later), loop)

    @cached_property
    def _accesses(self) -> tuple[Access, ...]:
        return collect(Levels(self.scope))

    def _within(self, loop: Loop) -> list[Access]:
        return [access for access in self._accesses if loop.var in access.loops]

    def _same(self, var: str) -> frozenset[str]:
        """What two iterations of the loop have in common: the thread, and the loops around."""
        places = {name for name, kind in self.scope.kinds.items() if kind is not VariableKind.LOOP}
        around = next((access.loops[: access.loops.index(var)] for access in self._accesses if var in access.loops), ())
        return frozenset(places | set(around))

    def _positions(self, loop: Loop, at: int) -> tuple[int, int, int]:
        """Positions, as accesses give them, of the loop, of the second part of its body and of its end."""
        statements = tuple(flatten(self.kernel.prologue + self.kernel.whole))
        start = next(n for n, stmt in enumerate(statements) if isinstance(stmt, Loop) and stmt.var == loop.var)
        return start, start + 1 + _count(loop.body[:at]), start + 1 + _count(loop.body)

    def _overlap(self, inside: Sequence[Access]) -> Proof | None:
        """A doubt that two arrays of the loop are apart."""
        found = (fact.distinct for fact in aliases(self.kernel, inside, self.no_alias))
        return next((proof for proof in found if not proof.holds), None)

    def _crossed(self, first: Sequence[Access], second: Sequence[Access], blocked: Blocked, loop: Loop) -> Proof | None:
        own = {stmt.name for stmt in flatten(loop.body) if isinstance(stmt, Decl)}
        for one, other in _groups(first, second):
            if len(one) * len(other) > _MOST**2:
                return doubted(f"{len(one)} accesses of {one[0].array} are not compared one by one", one[0].line)
            for a, b in product(one, other):
                if a.array in own or {a.mode, b.mode} == {AccessMode.READ}:
                    continue
                reason = blocked(self._side(a), self._side(b))
                if reason:
                    what = f"an iteration of {loop.var} may need what another one does to {a.array}"
                    return doubted(f"{what}: {reason}", b.line)
        return None

    def _side(self, access: Access) -> Side:
        key = id(access)
        if key not in self._sides:
            self._sides[key] = side_of(access, self.scope)
        return self._sides[key]


def _groups(first: Sequence[Access], second: Sequence[Access]) -> Iterator[tuple[list[Access], list[Access]]]:
    """Accesses of both parts that may meet, array by array; all together where one may point into any array."""
    anywhere = any(access.space is MemorySpace.UNKNOWN for access in (*first, *second))
    for key in dict.fromkeys("" if anywhere else access.array for access in first):
        one, other = ([a for a in part if anywhere or a.array == key] for part in (first, second))
        if other:
            yield one, other


def _count(body: Sequence[Stmt]) -> int:
    return sum(1 for _ in flatten(tuple(body)))

"""Divides the loops of a thread among the lanes that share its instance (a row a block, a row a warp).

    for j < C: s += x[r, j]        ->   part = 0;  for o: for v: part += x[r, (o * T + lane) * V + v];  rest;
                                        part = total over lanes;  s += part
    for j < C: y[r, j] = f(j, s)   ->   the same digits, nothing to combine
    straight-line code             ->   computed by all lanes; stores and atomics by lane 0

Values that all lanes hold stay equal in all of them: a reduction ends with its total everywhere. Where lanes exchange
elements through global memory a barrier is put in between. Barriers only stand at points that the whole block reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from genome.analysis.dependence import FissionError, fission
from genome.analysis.effects import is_pure
from genome.analysis.iterations import SharingError, independent
from genome.analysis.reductions import SUPPORTED, Reduction, accumulate_into
from genome.analysis.touches import Touches, touches
from genome.ir.expr import Binary, Expr, Select, Var, accesses, integer, names
from genome.ir.kernel import Condition, Kernel, Lanes
from genome.ir.poly import multiple_of, poly, simplify
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import head, map_stmts, substitute_body
from genome.ir.stmt import Assign, Barrier, Body, Decl, If, Loop, LoopRole, Opaque, Space, Stmt, flatten, written_names
from genome.transforms.group_reduce import Group, Partial, group_reduce
from genome.transforms.nests import NameSource
from genome.transforms.strip import granted, renamed, signed_range


@dataclass(frozen=True)
class Shared:
    """A body for all lanes of an instance, the shared arrays that it needs, and what it relies on."""

    body: Body
    arrays: tuple[Decl, ...]
    conditions: tuple[Condition, ...]


def share(kernel: Kernel, lanes: Lanes, lane: str, group: Group) -> Shared:
    """The kernel's body, divided among the lanes.

    Args:
        kernel: With its mapping still open.
        lanes: How loops are divided.
        lane: Variable with the number of the lane.
        group: The lanes of an instance.

    Raises:
        SharingError: If no loop can be shared, or sharing one would change the result.
    """
    return _Sharer(kernel, lanes, lane, group).run()


class _Sharer:
    def __init__(self, kernel: Kernel, lanes: Lanes, lane: str, group: Group) -> None:
        self.kernel, self.lanes, self.lane, self.group = kernel, lanes, lane, group
        self.types = name_types(kernel)
        self.pointers = frozenset(param.name for param in kernel.params if param.pointer)
        self.scalars = frozenset(p.name for p in kernel.params if not p.pointer) - set(written_names(kernel.body))
        self.source = NameSource(kernel)
        self.source.fresh(lane)
        self.arrays: list[Decl] = []
        self.conditions: dict[Condition, None] = {}
        self.pending = Touches()
        self.shared_loops = 0
        self.why = SharingError("there is no loop whose iterations could be shared")

    def run(self) -> Shared:
        if self.kernel.shared or any(_refused(stmt) for stmt in flatten(self.kernel.body)):
            raise SharingError("the body holds a barrier, shared memory or a region that the engine does not see into")
        body = self._body(self.kernel.body, frozenset(), again=False)
        if not self.shared_loops:
            raise self.why
        return Shared(body, tuple(self.arrays), tuple(self.conditions))

    # ---- control

    def _body(self, body: Body, counters: frozenset[str], again: bool) -> Body:
        """The body for all lanes, inside uniform loops over ``counters``; ``again`` if it runs repeatedly."""
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Loop):
                result += self._loop(stmt, counters, again)
            elif isinstance(stmt, If) and self._holds_shareable(stmt) and self._uniform(stmt.condition, counters):
                before = self.pending
                then = self._body(stmt.then, counters, again)
                after, self.pending = self.pending, before
                orelse = self._body(stmt.orelse, counters, again)
                self.pending = self.pending | after
                result.append(If(stmt.condition, then, orelse))
            else:
                result += self._by_one(stmt)
        return tuple(result)

    def _loop(self, loop: Loop, counters: frozenset[str], again: bool) -> Body:
        try:
            reductions, conditions = self._plan(loop)
        except SharingError as error:
            if not self.shared_loops:
                self.why = error
        else:
            self.conditions.update(dict.fromkeys(conditions))
            return self._share_loop(loop, reductions, again)
        bounds = self._uniform(loop.lower, counters) and self._uniform(loop.upper, counters)
        if bounds and self._holds_shareable(loop):
            exchanged, before = bool(touches(loop.body, self.pointers).written), self.pending
            inner = self._body(loop.body, counters | {loop.var}, again=not exchanged)
            if exchanged:
                inner = (*inner, Barrier())  # the next iteration may read what other lanes wrote in this one
                self.pending = Touches()
            if not loop.trip:
                self.pending = self.pending | before  # its barriers do not stand where it never runs
            return (replace(loop, body=inner),)
        return self._by_one(loop)

    def _holds_shareable(self, stmt: Stmt) -> bool:
        for inner in flatten((stmt,)):
            if isinstance(inner, Loop) and inner is not stmt:
                try:
                    self._plan(inner)
                    return True
                except SharingError:
                    continue
        return False

    def _uniform(self, expr: Expr, counters: frozenset[str]) -> bool:
        """True if the value is the same in the whole block wherever it stands."""
        return set(names(expr)) <= self.scalars | counters and is_pure(expr) and not any(accesses(expr))

    # ---- straight-line code

    def _by_one(self, stmt: Stmt) -> Body:
        """Computed by all lanes; what changes memory is done by lane 0."""
        inside = list(flatten((stmt,)))
        for number, first in enumerate(inside):
            mine = touches((head(first),), self.pointers)
            for second in inside[number + 1 :]:
                if mine.exchanges(touches((head(second),), self.pointers), self.lanes.no_alias):
                    raise SharingError("elements are written and read again within one statement", self._alias_grant())
        done: list[Stmt] = []
        self._separate(touches((stmt,), self.pointers), done)
        return (*done, *map_stmts((stmt,), self._guard))

    def _guard(self, stmt: Stmt) -> Body:
        if stmt.inside or not touches((stmt,), self.pointers).written:
            return (stmt,)
        if isinstance(stmt, Decl):
            raise SharingError(f"{stmt.name} takes the result of an atomic")
        return (If(Binary("==", Var(self.lane), integer(0)), (stmt,)),)

    def _separate(self, mine: Touches, result: list[Stmt]) -> None:
        """Puts a barrier in front where other lanes may have touched what comes now."""
        if self.pending.conflicts(mine, self.lanes.no_alias):
            result.append(Barrier())
            self.pending = Touches()
        self.pending = self.pending | mine

    def _alias_grant(self) -> str:
        return "" if self.lanes.no_alias else "assume.no_alias"

    # ---- shared loops

    def _plan(self, loop: Loop) -> tuple[tuple[Reduction, ...], tuple[Condition, ...]]:
        """The reductions of a loop whose iterations are independent but for them, and what that relies on."""
        if loop.trip is not None and loop.trip < self.lanes.threads:
            raise SharingError(f"the loop over {loop.var} has only {loop.trip} iterations")
        free = independent(loop, self.pointers, self.scalars, self.lanes.no_alias, self.types)
        for reduction in free.reductions:
            ctype = self.types.get(reduction.name, "")
            if ctype not in SUPPORTED:
                raise SharingError(f"{reduction.name} of type {ctype or 'unknown'} cannot be exchanged")
            if self.lanes.exact and not reduction.exact(ctype):
                raise SharingError(f"the sum in {reduction.name} would be reordered", "assume.reassociation")
        return free.reductions, free.conditions

    def _share_loop(self, loop: Loop, reductions: Sequence[Reduction], again: bool) -> Body:
        self.shared_loops += 1
        result: list[Stmt] = []
        self._separate(touches((loop,), self.pointers), result)
        parts: list[Partial] = []
        for reduction in reductions:
            ctype = self.types[reduction.name]
            part = Partial(self.source.fresh(f"{reduction.name}_part"), ctype, reduction)
            parts.append(part)
            result.append(Decl(part.name, ctype, init=reduction.identity(ctype)))
        body = accumulate_into(loop.body, reductions, {part.reduction.name: part.name for part in parts})
        result += self._divided(replace(loop, body=body), frozenset(part.name for part in parts))
        arrays, combine = group_reduce(replace(self.group, reused=again), parts, self.source.fresh)
        self.arrays += arrays
        result += combine
        if any(isinstance(stmt, Barrier) for stmt in combine):
            self.pending = Touches()
        for part in parts:
            scalar, total = Var(part.reduction.name), Var(part.name)
            done = part.reduction.idempotent
            result.append(Assign(scalar, total) if done else part.reduction.combine(scalar, total))
        return tuple(result)

    def _divided(self, loop: Loop, parts: frozenset[str]) -> Body:
        """Whole rounds of all lanes with ``inner`` adjacent iterations each, then what is left over."""
        inner, width = self.lanes.inner, self.lanes.threads * self.lanes.inner
        high = loop.upper
        start, head = self._aligned_start(loop)
        extent = poly(high) - poly(start)
        divides = multiple_of(extent, dict(self.kernel.multiples)) % width == 0
        rounds = self._rounds(loop, start, width)
        outer, element = self.source.fresh(f"{loop.var}_outer"), self.source.fresh(f"{loop.var}_inner")
        index = poly(start) + poly(Var(outer)).scaled(width) + poly(Var(self.lane)).scaled(inner)
        if inner > 1:
            index += poly(Var(element))
        body = substitute_body(loop.body, {loop.var: index.to_expr()})
        if inner > 1:
            lane_loop = Loop(element, integer(0), integer(inner), (), role=LoopRole.INSTANCE, unroll=0)
            try:
                body = fission(body, (lane_loop,), accumulators=parts)
            except FissionError as error:
                raise SharingError(str(error)) from error
        main = Loop(outer, integer(0), rounds, body, ctype=loop.ctype, origin=loop.var)
        if divides:
            self.conditions.update(dict.fromkeys(granted(extent, width, self.kernel)))
            return (*head, main)
        first = poly(start) + poly(Binary("*", rounds, integer(width))) + poly(Var(self.lane))
        return (*head, main, self._strided(loop, loop.var, first.to_expr(), high, "rest"))

    def _aligned_start(self, loop: Loop) -> tuple[Expr, Body]:
        """(where whole rounds start, the iterations in front of it): a multiple of ``inner`` for a constant bound."""
        constant, inner = poly(loop.lower).constant, self.lanes.inner
        if constant is None or constant % inner == 0:
            return loop.lower, ()
        start = integer(-(-constant // inner) * inner)
        ending = Select(Binary("<", loop.upper, start), loop.upper, start)
        first = Binary("+", loop.lower, Var(self.lane))
        return start, (self._strided(loop, self.source.fresh(f"{loop.var}_head"), first, ending, "head"),)

    def _strided(self, loop: Loop, var: str, lower: Expr, upper: Expr, suffix: str) -> Loop:
        body = substitute_body(renamed(loop.body, self.source.fresh, suffix), {loop.var: Var(var)})
        part = replace(loop, var=var, lower=lower, upper=upper, body=body, step=self.lanes.threads)
        return replace(part, role=LoopRole.REMAINDER, origin=loop.var)

    def _rounds(self, loop: Loop, start: Expr, width: int) -> Expr:
        extent = poly(loop.upper) - poly(start)
        if extent.constant is not None:
            return integer(max(0, extent.constant) // width)
        whole = Binary("/", simplify(Binary("-", loop.upper, start)), integer(width))
        if poly(start).constant == 0:
            return whole
        signed = signed_range(replace(loop, lower=start), self.types)
        # A difference of unsigned bounds would wrap around where the loop is empty.
        return whole if signed else Select(Binary("<", start, loop.upper), whole, integer(0))


def _refused(stmt: Stmt) -> bool:
    return isinstance(stmt, (Barrier, Opaque)) or (isinstance(stmt, Decl) and stmt.space is Space.SHARED)

"""Bytes and floating-point operations of one thread, as expressions of sizes and loop trips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from genome.analysis.access import MemorySpace
from genome.analysis.count import Count, whole
from genome.analysis.facts import Work
from genome.analysis.proof import Proof, doubted, proven
from genome.analysis.scope import Scope
from genome.analysis.trips import UNCOUNTED, summed, trips_of, unknown_turns
from genome.ir.expr import Binary, Call, Expr, Index, Member, Select, Unary, children
from genome.ir.halves import RESULTS as CONVERSIONS
from genome.ir.kernel import AtLeast
from genome.ir.print_functions import ATOMICS, PURE
from genome.ir.stmt import Assign, Body, If, Loop, Opaque, Repeat, Stmt, VectorLoad, VectorStore, expressions
from genome.ir.type_sizes import size_of
from genome.ir.types import FLOAT_TYPES, infer

_ARITHMETIC = frozenset("+-*/")
_FUSED = frozenset({"fma", "fmaf", "__fmaf_rn", "__fma_rn", "__hfma"})


@dataclass(frozen=True)
class Cost:
    """Bytes read and written in global memory, and floating-point operations."""

    read: Count = field(default_factory=Count)
    written: Count = field(default_factory=Count)
    flops: Count = field(default_factory=Count)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.read + other.read, self.written + other.written, self.flops + other.flops)


FREE = Cost()


def work_of(scope: Scope) -> Work:
    """What one thread inside the axes' bounds moves and computes, as the kernel is written.

    ``+ - * /`` on floating-point numbers count one operation each, so do compound assignments, calls of mathematical
    functions and atomic sums; a fused multiply-add counts two. Subscripts, comparisons, signs and conversions are free.
    """
    counter = _Counter(scope)
    cost = counter.body(scope.kernel.prologue + scope.kernel.whole)
    if scope.kernel.verbatim and not scope.kernel.body:
        counter.doubts.append(doubted("the kernel stays text"))
    valid = tuple(dict.fromkeys(counter.valid))
    exact = proven("every statement runs a known number of times")
    unseen = counter.unseen[0] if counter.unseen else ""
    return Work(cost.read, cost.written, cost.flops, valid, counter.doubts[0] if counter.doubts else exact, unseen)


class _Counter:
    """Costs of statements; notes on the way what makes them inexact.

    Attributes:
        doubts: Why the counts may be too high, or unknown, in program order.
        unseen: Those of them for which something is not counted at all.
        valid: Conditions under which the counts are exact otherwise.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.doubts: list[Proof] = []
        self.unseen: list[str] = []
        self.valid: list[AtLeast] = []
        self.line = 0

    def body(self, body: Body) -> Cost:
        """The statements once."""
        return self._sum([self._stmt(stmt) for stmt in body])

    def _sum(self, costs: Sequence[Cost]) -> Cost:
        dear = [cost for cost in costs if cost is not FREE]
        return sum(dear[1:], dear[0]) if dear else FREE

    def _stmt(self, stmt: Stmt) -> Cost:
        self.line = stmt.line
        match stmt:
            case Loop():
                return self._loop(stmt)
            case Repeat():
                return self._repeat(stmt)
            case If(condition=condition, then=then, orelse=orelse):
                own = self._expr(condition)
                return own + self._either(self.body(then), self.body(orelse), stmt.line)
            case Assign(target=target, value=value, op=op):
                combined = Binary(op[:-1], target, value) if op != "=" else None
                cost = self._expr(value) + self._store(target, 1, combined is not None)
                return cost + Cost(flops=whole(1)) if combined is not None and self._counts(combined) else cost
            case VectorLoad(targets=targets, source=source):
                return self._load(source, len(targets)) + self._sum([self._store(t, 1, False) for t in targets])
            case VectorStore(target=target, values=values):
                return self._store(target, len(values), False) + self._sum([self._expr(value) for value in values])
            case Opaque():
                self._doubt("text is not looked into")
                return FREE
        return self._sum([self._expr(expr) for expr in expressions(stmt)])

    def _loop(self, stmt: Loop) -> Cost:
        start, test = self._expr(stmt.lower), self._expr(stmt.upper)
        inside = self.body(stmt.body) + test
        if inside == FREE:
            return start
        trips = trips_of(stmt, self.scope)
        if trips.doubt:
            self.doubts.append(doubted(trips.doubt, stmt.line))
        self.valid.extend(trips.valid)
        parts = [summed(part, stmt, self.scope) for part in (inside.read, inside.written, inside.flops)]
        return start + test + Cost(*parts)

    def _repeat(self, stmt: Repeat) -> Cost:
        before = len(self.doubts)
        inside = self.body(stmt.body)
        if inside == FREE:
            return FREE
        self.doubts.insert(before, doubted(UNCOUNTED, stmt.line))
        turns = unknown_turns(stmt)
        return Cost(inside.read * turns, inside.written * turns, inside.flops * turns)

    def _either(self, one: Cost, other: Cost, line: int) -> Cost:
        """The cost of one of two paths: the larger one, or both where sizes decide which that is."""
        if one == other:
            return one
        self.doubts.append(doubted("it depends on a condition; the dearer path is counted", line))
        return Cost(_larger(one.read, other.read), _larger(one.written, other.written), _larger(one.flops, other.flops))

    # ---- expressions

    def _expr(self, expr: Expr) -> Cost:
        match expr:
            case Index():
                return self._load(expr, 1)
            case Member(Index() as element, _):
                return self._load(element, 1, expr)
            case Select(condition, then, other):
                return self._expr(condition) + self._either(self._expr(then), self._expr(other), self.line)
            case Binary("&&" | "||", left, right):
                return self._expr(left) + self._either(self._expr(right), FREE, self.line)
            case Call(function, args) if function in ATOMICS:
                return self._atomic(args)
            case Call():
                return self._call(expr)
            case Unary("&", Index(_, subscripts)):
                return self._sum([self._expr(part) for part in subscripts])
        inside = self._sum([self._expr(child) for child in children(expr)])
        return inside + Cost(flops=whole(1)) if isinstance(expr, Binary) and self._counts(expr) else inside

    def _call(self, call: Call) -> Cost:
        inside = self._sum([self._expr(arg) for arg in call.args])
        if call.function not in PURE:
            self._doubt(f"{call.function} is not looked into")
            return inside
        if call.function in CONVERSIONS:
            return inside
        return inside + Cost(flops=whole(2 if call.function in _FUSED else 1)) if self._floating(call) else inside

    def _atomic(self, args: Sequence[Expr]) -> Cost:
        inside = self._sum([self._expr(arg) for arg in args])
        target = args[0].operand if isinstance(args[0], Unary) else args[0]
        moved = self._bytes(target, target) if isinstance(target, Index) else FREE
        return inside + Cost(moved.read, moved.read, whole(int(self._floating(target))))

    def _store(self, target: Expr, width: int, compound: bool) -> Cost:
        place = target.base if isinstance(target, Member) else target
        cost = FREE
        if isinstance(place, Index):
            moved = self._bytes(place, target)
            cost = self._sum([self._expr(part) for part in place.subscripts])
            cost += Cost(moved.read if compound else Count(), moved.read * whole(width))
        return cost

    def _load(self, element: Index, width: int, part: Expr | None = None) -> Cost:
        moved = self._bytes(element, part or element)
        inside = self._sum([self._expr(subscript) for subscript in element.subscripts])
        return inside + Cost(moved.read * whole(width))

    def _bytes(self, element: Index, touched: Expr) -> Cost:
        """What reading the element, or the part of it that is touched, moves."""
        space = self.scope.spaces.get(element.array, MemorySpace.FILE)
        if space is MemorySpace.UNKNOWN:
            self._doubt(f"{element.array} may lie in any memory")
        if space is not MemorySpace.GLOBAL:
            return FREE
        size = size_of(infer(touched, self.scope.types))
        if not size:
            self._doubt(f"the element type of {element.array} is not known")
        return Cost(whole(size))

    def _counts(self, expr: Binary) -> bool:
        """True if the operator is one of floating-point arithmetic: one operand of such a type is enough."""
        if expr.op not in _ARITHMETIC:
            return False
        sides = (infer(side, self.scope.types) for side in (expr.left, expr.right))
        return any(side in FLOAT_TYPES for side in sides) or self._floating(expr)

    def _floating(self, expr: Expr) -> bool:
        kind = infer(expr, self.scope.types)
        if not kind:
            self._doubt("the type of an expression is not known")
        return kind in FLOAT_TYPES

    def _doubt(self, reason: str) -> None:
        self.doubts.append(doubted(reason, self.line))
        self.unseen.append(reason)


def _larger(one: Count, other: Count) -> Count:
    """The larger of two counts; their sum where that depends on sizes."""
    difference = (one + other * whole(-1)).numerator
    if all(value >= 0 for _, value in difference.terms):
        return one
    return other if all(value <= 0 for _, value in difference.terms) else one + other

"""Where values come from: the array elements that reach an expression, directly or through accumulators.

An accumulator is a scalar, or an array element, that loops only combine with new values (``s += e``, ``s = max(s, e)``,
``c[i] += e`` where ``i`` does not depend on the loop). Conditions are not followed: they steer, they do not flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from genome.analysis.access import Access, AccessMode
from genome.analysis.reductions import NotAReduction, find_reductions
from genome.analysis.scope import Scope
from genome.ir.expr import Binary, Call, Cast, Expr, Index, Unary, Var, children, walk
from genome.ir.stmt import Assign, Body, Decl, If, Loop, Stmt

_ADDS = frozenset({"+=", "-="})
_COMBINES = frozenset({"+=", "-=", "*=", "&=", "|=", "^="})
_FUSED = frozenset({"fma", "fmaf", "__fmaf_rn"})


@dataclass(frozen=True)
class Accumulator:
    """One place where a value is combined into.

    Attributes:
        name: The scalar or array.
        loops: Variables of the loops that carry it, outermost first.
        line: Where it is combined.
        statement: Position of that statement.
        value: What is combined into it.
        adds: True for sums.
    """

    name: str
    loops: tuple[str, ...]
    line: int
    statement: int
    value: Expr
    adds: bool


@dataclass(frozen=True)
class Sources:
    """What reaches an expression.

    Attributes:
        reads: Positions of the accesses that reach it without being accumulated on the way.
        accumulators: Positions of the accumulators whose result reaches it.
    """

    reads: frozenset[int] = frozenset()
    accumulators: frozenset[int] = frozenset()


class Flow:
    """The flow of values through the locals of a kernel, grown until nothing is added.

    Attributes:
        accesses: Accesses of the kernel in program order.
        statements: Statements by their position in ``flatten`` of prologue and body.
        accumulators: In program order.
    """

    def __init__(self, scope: Scope, accesses: tuple[Access, ...]) -> None:
        self.scope, self.accesses = scope, accesses
        self._reads = {(access.statement, access.array, access.subscripts): position
                       for position, access in enumerate(accesses) if access.mode is AccessMode.READ}  # fmt: skip
        self._at: dict[str, list[tuple[int, Expr]]] = {}
        statements = tuple(_visited(scope.kernel.prologue + scope.kernel.whole, ()))
        self.statements: Mapping[int, Stmt] = {position: stmt for position, (stmt, _) in enumerate(statements)}
        self._homes = {stmt.name: loops for stmt, loops in statements if isinstance(stmt, Decl)}
        self.accumulators = tuple(self._accumulators(statements, accesses))
        self._accumulated: dict[str, list[int]] = {}
        for position, accumulator in enumerate(self.accumulators):
            self._accumulated.setdefault(accumulator.name, []).append(position)
        self._define(statements)
        self._reach = self._closed()

    def of(self, expr: Expr, statement: int) -> Sources:
        """What reaches an expression of the statement at that position."""
        return self._of(expr, statement)

    def inputs(self, accumulator: Accumulator) -> Sources:
        """What reaches the values that are combined into an accumulator."""
        return self._of(accumulator.value, accumulator.statement, accumulator.name)

    def products(self, accumulator: Accumulator) -> Iterator[tuple[Sources, ...]]:
        """The factors of each product among the terms that a sum takes up, locals looked through."""
        yield from self._products(accumulator.value, accumulator.statement, frozenset((accumulator.name,)))

    def moved(self, expr: Expr, statement: int) -> Access | None:
        """The element whose value the expression has unchanged, or None."""
        seen: set[str] = set()
        while isinstance(expr, Cast | Var):
            if isinstance(expr, Cast):
                expr = expr.operand
                continue
            if len(self._at.get(expr.name, ())) != 1 or expr.name in self._accumulated or expr.name in seen:
                return None
            seen.add(expr.name)
            statement, expr = self._at[expr.name][0]
        read = self._reads.get((statement, expr.array, expr.subscripts)) if isinstance(expr, Index) else None
        return None if read is None else self.accesses[read]

    # ---- growing

    def _define(self, statements: tuple[tuple[Stmt, tuple[str, ...]], ...]) -> None:
        combined = {accumulator.statement for accumulator in self.accumulators}
        for position, (stmt, _) in enumerate(statements):
            if position in combined:
                continue
            if isinstance(stmt, Decl) and stmt.init is not None and not stmt.dims:
                self._at.setdefault(stmt.name, []).append((position, stmt.init))
            elif isinstance(stmt, Assign):
                name = _local_name(stmt.target)
                if name:
                    value = stmt.value if stmt.op == "=" else Binary(stmt.op[:-1], stmt.target, stmt.value)
                    self._at.setdefault(name, []).append((position, value))

    def _of(self, expr: Expr, statement: int, but: str = "") -> Sources:
        """What reaches an expression, the value of one name left out."""
        own, names = self._direct(expr, statement)
        for name in names:
            if name != but:
                own |= self._reach.get(name, 0)
        found = [position for position in range(own.bit_length()) if own >> position & 1]
        count = len(self.accesses)
        return Sources(frozenset(position for position in found if position < count),
                       frozenset(position - count for position in found if position >= count))  # fmt: skip

    def _direct(self, expr: Expr, statement: int) -> tuple[int, list[str]]:
        """The reads of an expression itself, as bits of a number, and the names that it takes values from."""
        reads = 0
        names: list[str] = []
        for node in _leaves(expr):
            if isinstance(node, Index):
                read = self._reads.get((statement, node.array, node.subscripts))
                reads |= 0 if read is None else 1 << read
            if not isinstance(node, Index) or self.scope.dims.get(node.array):
                names.append(_local_name(node))
        return reads, names

    def _closed(self) -> dict[str, int]:
        """What reaches each name: bits of accesses, and above them bits of accumulators; grown until nothing is added.

        A kernel may have a thousand names that flow into each other, so that following each by itself would take long.
        """
        count = len(self.accesses)
        reach = {name: sum(1 << count + position for position in found) for name, found in self._accumulated.items()}
        steps: list[tuple[str, list[str]]] = []
        for name, definitions in self._at.items():
            for position, value in definitions:
                own, names = self._direct(value, position)
                reach[name] = reach.get(name, 0) | own
                steps.append((name, names))
        changed = True
        while changed:
            changed = False
            for name, names in steps:
                total = reach.get(name, 0)
                for other in names:
                    total |= reach.get(other, 0)
                changed = changed or total != reach.get(name, 0)
                reach[name] = total
        return reach

    def _products(self, expr: Expr, statement: int, seen: frozenset[str]) -> Iterator[tuple[Sources, ...]]:
        match expr:
            case Binary("+" | "-", left, right):
                yield from self._products(left, statement, seen)
                yield from self._products(right, statement, seen)
            case Unary("-" | "+", operand) | Cast(_, operand):
                yield from self._products(operand, statement, seen)
            case Binary("*"):
                yield tuple(self.of(factor, statement) for factor in factors_of(expr))
            case Call(function, (left, right, last)) if function in _FUSED:
                yield tuple(self.of(factor, statement) for factor in (*factors_of(left), *factors_of(right)))
                yield from self._products(last, statement, seen)
            case Var(name) if name not in seen and len(self._at.get(name, ())) == 1:
                position, value = self._at[name][0]
                yield from self._products(value, position, seen | {name})

    # ---- accumulators

    def _accumulators(
        self, statements: tuple[tuple[Stmt, tuple[str, ...]], ...], accesses: tuple[Access, ...]
    ) -> Iterator[Accumulator]:
        written = {a.statement: a for a in accesses if a.mode is AccessMode.WRITE}
        for position, (stmt, loops) in enumerate(statements):
            if isinstance(stmt, Assign) and isinstance(stmt.target, Index):
                found = self._in_memory(stmt, written.get(position), position, loops)
            else:
                found = self._scalar(stmt, position, loops)
            if found is not None:
                yield found

    def _scalar(self, stmt: Stmt, position: int, loops: tuple[str, ...]) -> Accumulator | None:
        inner = stmt.then[0] if isinstance(stmt, If) and len(stmt.then) == 1 and not stmt.orelse else stmt
        if not isinstance(inner, Assign) or not isinstance(inner.target, Var):
            return None
        name = inner.target.name
        carried = loops[len(self._homes.get(name, ())) :]
        try:
            reductions = find_reductions((stmt,), (name,), {}) if carried else ()  # shape alone, types aside
        except NotAReduction:
            return None
        if not reductions or (isinstance(stmt, If) and inner.op != "="):
            return None
        adds = reductions[0].operator == "+"
        return Accumulator(name, carried, inner.line, position + (inner is not stmt), inner.value, adds)

    def _in_memory(
        self, stmt: Assign, access: Access | None, position: int, loops: tuple[str, ...]
    ) -> Accumulator | None:
        if access is None or access.form is None or not isinstance(stmt.target, Index):
            return None
        target = stmt.target
        adds = stmt.op in _ADDS
        value = stmt.value
        if stmt.op not in _COMBINES:
            if not (isinstance(value, Binary) and value.op == "+" and target in (value.left, value.right)):
                return None
            value, adds = value.right if value.left == target else value.left, True
        moving = {term.variable for term in access.form.terms}
        carried = tuple(loop for loop in loops if loop not in moving)
        if not carried or any(node == target for node in walk(value)):
            return None
        return Accumulator(target.array, carried, stmt.line, position, value, adds)


def _visited(body: Body, loops: tuple[str, ...]) -> Iterator[tuple[Stmt, tuple[str, ...]]]:
    """Statements in the order of ``flatten``, each with the variables of the loops around it."""
    for stmt in body:
        yield stmt, loops
        if isinstance(stmt, Loop):
            yield from _visited(stmt.body, (*loops, stmt.var))
        elif stmt.inside:
            yield from _visited(stmt.inside, loops)


def _local_name(target: Expr) -> str:
    """Name of the variable or array that is set."""
    return target.name if isinstance(target, Var) else target.array if isinstance(target, Index) else ""


@lru_cache(maxsize=16384)
def _leaves(expr: Expr) -> tuple[Expr, ...]:
    """Variables and array elements whose values make up the expression; what names the elements is left out."""
    if isinstance(expr, Var | Index):
        return (expr,)
    return tuple(dict.fromkeys(leaf for child in children(expr) for leaf in _leaves(child)))


def factors_of(expr: Expr) -> tuple[Expr, ...]:
    """The factors of a product, signs and casts left out; the expression itself where it is none."""
    match expr:
        case Binary("*", left, right):
            return (*factors_of(left), *factors_of(right))
        case Unary("-" | "+", operand) | Cast(_, operand):
            return factors_of(operand)
    return (expr,)

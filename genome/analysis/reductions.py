"""Recognised reductions: scalars that a loop only ever combines with new values, so that its order is free.

Recognised forms, ``e`` free of ``s``: ``s += e``, ``s -= e``, ``s *= e``, ``s &= e`` (``|``, ``^``); the same written
out, in sums of several terms as well; ``s = fmaxf(s, e)`` and its kin; ``fmaf(a, b, s)``; ``if (e > s) s = e;`` and
``s = e > s ? e : s``. They may stand under conditions and in inner loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genome.ir.expr import Binary, Call, Const, Expr, Select, Unary, Var, names, substitute
from genome.ir.halves import HALVES
from genome.ir.rewrite_stmt import map_exprs, map_stmts
from genome.ir.stmt import Assign, Body, Decl, If, Loop, Stmt, expressions, flatten
from genome.ir.types import FLOAT_TYPES, INTEGER_TYPES, infer, join

_COMPOUND = {"+=": "+", "-=": "+", "*=": "*", "&=": "&", "|=": "|", "^=": "^"}
_EXTREME = {"fmaxf": "max", "fmax": "max", "max": "max", "fminf": "min", "fmin": "min", "min": "min"}
_IDENTITY = {"+": "0", "*": "1", "|": "0", "^": "0"}
_FUSED = ("fmaf", "fma", "__fmaf_rn")


class NotAReduction(Exception):
    """A scalar is carried from one iteration to the next in a way that fixes their order; the message says how."""


@dataclass(frozen=True)
class Reduction:
    """How one scalar is combined.

    Attributes:
        name: The scalar.
        operator: ``+ * & | ^``, ``max`` or ``min``.
        function: The call that computes a maximum or minimum; empty for a comparison.
        takes_nan: True for a comparison that takes what is not known to be smaller (larger): what is no number, too,
            and the next value instead of that, so that the order shows.
    """

    name: str
    operator: str
    function: str = ""
    takes_nan: bool = False

    @property
    def idempotent(self) -> bool:
        """True if combining a value twice changes nothing: partial results may start from the scalar's own value."""
        return self.operator in ("max", "min", "&", "|")

    def exact(self, ctype: str) -> bool:
        """True if the order of combination cannot change the result."""
        return (self.operator in ("max", "min") and not self.takes_nan) or ctype in INTEGER_TYPES

    def identity(self, ctype: str) -> Expr:
        """What a partial result starts from."""
        if self.idempotent:
            return Var(self.name)
        text = _IDENTITY[self.operator]
        return Const({"float": f"{text}.0f", "double": f"{text}.0"}.get(ctype, text))

    def combine(self, target: Expr, value: Expr) -> Stmt:
        """The statement that combines a value into a target."""
        if self.function:
            return Assign(target, Call(self.function, (target, value)))
        if self.operator in ("max", "min"):
            better = Binary(">" if self.operator == "max" else "<", value, target)
            return Assign(target, Select(better, value, target))
        return Assign(target, value, f"{self.operator}=")


SUPPORTED = frozenset({"int", "unsigned int", "long long", "unsigned long long"} | (FLOAT_TYPES - HALVES))
"""Types that can be exchanged between the threads of a block."""


def find_reductions(body: Body, carried: Sequence[str], types: Mapping[str, str]) -> tuple[Reduction, ...]:
    """The reductions of a loop body into the scalars ``carried`` that it writes and does not declare.

    Args:
        body: The body.
        carried: The scalars.
        types: Canonical type of every name.

    Raises:
        NotAReduction: If one of them is used in another way.
    """
    wanted = frozenset(carried)
    found: dict[str, Reduction] = {}
    _scan(body, wanted, found, types)
    return tuple(found[name] for name in carried)


def _scan(body: Body, wanted: frozenset[str], found: dict[str, Reduction], types: Mapping[str, str]) -> None:
    for stmt in body:
        update = _update(stmt, wanted)
        if update is not None:
            reduction, used = update
            known = found.setdefault(reduction.name, reduction)
            if known != reduction:
                raise NotAReduction(f"{reduction.name} is combined in two different ways")
            _refuse(used, wanted)
            _refuse_conversion(reduction, used, types)
            continue
        _refuse(expressions(stmt), wanted)
        _scan(stmt.inside, wanted, found, types)


def _refuse_conversion(reduction: Reduction, used: Sequence[Expr], types: Mapping[str, str]) -> None:
    """An integer that takes up numbers of floating point is truncated in every iteration; an extreme of mixed integer
    types is compared in another type than it is kept in.
    """
    ctype = types.get(reduction.name, "")
    if ctype not in INTEGER_TYPES:
        return
    for value in used:
        kind = infer(value, types)
        if kind not in INTEGER_TYPES or (reduction.operator in ("max", "min") and join(ctype, kind) != ctype):
            shown = f"values of type {kind}" if kind else "values of unknown type"
            raise NotAReduction(f"{reduction.name} of type {ctype} takes up {shown}: every iteration converts it")


def _refuse(used: Sequence[Expr], wanted: frozenset[str]) -> None:
    for expr in used:
        for name in names(expr):
            if name in wanted:
                raise NotAReduction(f"{name} is carried from one iteration to the next")


def _update(stmt: Stmt, wanted: frozenset[str]) -> tuple[Reduction, tuple[Expr, ...]] | None:
    """(the reduction, what it combines) if the statement is a recognised update of one of the scalars."""
    if isinstance(stmt, If):
        return _conditional(stmt, wanted)
    if not isinstance(stmt, Assign) or not isinstance(stmt.target, Var) or stmt.target.name not in wanted:
        return None
    name = stmt.target.name
    if stmt.op in _COMPOUND:
        return Reduction(name, _COMPOUND[stmt.op]), (stmt.value,)
    return _written_out(name, stmt.value) if stmt.op == "=" else None


def _written_out(name: str, value: Expr) -> tuple[Reduction, tuple[Expr, ...]] | None:
    scalar = Var(name)
    match value:
        case Call(function, (left, right)) if function in _EXTREME and scalar in (left, right):
            return Reduction(name, _EXTREME[function], function), (right if left == scalar else left,)
        case Call(function, (left, right, last)) if function in _FUSED and last == scalar:
            return Reduction(name, "+"), (left, right)
        case Binary("*" | "&" | "|" | "^" as op, left, right) if scalar in (left, right):
            return Reduction(name, op), (right if left == scalar else left,)
        case Binary("+" | "-"):
            rest = _without(name, value)
            return None if rest is None else (Reduction(name, "+"), (rest,))
        case Select(Binary(op, left, right), then, other) if scalar in (then, other):
            new = other if then == scalar else then
            kind = _comparison(op, left, right, scalar, new, then == scalar)
            return None if kind is None else (Reduction(name, kind, takes_nan=then == scalar), (new,))
    return None


def _conditional(stmt: If, wanted: frozenset[str]) -> tuple[Reduction, tuple[Expr, ...]] | None:
    """``if (e > s) s = e;``."""
    if stmt.orelse or len(stmt.then) != 1 or not isinstance(stmt.condition, Binary):
        return None
    inner = stmt.then[0]
    if not isinstance(inner, Assign) or inner.op != "=" or not isinstance(inner.target, Var):
        return None
    if inner.target.name not in wanted:
        return None
    condition = stmt.condition
    kind = _comparison(condition.op, condition.left, condition.right, inner.target, inner.value, False)
    return None if kind is None else (Reduction(inner.target.name, kind), (inner.value,))


def _comparison(op: str, left: Expr, right: Expr, scalar: Expr, new: Expr, keeps: bool) -> str | None:
    """``max`` if the comparison takes the new value when it is larger (``keeps``: keeps the old one if it holds)."""
    if op not in ("<", ">", "<=", ">=") or {left, right} != {scalar, new} or left == right:
        return None
    new_larger = (op in (">", ">=")) == (left == new)
    return "max" if new_larger != keeps else "min"


def _without(name: str, expr: Expr) -> Expr | None:
    """``expr - s`` where the scalar is one of the positive terms of a sum, else None."""
    match expr:
        case Binary("+", left, right) if left == Var(name):
            return right
        case Binary("+", left, right) if right == Var(name):
            return left
        case Binary("-", left, right) if left == Var(name):
            return Unary("-", right)
        case Binary("+" | "-" as op, left, right):
            rest = _without(name, left)
            return None if rest is None else Binary(op, rest, right)
    return None


def accumulate_into(body: Body, reductions: Sequence[Reduction], parts: dict[str, str]) -> Body:
    """The loop body with each scalar replaced by its partial result; sums are written as compound assignments, so that
    every iteration is seen to add its own term.
    """
    kinds = {reduction.name: reduction for reduction in reductions}

    def settle(stmt: Stmt) -> Body:
        if not isinstance(stmt, Assign) or not isinstance(stmt.target, Var) or stmt.target.name not in kinds:
            return (stmt,)
        if stmt.op != "=" or kinds[stmt.target.name].operator in ("max", "min"):
            return (stmt,)
        update = _written_out(stmt.target.name, stmt.value)
        assert update is not None
        values = update[1]
        value = values[0] if len(values) == 1 else Binary("*", values[0], values[1])
        return (Assign(stmt.target, value, f"{update[0].operator}="),)

    renamed = {name: Var(part) for name, part in parts.items()}
    return tuple(map_exprs(stmt, lambda expr: substitute(expr, renamed)) for stmt in map_stmts(body, settle))


def carried_scalars(body: Body) -> tuple[str, ...]:
    """Scalars that the body writes and does not declare, in order."""
    declared = {stmt.name for stmt in flatten(body) if isinstance(stmt, Decl)}
    declared |= {stmt.var for stmt in flatten(body) if isinstance(stmt, Loop)}
    found = (s.target.name for s in flatten(body) if isinstance(s, Assign) and isinstance(s.target, Var))
    return tuple(dict.fromkeys(name for name in found if name not in declared))

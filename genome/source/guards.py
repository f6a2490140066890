"""The kernel's own guard: ``if (r < M && c < N) {...}`` becomes bounds of the axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.ir.expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Member,
    Unary,
    Var,
    conjunction,
    conjuncts,
    names,
    walk,
)
from genome.ir.kernel import Axis
from genome.ir.print_functions import PURE
from genome.ir.stmt import Body, Decl, If, Opaque, Space, Stmt
from genome.ir.types import INTEGER_TYPES, canonical, infer, join
from genome.source.axes import strip_casts
from genome.source.jumps import negate
from genome.source.parse_loop import decimal, increment

SIGNED = frozenset({"int", "long", "long long"})
_SHORT = frozenset({"int", "unsigned int"})
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def lift_guard(
    body: Body, axes: Sequence[Axis], scalars: frozenset[str], types: Mapping[str, str]
) -> tuple[tuple[Axis, ...], Body]:
    """Moves the conditions of an If around the whole body to the bounds of the axes.

    Args:
        body: The body, index arithmetic substituted.
        axes: The axes, without bounds.
        scalars: Scalar parameters that never change: bounds are expressions of these.
        types: Type of each name.

    Returns:
        The axes with bounds, and the body; conditions that bound no axis stay as an If.
    """
    found = _enclosing(body)
    if found is None:
        return tuple(axes), body
    guards, inner = found
    bounded = {axis.name: axis for axis in axes}
    rest: list[Expr] = []
    for guard in guards:
        for term in _conjuncts(guard.condition, types):
            axis = _bound(term, bounded, scalars, types)
            if axis is None:
                rest.append(term)
            else:
                bounded[axis.name] = replace(axis, line=guard.line)
    remaining = conjunction(rest)
    return tuple(bounded.values()), inner if remaining is None else (If(remaining, inner, line=guards[0].line),)


def _enclosing(body: Body) -> tuple[tuple[If, ...], Body] | None:
    """(guards, guarded body) when everything but plain declarations lies inside an If; nested Ifs are joined."""
    if not body or not isinstance(body[-1], If) or body[-1].orelse:
        return None
    guard = body[-1]
    leading = body[:-1]
    if not all(_sinkable(stmt) for stmt in leading):
        return None
    declared = {stmt.name for stmt in leading if isinstance(stmt, Decl)}
    declared |= {name for stmt in leading if isinstance(stmt, Opaque) for name in stmt.declares}
    if declared & set(names(guard.condition)):
        return None
    inner = leading + guard.then
    nested = _enclosing(inner)
    return ((guard,), inner) if nested is None else ((guard, *nested[0]), nested[1])


def _sinkable(stmt: Stmt) -> bool:
    """True for a private declaration whose value has no effect: threads outside the guard need not compute it."""
    if isinstance(stmt, Opaque):
        return bool(stmt.declares) and not stmt.writes and not stmt.barrier and "(" not in stmt.text
    if not isinstance(stmt, Decl) or stmt.space is not Space.PRIVATE:
        return False
    return stmt.init is None or all(n.function in PURE for n in walk(stmt.init) if isinstance(n, Call))


def _conjuncts(condition: Expr, types: Mapping[str, str]) -> list[Expr]:
    """Terms of the conjunction, negations pushed down to the comparisons."""
    terms: list[Expr] = []
    for term in conjuncts(condition):
        if isinstance(term, Unary) and term.op == "!":
            pushed = negate(term.operand, types)
            terms += _conjuncts(pushed, types) if pushed != term else [term]
        else:
            terms.append(term)
    return terms


def _bound(term: Expr, axes: Mapping[str, Axis], scalars: frozenset[str], types: Mapping[str, str]) -> Axis | None:
    """The axis with the bound that the term gives, or None if it gives none (or the axis has that bound already)."""
    if not isinstance(term, Binary) or term.op not in _TURNED:
        return None
    for op, left, right in ((term.op, term.left, term.right), (_TURNED[term.op], term.right, term.left)):
        kind = join(infer(right, types), "int")
        if kind not in INTEGER_TYPES or not _uniform(right, scalars):
            continue
        axis, offset = _axis_side(left, axes, kind)
        if axis is None:
            continue
        exact = op in ("<", ">=") and offset == 0
        if not exact and kind not in SIGNED and not isinstance(right, Const):
            continue  # a shifted unsigned bound may wrap round
        limit = right if offset == 0 else _shifted(right, -offset)
        if op in ("<", "<="):
            upper = limit if op == "<" else increment(limit)
            return replace(axis, upper=upper) if axis.upper is None else None
        lower = limit if op == ">=" else increment(limit)
        return replace(axis, lower=lower) if axis.lower is None else None
    return None


def _axis_side(expr: Expr, axes: Mapping[str, Axis], kind: str) -> tuple[Axis | None, int]:
    """(axis, constant) for ``axis`` and, where axis and bound are signed, ``axis + constant``.

    A cast may fall if it keeps the axis' bits and the comparison with a bound of type ``kind`` stays (un)signed.
    """
    inner = strip_casts(expr)
    if isinstance(inner, Var):
        axis = axes.get(inner.name)
        return (axis, 0) if axis is not None and (inner is expr or _same(expr, axis.ctype, kind)) else (None, 0)
    if isinstance(inner, Binary) and inner.op in ("+", "-") and isinstance(inner.left, Var) and inner is expr:
        axis = axes.get(inner.left.name)
        value = decimal(inner.right)
        if axis is not None and value is not None and axis.ctype in SIGNED and kind in SIGNED:
            return axis, value if inner.op == "+" else -value
    return None, 0


def _same(cast: Expr, ctype: str, kind: str) -> bool:
    """True if a comparison of the cast axis (of type ``ctype``) with a ``kind`` says what one of the axis says."""
    signed = {join(ctype, kind) in SIGNED}
    while isinstance(cast, Cast):
        outer = canonical(cast.ctype)
        signed.add(join(outer, kind) in SIGNED)
        if outer in _SHORT and ctype not in _SHORT:
            return False
        cast = cast.operand
    return len(signed) == 1


def _shifted(expr: Expr, by: int) -> Expr:
    """``expr + by`` with literals folded."""
    value = decimal(expr)
    if value is not None and value + by >= 0:
        return Const(str(value + by))
    if isinstance(expr, Binary) and expr.op in ("+", "-"):
        value = decimal(expr.right)
        if value is not None:
            by += value if expr.op == "+" else -value
            expr = expr.left
    return expr if by == 0 else Binary("+" if by > 0 else "-", expr, Const(str(abs(by))))


def _uniform(expr: Expr, scalars: frozenset[str]) -> bool:
    """True for an expression of constants and unchanging scalar parameters."""
    for node in walk(expr):
        if isinstance(node, Var) and node.name not in scalars:
            return False
        if isinstance(node, (Index, Member)) or (isinstance(node, Call) and node.function not in PURE):
            return False
    return True


def integer_scalars(types: Mapping[str, str], candidates: Sequence[str]) -> frozenset[str]:
    """Those of the names that have an integer type."""
    return frozenset(name for name in candidates if types.get(name, "") in INTEGER_TYPES)

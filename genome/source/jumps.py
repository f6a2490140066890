"""Jumps out of a block, turned into conditions where the block's structure allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genome.ir.expr import Binary, Expr, Unary
from genome.ir.stmt import Body, If, Stmt, flatten
from genome.ir.types import INTEGER_TYPES, infer

_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Jump(Stmt):
    """``return``, ``break``, ``continue``, or ``opaque`` for one inside opaque text. A finished body holds none."""

    kind: str


def jumps(body: Body) -> bool:
    """True if a jump is left anywhere."""
    return any(isinstance(stmt, Jump) for stmt in flatten(body))


def negate(condition: Expr, types: Mapping[str, str]) -> Expr:
    """The opposite condition; comparisons are turned round only between integers (NaN compares false both ways)."""
    match condition:
        case Unary(op="!", operand=operand):
            return operand
        case Binary(op="&&" | "||" as op, left=left, right=right):
            return Binary("||" if op == "&&" else "&&", negate(left, types), negate(right, types))
        case Binary(op=op, left=left, right=right) if op in _OPPOSITE:
            exact = op in ("==", "!=") or {infer(left, types), infer(right, types)} <= INTEGER_TYPES
            if exact:
                return Binary(_OPPOSITE[op], left, right)
    return Unary("!", condition)


def structure(body: Body, kind: str, types: Mapping[str, str]) -> Body:
    """Rewrites jumps of that kind to the end of the block into conditions; what cannot be rewritten stays.

    ``if (c) return; rest`` becomes ``if (!c) { rest }``.
    """
    result: list[Stmt] = []
    for position, stmt in enumerate(body):
        if isinstance(stmt, Jump) and stmt.kind == kind:
            return tuple(result)
        if isinstance(stmt, If) and _holds(stmt.then + stmt.orelse, kind):
            rest = body[position + 1 :]
            joined = _join(stmt, rest, kind, types)
            if joined is not None:
                return (*result, *joined)
        result.append(stmt)
    return tuple(result)


def _join(stmt: If, rest: Body, kind: str, types: Mapping[str, str]) -> Body | None:
    if _ends(stmt.then, kind):
        then, orelse = structure(stmt.then, kind, types), structure(stmt.orelse + rest, kind, types)
    elif _ends(stmt.orelse, kind):
        then, orelse = structure(stmt.then + rest, kind, types), structure(stmt.orelse, kind, types)
    elif not rest:
        then, orelse = structure(stmt.then, kind, types), structure(stmt.orelse, kind, types)
    else:
        return None
    if then:
        return (If(stmt.condition, then, orelse, line=stmt.line),)
    return (If(negate(stmt.condition, types), orelse, line=stmt.line),) if orelse else ()


def _holds(body: Body, kind: str) -> bool:
    return any(isinstance(stmt, Jump) and stmt.kind == kind for stmt in flatten(body))


def _ends(body: Body, kind: str) -> bool:
    """True if every path through the body ends in that jump."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, Jump):
        return last.kind == kind
    return isinstance(last, If) and _ends(last.then, kind) and _ends(last.orelse, kind)

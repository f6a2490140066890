"""Jumps out of a block, turned into conditions where the block's structure allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from genome.ir.expr import Binary, Const, Expr, Unary, Var
from genome.ir.rewrite_stmt import map_stmts, with_bodies
from genome.ir.stmt import Assign, Body, Decl, If, Stmt, flatten
from genome.ir.types import INTEGER_TYPES, infer
from genome.source.names import Names

_FLAGS = {"return": "left", "break": "ended", "continue": "skipped"}
UNSEEN = "opaque"
"""Kind of a jump inside of opaque text."""
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


def structure(body: Body, kind: str, types: Mapping[str, str], leaf: Body = ()) -> Body:
    """Rewrites jumps of that kind to the end of the block into conditions; what cannot be rewritten stays.

    ``if (c) return; rest`` becomes ``if (!c) { rest }``.

    Args:
        body: The block.
        kind: Of the jumps.
        types: Type of each name.
        leaf: What stands in place of a jump that has become the last statement on its path.
    """
    result: list[Stmt] = []
    for position, stmt in enumerate(body):
        if isinstance(stmt, Jump) and stmt.kind == kind:
            return (*result, *(replace(end, line=stmt.line) for end in leaf))
        if isinstance(stmt, If) and holds(stmt.inside, kind):
            rest = body[position + 1 :]
            joined = _join(stmt, rest, kind, types, leaf)
            if joined is not None:
                return (*result, *joined)
        result.append(stmt)
    return tuple(result)


def _join(stmt: If, rest: Body, kind: str, types: Mapping[str, str], leaf: Body) -> Body | None:
    then, orelse = stmt.then, stmt.orelse
    if _ends(then, kind):
        orelse += rest
    elif _ends(orelse, kind):
        then += rest
    elif rest and not (leaf and _is_step(rest)):
        return None
    else:
        then, orelse = then + rest, orelse + rest
    then, orelse = structure(then, kind, types, leaf), structure(orelse, kind, types, leaf)
    if then:
        return (If(stmt.condition, then, orelse, line=stmt.line),)
    return (If(negate(stmt.condition, types), orelse, line=stmt.line),) if orelse else ()


def _is_step(body: Body) -> bool:
    """True for what may stand in two branches: the step of a loop, which a ``continue`` leads to."""
    return len(body) == 1 and isinstance(body[0], Assign) and isinstance(body[0].target, Var)


def settle(body: Body, kind: str, names: Names, leaf: Body = ()) -> Body:
    """The block with jumps of that kind to its end as conditions; a flag where one skips parts of several blocks.

    Args:
        body: The block.
        kind: Of the jumps.
        names: Takes the flag.
        leaf: As for ``structure``.
    """
    found = structure(body, kind, names.types, leaf)
    if not holds(found, kind):
        return found
    flag = names.fresh(_FLAGS[kind], "int")
    flagged = _left_by_flag(body, kind, flag, leaf) if leaf else _by_flag(body, kind, flag)
    return (Decl(flag, "int", init=Const("0")), *flagged)


def _by_flag(body: Body, kind: str, flag: str) -> Body:
    """The block with jumps of that kind to its end as assignments to a flag, which what follows them asks for.

    ``if (a) { if (b) jump; x } y`` becomes ``if (a) { if (b) flag = 1; if (!flag) { x } } if (!flag) { y }``.
    """
    for position, stmt in enumerate(body):
        if isinstance(stmt, Jump) and stmt.kind == kind:
            return (*body[:position], Assign(Var(flag), Const("1"), line=stmt.line))
        if isinstance(stmt, If) and holds(stmt.inside, kind):
            rest = _by_flag(body[position + 1 :], kind, flag)
            guarded = (If(Unary("!", Var(flag)), rest, line=rest[0].line),) if rest else ()
            return (*body[:position], _flagging(stmt, kind, flag), *guarded)
    return body


def _left_by_flag(body: Body, kind: str, flag: str, leaf: Body) -> Body:
    """The same for the body of a loop that is left where the flag is set.

    ``if (a) { if (b) jump; x } y`` becomes ``if (a) { if (b) flag = 1; ... } if (flag) leaf; else { y }``.
    """
    for position, stmt in enumerate(body):
        if isinstance(stmt, Jump) and stmt.kind == kind:
            return (*body[:position], *leaf)
        if isinstance(stmt, If) and holds(stmt.inside, kind):
            rest = _left_by_flag(body[position + 1 :], kind, flag, leaf)
            if _ends(stmt.then, kind) and not stmt.orelse:
                then = _left_by_flag(stmt.then, kind, flag, leaf)
                return (*body[:position], replace(stmt, then=then, orelse=rest))
            return (*body[:position], _flagging(stmt, kind, flag), If(Var(flag), leaf, rest, line=stmt.line))
    return body


def _flagging(stmt: If, kind: str, flag: str) -> If:
    return with_bodies(stmt, lambda inside: _by_flag(inside, kind, flag))


def turned(body: Body, kind: str, into: Body) -> Body:
    """The block with jumps of that kind replaced."""
    return map_stmts(body, lambda stmt: into if isinstance(stmt, Jump) and stmt.kind == kind else (stmt,))


def holds(body: Body, kind: str) -> bool:
    """True if a jump of that kind is in it."""
    return any(isinstance(stmt, Jump) and stmt.kind == kind for stmt in flatten(body))


def _ends(body: Body, kind: str) -> bool:
    """True if every path through the body ends in that jump."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, Jump):
        return last.kind == kind
    return isinstance(last, If) and _ends(last.then, kind) and _ends(last.orelse, kind)

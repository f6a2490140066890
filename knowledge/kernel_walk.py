"""Walking a kernel's body for features: every statement with the loops and conditions around it, and its arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from genome.ir.expr import Binary, Call, Expr, Index, children
from genome.ir.stmt import Assign, Body, If, Loop, Repeat, Stmt, expressions

DEPTH_WEIGHT = 8
"""Iterations that a loop is taken to have."""
_ARITHMETIC = frozenset("+-*/%")


@dataclass(frozen=True)
class Visit:
    """A statement with the loops (outermost first) and conditions around it."""

    stmt: Stmt
    loops: tuple[Loop | Repeat, ...]
    conditions: tuple[Expr, ...]


def visits_of(body: Body, loops: tuple[Loop | Repeat, ...] = (), conditions: tuple[Expr, ...] = ()) -> Iterator[Visit]:
    """Every statement of the body, in program order; ``loops`` and ``conditions`` are those around the body."""
    for stmt in body:
        yield Visit(stmt, loops, conditions)
        if isinstance(stmt, Loop | Repeat):
            yield from visits_of(stmt.body, (*loops, stmt), conditions)
        elif isinstance(stmt, If):
            yield from visits_of(stmt.then, loops, (*conditions, stmt.condition))
            yield from visits_of(stmt.orelse, loops, conditions)


def operations(visit: Visit) -> float:
    """Arithmetic of the statement itself (subscripts left out), a loop counting ``DEPTH_WEIGHT`` times."""
    count = sum(_arithmetic(expr) for expr in own_expressions(visit.stmt))
    count += isinstance(visit.stmt, Assign) and visit.stmt.op != "="
    return float(count * DEPTH_WEIGHT ** len(visit.loops))


def _arithmetic(expr: Expr) -> int:
    if isinstance(expr, Index):
        return 0
    own = (isinstance(expr, Binary) and expr.op in _ARITHMETIC) or isinstance(expr, Call)
    return int(own) + sum(_arithmetic(child) for child in children(expr))


def own_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """Expressions of the statement, loop bounds left out."""
    return () if isinstance(stmt, Loop) else expressions(stmt)


def scaled_log(count: float, scale: float) -> float:
    """log2(1 + count) / scale."""
    return math.log2(1.0 + count) / scale

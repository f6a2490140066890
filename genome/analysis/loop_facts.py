"""What is known about each loop: trips, and whether its iterations may run in any order."""

from __future__ import annotations

from collections.abc import Mapping

from genome.analysis.facts import LoopFact
from genome.analysis.iterations import Independent, SharingError, independent
from genome.analysis.proof import assumed, doubted, proven
from genome.analysis.scope import Scope
from genome.analysis.trips import trips_of
from genome.ir.expr import Expr
from genome.ir.kernel import AtLeast
from genome.ir.print_expr import ExprPrinter
from genome.ir.stmt import Loop, flatten
from genome.variant import Target

NO_ALIAS = "assume.no_alias"


def loop_facts(scope: Scope, no_alias: bool) -> tuple[LoopFact, ...]:
    """Loops in program order.

    Args:
        scope: The names of the kernel.
        no_alias: True if the campaign grants that pointer arguments do not overlap.
    """
    return tuple(_fact(stmt, scope, no_alias) for stmt in flatten(scope.kernel.whole) if isinstance(stmt, Loop))


def _fact(loop: Loop, scope: Scope, no_alias: bool) -> LoopFact:
    trips = trips_of(loop, scope).count
    try:
        found = _independent(loop, scope, False)
        proof = proven(_shown(found, scope.types), loop.line)
    except SharingError as first:
        try:
            found = _independent(loop, scope, True)
        except SharingError as error:
            return LoopFact(loop.var, loop.line, loop.role, trips, doubted(str(error), loop.line, error.grant))
        if not no_alias:
            proof = doubted(str(first), loop.line, first.grant)
        else:
            proof = assumed(_shown(found, scope.types), NO_ALIAS, loop.line)
    return LoopFact(loop.var, loop.line, loop.role, trips, proof, tuple(r.name for r in found.reductions))


def _independent(loop: Loop, scope: Scope, no_alias: bool) -> Independent:
    pointers = frozenset(param.name for param in scope.kernel.params if param.pointer)
    scalars = frozenset(
        param.name for param in scope.kernel.params if not param.pointer and param.name not in scope.changing
    )
    return independent(loop, pointers, scalars, no_alias, scope.types)


def _shown(found: Independent, types: Mapping[str, str]) -> str:
    reason = "each iteration has elements of its own" if not found.reductions else "its iterations only combine values"
    limits = [f"{_text(c.expr, types)} >= {c.value}" for c in found.conditions if isinstance(c, AtLeast)]
    return f"{reason}, where {' and '.join(limits)}" if limits else reason


def _text(expr: Expr, types: Mapping[str, str]) -> str:
    return ExprPrinter(Target.CUDA, types).text(expr)

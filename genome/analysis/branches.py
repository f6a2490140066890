"""Where threads may part: conditions, loop bounds and guards, and whether all threads of a block reach each barrier."""

from __future__ import annotations

import re
from collections.abc import Iterator

from genome.analysis.facts import BarrierFact, Branch, BranchKind, Uniformity
from genome.analysis.proof import Proof, assumed, doubted, proven
from genome.analysis.uniformity import Levels, agrees, narrowest
from genome.ir.expr import Binary, Expr, Var
from genome.ir.kernel import Axis
from genome.ir.poly import multiple_of, poly
from genome.ir.stmt import Barrier, Body, If, Loop, Opaque, flatten

_REASONS = {
    Uniformity.GRID: "it depends on sizes alone",
    Uniformity.BLOCK: "it depends on nothing that differs between the threads of a block",
    Uniformity.WARP: "whole warps agree on it",
}
_LEAVES = re.compile(r"\b(return|goto|asm|exit)\b")
DIVISIBLE = "assume.divisible"


def branches(levels: Levels) -> tuple[Branch, ...]:
    """Guards of the axes, then conditions and loops in program order."""
    kernel = levels.scope.kernel
    return (*_guards(levels), *_within(kernel.prologue + kernel.whole, levels))


def _within(body: Body, levels: Levels) -> Iterator[Branch]:
    for stmt in flatten(body):
        if isinstance(stmt, If):
            level = levels.of(stmt.condition)
            yield Branch(
                stmt.line, BranchKind.IF, stmt.condition, level, _reason(stmt.condition, level, levels, stmt.line)
            )
        elif isinstance(stmt, Loop):
            level = narrowest((levels.of(stmt.lower), levels.of(stmt.upper)))
            edge = stmt.upper if levels.of(stmt.upper) is level else stmt.lower
            yield Branch(stmt.line, BranchKind.LOOP, stmt.upper, level, _reason(edge, level, levels, stmt.line))


def _reason(expr: Expr, level: Uniformity, levels: Levels, line: int) -> Proof:
    if level is Uniformity.DIVERGENT:
        return doubted(levels.why(levels.scope.resolve(expr)), line)
    return proven(_REASONS[level], line)


def _guards(levels: Levels) -> Iterator[Branch]:
    if levels.scope.kernel.mapped:
        return
    for axis in levels.scope.kernel.axes:
        for op, bound in ((">=", axis.lower), ("<", axis.upper)):
            if bound is None:
                continue
            condition = Binary(op, Var(axis.name), bound)
            level = levels.of(condition)
            proof = _reason(condition, level, levels, axis.line)
            if level is Uniformity.DIVERGENT:
                level, proof = _whole_blocks(axis, bound, levels)
            yield Branch(axis.line, BranchKind.GUARD, condition, level, proof)


def _whole_blocks(axis: Axis, bound: Expr, levels: Levels) -> tuple[Uniformity, Proof]:
    """Blocks lie wholly inside or outside a bound that their extent divides."""
    block = levels.scope.block
    extent = block["xyz".index(axis.dim)] if block is not None else 0
    multiples = dict(levels.scope.kernel.multiples)
    edge = poly(levels.scope.resolve(bound))
    if extent and multiple_of(edge, multiples) % extent == 0:
        reason = f"the bound is a multiple of the block's {extent} threads along {axis.dim}"
        known = edge.constant is not None
        proof = proven(reason, axis.line) if known else assumed(reason, DIVISIBLE, axis.line)
        return Uniformity.BLOCK, proof
    return Uniformity.DIVERGENT, doubted(
        f"the last block may lie partly outside along {axis.dim}", axis.line, DIVISIBLE
    )


def barriers(levels: Levels) -> tuple[BarrierFact, ...]:
    """Barriers in program order, those that opaque text may hold included."""
    kernel = levels.scope.kernel
    found: list[BarrierFact] = []
    guards = list(_guards(levels))
    left = 0
    for position, stmt in enumerate(flatten(kernel.prologue + kernel.whole)):
        if isinstance(stmt, Opaque) and stmt.barrier:
            found.append(BarrierFact(stmt.line, doubted("text that is not looked into may wait here", stmt.line)))
            left = left or (stmt.line if _LEAVES.search(stmt.text) else 0)
        elif isinstance(stmt, Barrier):
            found.append(BarrierFact(stmt.line, _reached(levels, position, stmt.line, guards, left)))
    return tuple(found)


def _reached(levels: Levels, position: int, line: int, guards: list[Branch], left: int) -> Proof:
    if left:
        return doubted(f"threads may have left in text on line {left}", left)
    for guard in guards:
        if not agrees(guard.uniformity, Uniformity.BLOCK):
            return guard.proof
    if not agrees(levels.control_at(position), Uniformity.BLOCK):
        return doubted("it stands under a condition that differs between the threads of a block", line)
    resting = next((guard.proof for guard in guards if guard.proof.grant), None)
    return resting or proven("every condition around it is the same for all threads of a block", line)

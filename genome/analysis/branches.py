"""Where threads may part: conditions, loop bounds and guards, and whether all threads of a block reach each barrier."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from genome.analysis.facts import BarrierFact, Branch, BranchKind, Uniformity
from genome.analysis.proof import Proof, assumed, doubted, proven
from genome.analysis.uniformity import Levels, agrees, narrowest
from genome.ir.expr import Binary, Expr, Index, Var, walk
from genome.ir.kernel import Axis
from genome.ir.poly import multiple_of, poly
from genome.ir.stmt import Barrier, Body, If, Loop, Opaque, Repeat, flatten, leaves

_REASONS = {
    Uniformity.GRID: "it depends on sizes alone",
    Uniformity.BLOCK: "it depends on nothing that differs between the threads of a block",
    Uniformity.WARP: "whole warps agree on it",
}
_LEAVES = re.compile(r"\b(return|goto|asm|exit)\b")
DIVISIBLE = "assume.divisible"
NO_ALIAS = "assume.no_alias"


def branches(levels: Levels, no_alias: bool) -> tuple[Branch, ...]:
    """Guards of the axes, then conditions and loops in program order.

    Args:
        levels: What threads agree on.
        no_alias: True if the campaign grants that pointer arguments do not overlap.
    """
    kernel = levels.scope.kernel
    return (*_guards(levels), *_within(kernel.prologue + kernel.whole, levels, no_alias))


def _within(body: Body, levels: Levels, no_alias: bool) -> Iterator[Branch]:
    for stmt in flatten(body):
        if isinstance(stmt, If):
            level = levels.of(stmt.condition)
            proof = _reason(stmt.condition, level, levels, stmt.line)
            settled = _settled((stmt.condition,), proof, levels, no_alias)
            kind = BranchKind.LOOP if leaves(stmt.inside) else BranchKind.IF
            yield Branch(stmt.line, kind, stmt.condition, level, settled)
        elif isinstance(stmt, Loop):
            level = narrowest((levels.of(stmt.lower), levels.of(stmt.upper)))
            edge = stmt.upper if levels.of(stmt.upper) is level else stmt.lower
            proof = _settled((stmt.lower, stmt.upper), _reason(edge, level, levels, stmt.line), levels, no_alias)
            yield Branch(stmt.line, BranchKind.LOOP, stmt.upper, level, proof)


def _reason(expr: Expr, level: Uniformity, levels: Levels, line: int) -> Proof:
    if level is Uniformity.DIVERGENT:
        return doubted(levels.why(levels.scope.resolve(expr)), line)
    if level is Uniformity.GRID and levels.scope.loads(expr):
        return proven("all threads read the same values", line)
    return proven(_REASONS[level], line)


def _settled(controls: Iterable[Expr], proof: Proof, levels: Levels, no_alias: bool) -> Proof:
    """The proof, weakened where it needs that no store through another pointer changes values that are read."""
    kernel = levels.scope.kernel
    stored = next((param.name for param in kernel.params if param.pointer and levels.changes(param.name)), None)
    if not proof.holds or stored is None or not any(_may_change(expr, levels) for expr in controls):
        return proof
    if no_alias:
        return assumed(f"{proof.reason}, which no store changes", NO_ALIAS, proof.line)
    return doubted(f"a store through {stored} may change the values that it reads", proof.line, NO_ALIAS)


def _may_change(expr: Expr, levels: Levels) -> bool:
    """True if it reads memory behind a pointer that is not declared to be the only one there."""
    scope = levels.scope
    for node in walk(scope.resolve(expr)):
        if isinstance(node, Var) and node.name in scope.loaded:
            return True
        param = scope.kernel.param(node.array) if isinstance(node, Index) else None
        if param is not None and not param.restrict:
            return True
    return False


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


def barriers(levels: Levels, no_alias: bool) -> tuple[BarrierFact, ...]:
    """Barriers in program order, those that opaque text may hold included.

    Args:
        levels: What threads agree on.
        no_alias: True if the campaign grants that pointer arguments do not overlap.
    """
    finder = _Barriers(levels, no_alias)
    kernel = levels.scope.kernel
    finder.body(kernel.prologue + kernel.whole, ())
    return tuple(finder.found)


class _Barriers:
    """Follows a kernel in program order.

    Attributes:
        found: The barriers so far.
        left: A line on which threads may have left the kernel; 0 where none has.
    """

    def __init__(self, levels: Levels, no_alias: bool) -> None:
        self.levels, self.no_alias = levels, no_alias
        self.guards = tuple(_guards(levels))
        self.found: list[BarrierFact] = []
        self.left = 0
        self._position = 0

    def body(self, body: Body, controls: tuple[Expr, ...]) -> None:
        for stmt in body:
            position = self._position
            self._position += 1
            match stmt:
                case If(condition=condition):
                    self.body(stmt.then, (*controls, condition))
                    self.body(stmt.orelse, (*controls, condition))
                case Loop(lower=lower, upper=upper):
                    self.left = self.left or _leaving(stmt.body)  # in an iteration before
                    self.body(stmt.body, (*controls, lower, upper))
                case Repeat():
                    self.left = self.left or _leaving(stmt.body)
                    self.body(stmt.body, (*controls, *stmt.exits))
                case Barrier():
                    self.found.append(BarrierFact(stmt.line, self._reached(position, stmt.line, controls)))
                case Opaque() if stmt.barrier:
                    doubt = doubted("text that is not looked into may wait here", stmt.line)
                    self.found.append(BarrierFact(stmt.line, doubt))
                    self.left = self.left or _leaving((stmt,))

    def _reached(self, position: int, line: int, controls: tuple[Expr, ...]) -> Proof:
        if self.left:
            return doubted(f"threads may have left in text on line {self.left}", self.left)
        for guard in self.guards:
            if not agrees(guard.uniformity, Uniformity.BLOCK):
                return guard.proof
        if not agrees(self.levels.control_at(position), Uniformity.BLOCK):
            return doubted("it stands under a condition that differs between the threads of a block", line)
        resting = next((guard.proof for guard in self.guards if guard.proof.grant), None)
        whole = proven("every condition around it is the same for all threads of a block", line)
        return _settled(controls, resting or whole, self.levels, self.no_alias)


def _leaving(body: Body) -> int:
    """Line of text in the body that may leave the kernel; 0 if there is none."""
    found = (stmt for stmt in flatten(body) if isinstance(stmt, Opaque) and _LEAVES.search(stmt.text))
    return next((stmt.line for stmt in found), 0)

"""Two passes over the same elements, of which the second can run with the first: what one-pass forms have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from genome.analysis.effects import effects
from genome.analysis.reductions import NotAReduction, carried_scalars, find_reductions
from genome.ir.expr import Const
from genome.ir.kernel import Kernel
from genome.ir.poly import poly
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import with_bodies
from genome.ir.stmt import Body, Decl, If, Loop, LoopRole, Stmt, flatten, used_names, written_names
from genome.transforms.base import Refusal

ZERO = {"float": "0.0f", "double": "0.0"}
"""The zero of each type that sums are kept in."""


@dataclass(frozen=True)
class Pass:
    """Neighbouring loops of a body (the main part and the rest of one loop) that carry the same one scalar.

    Attributes:
        positions: Where they stand in the body.
        scalar: What they combine into.
        operator: How.
    """

    positions: range
    scalar: str
    operator: str

    def loops(self, body: Body) -> tuple[Loop, ...]:
        """The loops."""
        return tuple(stmt for stmt in body[self.positions.start : self.positions.stop] if isinstance(stmt, Loop))


@dataclass(frozen=True)
class Pair:
    """A pass, and a later one that adds up in terms of ``shift``, which is known only behind the first.

    Attributes:
        first: The earlier pass.
        second: The later one.
        shift: A variable that is set between them.
        ctype: Type of the later sum.
    """

    first: Pass
    second: Pass
    shift: str
    ctype: str


def levels(body: Body) -> Iterator[Body]:
    """The body and every body inside it, outermost first."""
    yield body
    for stmt in body:
        branches = (stmt.then, stmt.orelse) if isinstance(stmt, If) else (stmt.inside,)
        for inner in branches:
            yield from levels(inner) if inner else ()


def pairs(body: Body, kernel: Kernel, operator: str, shift: Callable[[tuple[Loop, ...], str], str]) -> Iterator[Pair]:
    """Every sum with the nearest pass before it that combines by ``operator``.

    Args:
        body: One level of the kernel.
        kernel: The kernel.
        operator: How the first pass combines: ``max`` or ``+``.
        shift: The variable in terms of which loops add up into a scalar; empty where they do not.
    """
    found = _passes(body, kernel)
    if len(found) < 2:
        return
    types = name_types(kernel)
    for number, second in enumerate(found):
        earlier = [first for first in found[:number] if first.operator == operator]
        if second.operator != "+" or types.get(second.scalar) not in ZERO or not earlier:
            continue
        variable = shift(second.loops(body), second.scalar)
        if variable and types.get(earlier[-1].scalar) == types[second.scalar]:
            yield Pair(earlier[-1], second, variable, types[second.scalar])


def _passes(body: Body, kernel: Kernel) -> list[Pass]:
    found: list[Pass] = []
    if sum(isinstance(stmt, Loop) for stmt in body) < 2:
        return found
    types = name_types(kernel)
    for position, stmt in enumerate(body):
        if not isinstance(stmt, Loop) or stmt.role is LoopRole.COMBINE:
            continue
        try:
            reductions = find_reductions(stmt.body, carried_scalars(stmt.body), types)
        except NotAReduction:
            continue
        if len(reductions) != 1:
            continue
        mine = Pass(range(position, position + 1), reductions[0].name, reductions[0].operator)
        last = found[-1] if found else None
        if last and (last.positions.stop, last.scalar, last.operator) == (position, mine.scalar, mine.operator):
            found[-1] = replace(last, positions=range(last.positions.start, position + 1))
        else:
            found.append(mine)
    return found


def problem(body: Body, pair: Pair, no_alias: bool) -> Refusal | None:
    """Why the second pass may not run with the first."""
    first, second, scalar = pair.first.loops(body), pair.second.loops(body), pair.second.scalar
    if len(first) != len(second) or not all(_same_range(a, b) for a, b in zip(first, second, strict=True)):
        return Refusal("the two loops do not run over the same iterations")
    if not starts_at_zero(body[: pair.second.positions.start], scalar, pair.ctype):
        return Refusal(f"{scalar} does not start from zero")
    between = body[pair.first.positions.start : pair.second.positions.start]
    changed = set(written_names(between)) | {s.name for s in flatten(between) if isinstance(s, Decl)}
    own = {s.name for s in flatten(second) if isinstance(s, Decl)} | {scalar, pair.shift}
    needed = (used_names(second) - own) & changed
    if needed:
        return Refusal(f"{min(needed)} changes between the two loops")
    seen, before = effects(second), effects(between)
    private = {stmt.name for stmt in flatten(body) if isinstance(stmt, Decl)}
    stored = any(store.array not in private for store in seen.stores)
    if stored or seen.opaque or seen.barriers or seen.calls or before.opaque:
        return Refusal("the second loop does more than add up")
    if any(store.array not in private for store in before.stores) and not no_alias:
        return Refusal("what is stored between the loops may overlap what the second reads", "assume.no_alias")
    return None


def starts_at_zero(before: Body, scalar: str, ctype: str) -> bool:
    """True if the scalar is declared as zero, and nothing else happens to it there."""
    declared = [stmt for stmt in flatten(before) if isinstance(stmt, Decl) and stmt.name == scalar]
    zero = len(declared) == 1 and declared[0].init == Const(ZERO[ctype]) and declared[0] in before
    return zero and scalar not in written_names(before)


def _same_range(one: Loop, other: Loop) -> bool:
    bounds = zip((one.lower, one.upper), (other.lower, other.upper), strict=True)
    return one.step == other.step and one.ctype == other.ctype and all(poly(a) == poly(b) for a, b in bounds)


def joined(
    body: Body, pair: Pair, ahead: Body, turn: Callable[[Loop, Loop], Loop], behind: Body, correction: Body
) -> Body:
    """The level with both passes in one.

    Args:
        body: The level.
        pair: The passes.
        ahead: Statements in front of the loops.
        turn: Makes one loop of a loop of each.
        behind: Statements right behind the loops.
        correction: Statements where the second pass stood.
    """
    first, second = pair.first, pair.second
    declared = [stmt for stmt in body if isinstance(stmt, Decl) and stmt.name == second.scalar]

    def others(part: Body) -> tuple[Stmt, ...]:
        return tuple(stmt for stmt in part if stmt not in declared)

    loops = tuple(turn(a, b) for a, b in zip(first.loops(body), second.loops(body), strict=True))
    kept = others(body[first.positions.stop : second.positions.start])
    return (*others(body[: first.positions.start]), *declared, *ahead, *loops, *behind, *kept, *correction,
            *body[second.positions.stop :])  # fmt: skip


def once(body: Body, function: Callable[[Body], Body | None]) -> Body:
    """The body with the first level, outermost first, for which ``function`` gives something else replaced by that."""
    done = False

    def visit(level: Body) -> Body:
        nonlocal done
        changed = None if done else function(level)
        if changed is not None:
            done = True
            return changed
        return tuple(with_bodies(stmt, visit) for stmt in level)

    return visit(body)

"""Threads that take several positions of a launch dimension each, as index arithmetic tells: for first guesses.

``blockIdx.x * 512 + threadIdx.x`` beside the same plus 256 is a block of 256 threads with two positions each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from genome.analysis.footprint import UNIT, primitive
from genome.ir.expr import Binary, Expr, Var, accesses, substitute, walk
from genome.ir.kernel import Kernel
from genome.ir.poly import Poly, poly, variable
from genome.ir.stmt import Assign, Decl, Loop, expressions, flatten

_DEPTH = 8  # declarations that stand for one another


@dataclass(frozen=True)
class Stretch:
    """How positions along a launch dimension are dealt out.

    Attributes:
        each: Positions of a thread, from 2.
        threads: Threads of a block along it, where the text has them as a number; else 0.
    """

    each: int
    threads: int = 0


@dataclass(frozen=True)
class _Split:
    """An index: ``block * (number of the block) + thread * (number of the thread) + rest``."""

    block: Poly
    thread: Poly
    rest: Poly


def resolver(kernel: Kernel) -> Callable[[Expr], Expr]:
    """Puts what variables were declared as in their places: launch indices, parameters and loops are left."""
    body = tuple(flatten(kernel.body))
    changed = {stmt.target.name for stmt in body if isinstance(stmt, Assign) and isinstance(stmt.target, Var)}
    values = {
        stmt.name: stmt.init
        for stmt in body
        if isinstance(stmt, Decl) and stmt.init is not None and stmt.name not in changed
    }

    def resolve(expr: Expr) -> Expr:
        for _ in range(_DEPTH):
            before, expr = expr, substitute(expr, values)
            if expr is before:
                break
        return expr

    return resolve


def stretches(kernel: Kernel) -> dict[str, Stretch]:
    """Launch dimension -> stretch, for those along which a thread has several positions."""
    resolve = resolver(kernel)
    loops = {stmt.var: stmt for stmt in flatten(kernel.body) if isinstance(stmt, Loop)}
    indices = [poly(resolve(expr)) for expr in _indices(kernel)]
    axes = {axis.dim: axis.name for axis in kernel.axes}
    found: dict[str, Stretch] = {}
    for dim in "xyz":
        splits = [split for index in indices if (split := _split(index, dim, axes.get(dim))) is not None]
        known = [stretch for split in splits if (stretch := _stretch(split, dim, splits, loops)) is not None]
        if known:
            found[dim] = max(known, key=lambda stretch: stretch.each)
    return found


def _indices(kernel: Kernel) -> Iterator[Expr]:
    """Subscripts, and what is compared."""
    for stmt in flatten(kernel.body):
        for expr in expressions(stmt):
            for access in accesses(expr):
                yield from access.subscripts
            for node in walk(expr):
                if isinstance(node, Binary) and node.op in ("<", "<=", ">", ">="):
                    yield from (node.left, node.right)


def _split(index: Poly, dim: str, axis: str | None) -> _Split | None:
    if axis is not None:
        found = index.coefficient(axis)
        if found is None or not found[0].terms:
            return None
        return _Split(found[0] * variable(f"blockDim.{dim}"), *found)
    block = index.coefficient(f"blockIdx.{dim}")
    thread = block[1].coefficient(f"threadIdx.{dim}") if block is not None and block[0].terms else None
    return None if block is None or thread is None or not thread[0].terms else _Split(block[0], *thread)


def _stretch(split: _Split, dim: str, others: Sequence[_Split], loops: Mapping[str, Loop]) -> Stretch | None:
    stride, scale = primitive(split.thread)
    extent = stride * variable(f"blockDim.{dim}")
    if _same(split.block, extent.scaled(scale)):  # (block * extent + thread) * each + 0, 1, ...
        return Stretch(scale) if scale > 1 and _run(split, stride, scale, loops) == 1 else None
    if scale != 1:
        return None
    whole = primitive(split.block)[1]
    if whole > 1 and _same(split.block, extent.scaled(whole)):  # block * extent * each + thread
        return Stretch(whole)
    if _same(split.block, stride.scaled(whole)):
        steps = [
            step for other in others if _same(other.block, split.block) and (step := _run(other, stride, whole, loops))
        ]
        steps += _even(others, split, stride, whole)
        threads = min((step for step in steps if whole % step == 0), default=whole)
        return Stretch(whole // threads, threads) if 1 < threads < whole else None
    return None


def _run(split: _Split, stride: Poly, width: int, loops: Mapping[str, Loop]) -> int:
    """The step with which a loop of constant turns runs through a stretch of that width; 0 where none does."""
    for name, loop in loops.items():
        found = split.rest.coefficient(name)
        if found is None or not found[0].terms:
            continue
        unit, scale = primitive(found[0])
        if _same(unit, stride) and scale * loop.step * _turns(loop) == width:
            return scale * loop.step
    return 0


def _turns(loop: Loop) -> int:
    """How often it turns; 0 where the bounds are no numbers."""
    first, end = poly(loop.lower).constant, poly(loop.upper).constant
    return 0 if first is None or end is None else max(0, -((first - end) // loop.step))


def _even(others: Sequence[_Split], split: _Split, stride: Poly, width: int) -> list[int]:
    """The distance between indices that lie evenly in a stretch of that width."""
    own = [other.rest for other in others if _same(other.thread, split.thread)]
    for rest in own:
        ahead = {(one - rest).constant if _same(stride, UNIT) else _times(one - rest, stride) for one in own}
        numbers = sorted(number for number in ahead if number is not None and 0 <= number < width)
        if len(numbers) > 1 and numbers == list(range(0, width, numbers[1])):
            return [numbers[1]]
    return []


def _times(difference: Poly, stride: Poly) -> int | None:
    """``n`` where the difference is n strides."""
    if not difference.terms:
        return 0
    unit, scale = primitive(difference)
    return scale if _same(unit, stride) else None


def _same(one: Poly, other: Poly) -> bool:
    """True if they have the same terms, whatever the width that they are computed in."""
    return not (one - other).terms

"""Combines one value of every thread of a group, so that each thread of it ends with the same total.

With shuffles: a butterfly inside each warp, one value a warp through shared memory, a second butterfly::

    s += __shfl_xor_sync(full, s, 16); ... 1;
    if (lane % 32 == 0) s_warps[group][lane / 32] = s;
    barrier;
    s = s_warps[group][lane % warps]; s += __shfl_xor_sync(full, s, warps / 2); ... 1;

Without: two levels through shared memory, each of about the square root of the group's threads::

    s_lanes[group][lane] = s;  barrier;
    if (lane < width) { sum of s_lanes[group][lane], [lane + width], ... -> s_sums[group][lane] }  barrier;
    s = sum of s_sums[group][0 .. width]

An array is written once and read once between barriers, so the second level of one use and the first of the next may
overlap; the warps' array is read last, hence a barrier must follow before it is written again (``reused``).
Source: Harris, "Optimizing parallel reduction in CUDA", 2007; Luitjens, "Faster parallel reductions on Kepler", 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt

from genome.analysis.reductions import Reduction
from genome.ir.expr import Binary, Call, Const, Expr, Index, Var, integer
from genome.ir.stmt import Assign, Barrier, Body, Decl, If, Loop, LoopRole, Space, Stmt

WARP = 32
_ZERO = Const("0")
_FULL = Const("0xffffffffu")


@dataclass(frozen=True)
class Group:
    """The threads that combine their values.

    Attributes:
        lane: Number of the thread in its group.
        threads: Threads of a group.
        number: Number of the group in the block.
        groups: Groups of a block.
        shuffle: True if warps exchange by shuffles; groups are then whole warps.
        reused: True if the same code runs again without a barrier in between.
    """

    lane: Expr
    threads: int
    number: Expr = _ZERO
    groups: int = 1
    shuffle: bool = False
    reused: bool = False

    @property
    def by_shuffles(self) -> bool:
        """True if shuffles can do it: a power of two of whole warps."""
        warps = self.threads // WARP
        return self.shuffle and self.threads % WARP == 0 and warps > 0 and warps & (warps - 1) == 0


@dataclass(frozen=True)
class Partial:
    """A private variable with a thread's partial result."""

    name: str
    ctype: str
    reduction: Reduction


def group_reduce(
    group: Group, partials: Sequence[Partial], fresh: Callable[[str], str]
) -> tuple[tuple[Decl, ...], Body]:
    """(shared arrays, statements) after which every thread's partial holds the total of its group.

    All threads of the block must reach the statements if they hold a barrier.
    """
    if group.threads == 1 or not partials:
        return (), ()
    return _by_shuffles(group, partials, fresh) if group.by_shuffles else _by_levels(group, partials, fresh)


def _by_shuffles(
    group: Group, partials: Sequence[Partial], fresh: Callable[[str], str]
) -> tuple[tuple[Decl, ...], Body]:
    result: list[Stmt] = [stmt for part in partials for stmt in _butterfly(part, WARP, fresh)]
    warps = group.threads // WARP
    if warps == 1:
        return (), tuple(result)
    arrays = tuple(_array(part, f"{part.name}_warps", group, warps, fresh) for part in partials)
    warp = Binary("/", group.lane, integer(WARP))
    stores = tuple(
        Assign(Index(array.name, (group.number, warp)), Var(part.name))
        for array, part in zip(arrays, partials, strict=True)
    )
    first = Binary("==", Binary("%", group.lane, integer(WARP)), integer(0))
    result += [If(first, stores), Barrier()]
    mine = Binary("%", group.lane, integer(warps))
    for array, part in zip(arrays, partials, strict=True):
        result.append(Assign(Var(part.name), Index(array.name, (group.number, mine))))
        result += _butterfly(part, warps, fresh)
    if group.reused:
        result.append(Barrier())
    return arrays, tuple(result)


def _butterfly(part: Partial, width: int, fresh: Callable[[str], str]) -> list[Stmt]:
    value = Var(part.name)
    result: list[Stmt] = []
    for step in range(1, width.bit_length()):
        # A comparison names its operand twice, but every lane must take part in each shuffle exactly once.
        other = fresh(f"{part.name}_other")
        shuffle = Call("__shfl_xor_sync", (_FULL, value, integer(width >> step)))
        result.append(Decl(other, part.ctype, init=shuffle, const=True))
        result.append(part.reduction.combine(value, Var(other)))
    return result


def _by_levels(group: Group, partials: Sequence[Partial], fresh: Callable[[str], str]) -> tuple[tuple[Decl, ...], Body]:
    width = _width(group.threads)
    lanes = tuple(_array(part, f"{part.name}_lanes", group, group.threads, fresh) for part in partials)
    sums = tuple(_array(part, f"{part.name}_sums", group, width, fresh) for part in partials)
    counters = [fresh(f"{part.name}_at") for part in partials]
    inner: list[Stmt] = []
    last: list[Stmt] = []
    for part, first, second, counter in zip(partials, lanes, sums, counters, strict=True):
        value = Var(part.name)
        inner.append(_chain(part, first.name, group, counter, Binary("+", group.lane, integer(width)), width))
        inner.append(Assign(Index(second.name, (group.number, group.lane)), value))
        last.append(Assign(value, Index(second.name, (group.number, integer(0)))))
        last.append(_chain(part, second.name, group, counter, integer(1), 1, width))
    stores = [
        Assign(Index(array.name, (group.number, group.lane)), Var(part.name))
        for array, part in zip(lanes, partials, strict=True)
    ]
    few = If(Binary("<", group.lane, integer(width)), tuple(inner))
    return (*lanes, *sums), (*stores, Barrier(), few, Barrier(), *last)


def _chain(
    part: Partial, array: str, group: Group, counter: str, start: Expr, step: int, upper: int | None = None
) -> Loop:
    """Combines every ``step``-th element from ``start`` on."""
    value = Index(array, (group.number, Var(counter)))
    body = (part.reduction.combine(Var(part.name), value),)
    end = group.threads if upper is None else upper
    return Loop(counter, start, integer(end), body, step=step, role=LoopRole.COMBINE)


def _width(threads: int) -> int:
    """Elements of the second level: near the square root, a power of two where the group is one."""
    if threads & (threads - 1) == 0:
        return 1 << (threads.bit_length() - 1) // 2
    return isqrt(threads)


def _array(part: Partial, base: str, group: Group, size: int, fresh: Callable[[str], str]) -> Decl:
    return Decl(fresh(base), part.ctype, (group.groups, size), space=Space.SHARED)

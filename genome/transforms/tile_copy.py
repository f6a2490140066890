"""The loop in which the threads of a block copy a box of an array into a shared tile.

    for round: row = thread / P + round * (threads / P)
        for lane < width: tile[row][thread % P * width + lane] = A[base + row * stride + thread % P * width + lane]

``P`` threads take a row of the box, ``width`` adjacent elements each, so that neighbouring threads read neighbouring
memory. Where the threads of the block do not divide into rows, the number of the element is decoded as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from genome.analysis.footprint import Box
from genome.analysis.touches import touches
from genome.ir.expr import Binary, Const, Expr, Index, Select, Var, integer
from genome.ir.kernel import Kernel
from genome.ir.poly import poly, variable
from genome.ir.stmt import Assign, Decl, If, Loop, LoopRole, Stmt, flatten
from genome.transforms.nests import NameSource
from genome.transforms.thread_id import block_threads

_UNROLLED = 16  # rounds of a copy that are unrolled in full


@dataclass(frozen=True)
class Tile:
    """A shared tile of a box of an array.

    Attributes:
        name: Of the tile.
        array: The array that is read.
        box: What is copied.
        sizes: Elements of the box along each of its dimensions, the fastest last.
        order: Dimensions of the box in the order of the tile's subscripts.
        width: Adjacent elements of a row that a thread copies at once; divides the last size.
    """

    name: str
    array: str
    box: Box
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    width: int = 1


def cooperative_copy(kernel: Kernel, thread: str, tile: Tile) -> Loop:
    """The copying loop; ``thread`` is the name of the kernel's linear thread index."""
    source, sizes, width = NameSource(kernel), tile.sizes, tile.width
    names = {part: source.fresh(f"{tile.array}_{part}") for part in ("round", "row", "element", "lane")}
    threads, across = block_threads(kernel), sizes[-1] // width
    by_rows = len(sizes) > 1 and threads % across == 0
    step, total = (threads // across, prod(sizes[:-1])) if by_rows else (threads, prod(sizes) // width)
    first: Expr = Binary("/", Var(thread), integer(across)) if by_rows and across > 1 else Var(thread)
    number = names["row" if by_rows else "element"]
    start = poly(Binary("+", first, Binary("*", Var(names["round"]), integer(step)))).to_expr()
    declared = Decl(number, "int", init=start, const=True)
    if by_rows and across == 1:
        position = [*_decode(Var(number), sizes[:-1]), integer(0)]
    elif by_rows:
        position = [*_decode(Var(number), sizes[:-1]), Binary("%", Var(thread), integer(across))]
    else:
        position = _decode(Var(number), [*sizes[:-1], across])
    if width > 1:
        position[-1] = (poly(position[-1]).scaled(width) + variable(names["lane"])).to_expr()
    move = _move(tile, position)
    if width > 1:
        move = Loop(names["lane"], integer(0), integer(width), (move,), role=LoopRole.INSTANCE, unroll=0)
    if total % step:
        move = If(Binary("<", Var(number), integer(total)), (move,))
    rounds = -(-total // step)
    return Loop(names["round"], integer(0), integer(rounds), (declared, move), role=LoopRole.COOPERATIVE,
                unroll=0 if rounds <= _UNROLLED else None)  # fmt: skip


def _move(tile: Tile, position: Sequence[Expr]) -> Stmt:
    """One element to its place in the tile."""
    address = tile.box.base
    for stride, at in zip(tile.box.strides, position, strict=True):
        address += stride * poly(at)
    place = tuple(position[d] for d in tile.order)
    return Assign(Index(tile.name, place), Index(tile.array, (address.to_expr(),)))


def copied(move: Assign) -> Index | None:
    """The element that an assignment copies, under a mask or not; None if its value is more than that."""
    value = move.value
    if isinstance(value, Select) and isinstance(value.other, Const):
        value = value.then
    return value if isinstance(value, Index) else None


def is_copy(stmt: Stmt) -> bool:
    """True for a loop in which the block copies a tile together."""
    return isinstance(stmt, Loop) and stmt.role is LoopRole.COOPERATIVE


def _decode(element: Expr, sizes: Sequence[int]) -> list[Expr]:
    """Mixed-radix digits of the element number, the last dimension fastest."""
    digits: list[Expr] = []
    width = 1
    for position, size in reversed(list(enumerate(sizes))):
        digit = element if width == 1 else Binary("/", element, integer(width))
        digits.append(digit if position == 0 else Binary("%", digit, integer(size)))
        width *= size
    return digits[::-1]


def stored_ahead(kernel: Kernel, region: Loop | None) -> str:
    """An argument to which a thread may store before another one copies a tile at the head of the region; else empty.

    Behind the region a barrier has ended the copies. The whole of what stands around it may come before them again.

    Args:
        kernel: The kernel.
        region: The loop in whose turns the tile is copied; None for the whole body.
    """
    holding = (at for at, stmt in enumerate(kernel.body, 1) if any(part == region for part in flatten((stmt,))))
    end = next(holding, len(kernel.body))
    pointers = frozenset(param.name for param in kernel.params if param.pointer)
    return min(touches(kernel.body[:end], pointers).written, default="")

"""Writes the exchange of results through a shared tile, once the digits of both axes are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from genome.analysis.dependence import fission
from genome.analysis.effects import element_type
from genome.ir.expr import Binary, Expr, Index, Var, integer, substitute
from genome.ir.kernel import Exchange, Kernel
from genome.ir.poly import Poly, poly, simplify, variable
from genome.ir.rewrite_stmt import substitute_body
from genome.ir.stmt import Assign, Barrier, Body, Decl, Loop, LoopRole, Space, Stmt
from genome.transforms.nests import NameSource
from genome.transforms.thread_id import block_threads, with_thread_id


@dataclass(frozen=True)
class Span:
    """What a block covers of an axis: ``tile`` elements from ``base`` on; ``index`` is an instance by digits."""

    axis: str
    base: str
    tile: int
    index: Poly


def write_exchange(kernel: Kernel, body: Body, fast: Span, slow: Span, loops: Sequence[Loop], how: Exchange) -> Kernel:
    """The mapped kernel with ``body`` computed into a tile, and the tile stored with the axes' threads exchanged.

    Args:
        kernel: Mapped; its body is replaced.
        body: Private declarations and one store, in terms of the axes.
        fast: The axis along which neighbouring threads compute.
        slow: The axis along which neighbouring threads are to store.
        loops: Instance loops of a thread, outermost first.
        how: Padding and width.
    """
    store = body[-1]
    assert isinstance(store, Assign) and isinstance(store.target, Index)
    kernel, thread = with_thread_id(kernel)
    source = NameSource(kernel)
    ctype = element_type(kernel, store.target.array) or "float"
    name = source.fresh(f"{store.target.array}_tile")
    tile = Decl(name, ctype, (slow.tile, fast.tile + how.pad), space=Space.SHARED)
    place = tuple((span.index - variable(span.base)).to_expr() for span in (slow, fast))
    values = {span.axis: span.index.to_expr() for span in (fast, slow)}
    computed = (*substitute_body((*body[:-1], Assign(store.target, store.value)), values)[:-1],
                Assign(Index(name, place), substitute(store.value, values)))  # fmt: skip
    width = how.width if slow.tile % how.width == 0 else 1
    turned, multiples = _stores(store, tile, fast, slow, width, thread, block_threads(kernel), source)
    return replace(
        kernel,
        body=(*fission(computed, loops), Barrier(), turned),
        shared=(*kernel.shared, tile),
        multiples=(*kernel.multiples, *multiples.items()),
    )


def _stores(
    store: Assign, tile: Decl, fast: Span, slow: Span, width: int, thread: str, threads: int, source: NameSource
) -> tuple[Loop, Mapping[str, int]]:
    """The loop in which the threads of the block store the tile, neighbours along the slow axis."""
    assert isinstance(store.target, Index)
    turn, element = source.fresh(f"{tile.name}_turn"), source.fresh(f"{tile.name}_element")
    at_slow, at_fast = source.fresh(f"{slow.axis}_at"), source.fresh(f"{fast.axis}_at")
    lane = source.fresh(f"{slow.axis}_lane")
    row, total = slow.tile // width, slow.tile * fast.tile // width
    along: Expr = Var(at_slow) if width == 1 else Binary("+", Var(at_slow), Var(lane))
    values = {slow.axis: (variable(slow.base) + poly(along)).to_expr(),
              fast.axis: (variable(fast.base) + variable(at_fast)).to_expr()}  # fmt: skip
    target = Index(store.target.array, tuple(simplify(substitute(s, values)) for s in store.target.subscripts))
    move: Stmt = Assign(target, Index(tile.name, (along, Var(at_fast))))
    if width > 1:
        move = Loop(lane, integer(0), integer(width), (move,), role=LoopRole.INSTANCE, unroll=0)
    inside: Body = (
        Decl(at_slow, "int", init=simplify(Binary("*", Binary("%", Var(element), integer(row)), integer(width))),
             const=True),
        Decl(at_fast, "int", init=Binary("/", Var(element), integer(row)), const=True),
        move,
    )  # fmt: skip
    if total % threads:
        # A loop, not a condition: PoCL's compiler was seen to drop the condition around several adjacent stores.
        return Loop(element, Var(thread), integer(total), inside, threads, LoopRole.EXCHANGE), {at_slow: width}
    number = poly(Var(thread)) + variable(turn).scaled(threads)
    body = (Decl(element, "int", init=number.to_expr(), const=True), *inside)
    rounds = total // threads
    loop = Loop(turn, integer(0), integer(rounds), body, role=LoopRole.EXCHANGE, unroll=0 if rounds <= 16 else None)
    return loop, {at_slow: width}

"""Pipeline: the copy of the next tile is started before the current one is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from genome.analysis.effects import element_type
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Index, Var, integer
from genome.ir.kernel import Kernel
from genome.ir.stmt import Assign, Barrier, Body, Decl, If, Loop
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource
from genome.transforms.staged_loop import StagedLoop, moves_of, staged_loop, staged_sites, with_moves
from genome.transforms.strip import renamed
from genome.transforms.tile_copy import copied

_MOST_REGISTERS = 64


class Pipeline:
    """``for t { copy t; barrier; use; barrier }`` -> ``load 0; for t { store t; barrier; load t + 1; use; barrier }``.

    Loads of the next tile go to registers while the current one is used, so that their latency is hidden. With two
    buffers the stores go to the other half of a tile of twice the size, and one barrier is enough:
    ``load 0; store 0; barrier; for t { load t + 1; use t % 2; store (t + 1) % 2; barrier }``.
    Legal where the loop is copies of tiles, a barrier, a use without barriers, and a barrier: the copies read arrays
    that the kernel does not write, at addresses that nothing in the use changes, and only where the loop comes by
    again. Parameters: ``buffers`` of each tile, 1 or 2.
    Source: software pipelining (Lam, PLDI 1988); double buffering as in CUTLASS.
    """

    name = "pipeline"
    phase = Phase.PIPELINE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop that copies tiles."""
        return staged_sites(kernel)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """One or two buffers."""
        return {"buffers": (1, 2)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        if params.get("buffers") not in (1, 2):
            return Refusal("there are one or two buffers")
        staged = staged_loop(kernel, site.label, context.assumptions.no_alias)
        if isinstance(staged, Refusal):
            return staged
        for copy in staged.copies:
            trips = [inner.trip for around, _ in moves_of(copy) for inner in around]
            if None in trips or prod(trip or 0 for trip in trips) > _MOST_REGISTERS:
                return Refusal(f"a thread would keep more than {_MOST_REGISTERS} elements of a tile in registers")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Splits the copies, and moves the loads one iteration ahead."""
        staged = staged_loop(kernel, site.label, context.assumptions.no_alias)
        assert isinstance(staged, StagedLoop)
        source = NameSource(kernel)
        halves = [_split(kernel, copy, source) for copy in staged.copies]
        registers = tuple(half[0] for half in halves)
        loads: Body = tuple(half[1] for half in halves)
        stores = renamed(tuple(half[2] for half in halves), source.fresh, "store")
        first = renamed(staged.copies_at(loads, staged.loop.lower), source.fresh, "first")
        again = Binary("<", staged.later(1), staged.loop.upper)
        following = If(again, staged.copies_at(loads, staged.later(1)))
        if int(params["buffers"]) == 1:
            body: Body = (*stores, Barrier(), following, *staged.use, Barrier())
            return staged.replaced(kernel, (*registers, *staged.if_any(first), replace(staged.loop, body=body)))
        stage = source.fresh(f"{site.label}_stage")
        here = Decl(stage, "int", init=Binary("%", staged.turn, integer(2)), const=True)
        filled = renamed(staged.in_buffer(stores, integer(0)), source.fresh, "first")
        other = If(again, staged.in_buffer(stores, Binary("-", integer(1), Var(stage))))
        body = (here, following, *staged.in_buffer(staged.use, Var(stage)), other, Barrier())
        start = (*registers, *staged.if_any((*first, *filled)), Barrier())
        return staged.replaced(kernel, (*start, replace(staged.loop, body=body)), buffers=2)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        where = "into a second buffer" if params["buffers"] == 2 else "into registers"
        return f"the next tiles of the loop over {site.label} are loaded ahead, {where}"


def _split(kernel: Kernel, copy: Loop, source: NameSource) -> tuple[Decl, Loop, Loop]:
    """(registers, the loop that loads into them, the loop that stores them into the tile)."""
    around, move = moves_of(copy)[0]
    element = copied(move)
    assert element is not None
    kept = Index(source.fresh(f"{element.array}_ahead"), tuple(Var(inner.var) for inner in around))
    ctype = element_type(kernel, element.array) or "float"
    registers = Decl(kept.array, ctype, tuple(inner.trip or 0 for inner in around))
    loading = with_moves(copy, lambda stmt: Assign(kept, stmt.value))
    return registers, loading, with_moves(copy, lambda stmt: Assign(stmt.target, kept))

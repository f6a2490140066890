"""Pipeline: the copy of the next tile is started before the current one is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

from genome.analysis.effects import effects, element_type, holds_barrier, loop_nest, shared_arrays
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, Index, Var, integer, names, rewrite
from genome.ir.kernel import Kernel
from genome.ir.poly import poly, simplify
from genome.ir.rewrite_stmt import map_body, map_stmts, substitute_body
from genome.ir.stmt import Assign, Barrier, Body, Decl, If, Loop, Stmt, flatten, used_names, written_names
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource
from genome.transforms.strip import renamed
from genome.transforms.tile_copy import copied, is_copy

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
        found = (s for s in flatten(kernel.body) if isinstance(s, Loop) and any(is_copy(inner) for inner in s.body))
        return tuple(Site(loop.var, f"staged[{number}]") for number, loop in enumerate(found))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """One or two buffers."""
        return {"buffers": (1, 2)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        if params.get("buffers") not in (1, 2):
            return Refusal("there are one or two buffers")
        found = loop_nest(kernel.body, site.label)
        parts = _parts(found[1]) if found is not None else None
        if found is None or parts is None:
            return Refusal("the loop is more than copies of tiles and their use between barriers")
        return _unsafe(kernel, found[1], parts, context.assumptions.no_alias)

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Splits the copies, and moves the loads one iteration ahead."""
        found = loop_nest(kernel.body, site.label)
        assert found is not None
        loop = found[1]
        parts = _parts(loop)
        assert parts is not None
        return _Pipelining(kernel, loop, parts).apply(int(params["buffers"]))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        where = "into a second buffer" if params["buffers"] == 2 else "into registers"
        return f"the next tiles of the loop over {site.label} are loaded ahead, {where}"


@dataclass(frozen=True)
class _Parts:
    copies: tuple[Loop, ...]
    use: Body


def _parts(loop: Loop) -> _Parts | None:
    """The loop's body as copies, barrier, use, barrier; None if it is anything else."""
    copies = tuple(stmt for stmt in loop.body if isinstance(stmt, Loop) and is_copy(stmt))
    rest = loop.body[len(copies) :]
    if not copies or loop.body[: len(copies)] != copies or len(rest) < 3:
        return None
    use = rest[1:-1]
    whole = isinstance(rest[0], Barrier) and isinstance(rest[-1], Barrier) and not holds_barrier(use)
    return _Parts(copies, use) if whole else None


def _moves(copy: Loop) -> list[tuple[tuple[Loop, ...], Assign]]:
    """Every assignment of a copy, with the loops around it."""
    found: list[tuple[tuple[Loop, ...], Assign]] = []

    def visit(stmt: Stmt, around: tuple[Loop, ...]) -> None:
        if isinstance(stmt, Assign):
            found.append((around, stmt))
        inside = stmt.body if isinstance(stmt, Loop) else stmt.then if isinstance(stmt, If) else ()
        for inner in inside:
            visit(inner, (*around, stmt) if isinstance(stmt, Loop) else around)

    visit(copy, ())
    return found


def _unsafe(kernel: Kernel, loop: Loop, parts: _Parts, no_alias: bool) -> Refusal | None:
    """Why the loads may not be moved ahead of the use; None if they may."""
    shared = set(shared_arrays(kernel))
    for copy in parts.copies:
        moves = _moves(copy)
        for around, move in moves:
            if len(moves) > 1 or not (
                isinstance(move.target, Index) and move.target.array in shared and copied(move) is not None
            ):
                return Refusal("a copy does more than move elements into a tile")
            trips = [inner.trip for inner in around]
            if None in trips or prod(trip or 0 for trip in trips) > _MOST_REGISTERS:
                return Refusal(f"a thread would keep more than {_MOST_REGISTERS} elements of a tile in registers")
    seen = effects(parts.use)
    pointers = {param.name for param in kernel.params if param.pointer}
    if seen.opaque or seen.calls or (not no_alias and any(store.array in pointers for store in seen.stores)):
        return Refusal("the use of the tiles may write what the next copies read", "assume.no_alias")
    changed = set(written_names(parts.use)) & set(used_names(parts.copies))
    return Refusal(f"the use of the tiles changes {min(changed)}, which the copies need") if changed else None


class _Pipelining:
    """Rewrites one loop of one kernel."""

    def __init__(self, kernel: Kernel, loop: Loop, parts: _Parts) -> None:
        self.kernel, self.loop, self.parts = kernel, loop, parts
        self.source = NameSource(kernel)
        self.tiles = {move.target.array for copy in parts.copies for _, move in _moves(copy)
                      if isinstance(move.target, Index)}  # fmt: skip

    def apply(self, buffers: int) -> Kernel:
        """The kernel with the loop pipelined."""
        loop, kernel = self.loop, self.kernel
        halves = [self._split(copy) for copy in self.parts.copies]
        registers = tuple(half[0] for half in halves)
        loads: Body = tuple(half[1] for half in halves)
        stores: Body = tuple(half[2] for half in halves)
        ahead = simplify(Binary("+", Var(loop.var), integer(loop.step)))
        again = Binary("<", ahead, loop.upper)
        first = self._renamed(_at(loads, loop.var, loop.lower), "first")
        following = _at(loads, loop.var, ahead)
        stores = self._renamed(stores, "store")
        if buffers == 1:
            body: Body = (*stores, Barrier(), If(again, following), *self.parts.use, Barrier())
            return self._replaced((*registers, *self._if_any(first), replace(loop, body=body)))
        stage = self.source.fresh(f"{loop.var}_stage")
        number = Binary("/", (poly(Var(loop.var)) - poly(loop.lower)).to_expr(), integer(loop.step))
        here = Decl(stage, "int", init=Binary("%", number, integer(2)), const=True)
        filled = self._renamed(self._in_buffer(stores, integer(0)), "first")
        use = self._in_buffer(self.parts.use, Var(stage))
        other = self._in_buffer(stores, Binary("-", integer(1), Var(stage)))
        body = (here, If(again, following), *use, If(again, other), Barrier())
        shared = tuple(replace(d, dims=(2, *d.dims)) if d.name in self.tiles else d for d in kernel.shared)
        whole = (*registers, *self._if_any((*first, *filled)), Barrier(), replace(loop, body=body))
        return replace(self._replaced(whole), shared=shared)

    def _replaced(self, whole: Body) -> Kernel:
        body = map_stmts(self.kernel.body, lambda stmt: whole if stmt == self.loop else (stmt,))
        return replace(self.kernel, body=body)

    def _split(self, copy: Loop) -> tuple[Decl, Loop, Loop]:
        """(registers, the loop that loads into them, the loop that stores them into the tile)."""
        around, move = _moves(copy)[0]
        element = copied(move)
        assert element is not None
        kept = Index(self.source.fresh(f"{element.array}_ahead"), tuple(Var(inner.var) for inner in around))
        ctype = element_type(self.kernel, element.array) or "float"
        registers = Decl(kept.array, ctype, tuple(inner.trip or 0 for inner in around))
        loading = _with_moves(copy, lambda stmt: Assign(kept, stmt.value))
        return registers, loading, _with_moves(copy, lambda stmt: Assign(stmt.target, kept))

    def _renamed(self, body: Body, suffix: str) -> Body:
        return renamed(body, self.source.fresh, suffix)

    def _if_any(self, body: Body) -> Body:
        """The body where the loop comes by at all."""
        return body if self.loop.trip else (If(Binary("<", self.loop.lower, self.loop.upper), body),)

    def _in_buffer(self, body: Body, number: Expr) -> Body:
        """The body with every access of a tile in the buffer of that number."""

        def visit(node: Expr) -> Expr:
            if isinstance(node, Index) and node.array in self.tiles:
                return Index(node.array, (number, *node.subscripts))
            return node

        return map_body(body, lambda expr: rewrite(expr, visit, lambda node: self.tiles.isdisjoint(names(node))))


def _at(loads: Body, var: str, value: Expr) -> Body:
    """The loads with the loop's variable replaced, their addresses in normal form."""

    def visit(node: Expr) -> Expr:
        return Index(node.array, tuple(map(simplify, node.subscripts))) if isinstance(node, Index) else node

    return map_body(substitute_body(loads, {var: value}), lambda expr: rewrite(expr, visit))


def _with_moves(copy: Loop, function: Callable[[Assign], Stmt]) -> Loop:
    """The copy with its assignments replaced, unrolled in full: registers have no addresses."""

    def visit(stmt: Stmt) -> Body:
        if isinstance(stmt, Assign):
            return (function(stmt),)
        return (replace(stmt, unroll=0),) if isinstance(stmt, Loop) else (stmt,)

    (result,) = map_stmts((copy,), visit)
    assert isinstance(result, Loop)
    return result

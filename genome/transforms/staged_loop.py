"""A loop that copies tiles and then uses them, taken apart for the transforms that start copies ahead of their use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from genome.analysis.effects import effects, holds_barrier, loop_nest, shared_arrays
from genome.genes import Site
from genome.ir.expr import Binary, Cast, Expr, Index, Var, integer, names, rewrite
from genome.ir.kernel import Kernel
from genome.ir.poly import poly, simplify
from genome.ir.rewrite_stmt import map_body, map_stmts, substitute_body
from genome.ir.stmt import Assign, Barrier, Body, Decl, If, Loop, Stmt, flatten, used_names, written_names
from genome.transforms.base import Refusal
from genome.transforms.tile_copy import copied, is_copy


@dataclass(frozen=True)
class StagedLoop:
    """``for t { copies; barrier; use; barrier }``, the use without barriers.

    Attributes:
        loop: The whole of it.
        copies: Each holds one assignment.
        use: What stands between the barriers.
    """

    loop: Loop
    copies: tuple[Loop, ...]
    use: Body

    @property
    def tiles(self) -> frozenset[str]:
        """The shared arrays that the copies fill."""
        return frozenset(name for copy in self.copies for name in written_names((copy,)))

    @property
    def turn(self) -> Expr:
        """How often the loop came by before."""
        return Binary("/", (poly(Var(self.loop.var)) - poly(self.loop.lower)).to_expr(), integer(self.loop.step))

    def later(self, turns: int) -> Expr:
        """The loop's variable so many turns later."""
        return simplify(Binary("+", Var(self.loop.var), integer(turns * self.loop.step)))

    def if_any(self, body: Body, turns: int = 0) -> Body:
        """The body where the loop comes by more often than that."""
        loop = self.loop
        if loop.trip is not None:
            return body if loop.trip > turns else ()
        start = loop.lower if loop.ctype == "int" else Cast(loop.ctype, loop.lower)
        if turns:
            start = (poly(start) + poly(integer(turns * loop.step))).to_expr()
        return (If(Binary("<", start, loop.upper), body),)

    def in_buffer(self, body: Body, number: Expr) -> Body:
        """The body with every access of a tile in the buffer of that number."""

        def visit(node: Expr) -> Expr:
            if isinstance(node, Index) and node.array in self.tiles:
                return Index(node.array, (number, *node.subscripts))
            return node

        return map_body(body, lambda expr: rewrite(expr, visit, lambda node: self.tiles.isdisjoint(names(node))))

    def copies_at(self, copies: Body, value: Expr) -> Body:
        """Copies in the turn in which the loop's variable has that value, their addresses in normal form."""

        def visit(node: Expr) -> Expr:
            return Index(node.array, tuple(map(simplify, node.subscripts))) if isinstance(node, Index) else node

        return map_body(substitute_body(copies, {self.loop.var: value}), lambda expr: rewrite(expr, visit))

    def replaced(self, kernel: Kernel, whole: Body, buffers: int = 1) -> Kernel:
        """The kernel with these statements in place of the loop, and so many buffers of each tile."""
        body = map_stmts(kernel.body, lambda stmt: whole if stmt == self.loop else (stmt,))
        if buffers == 1:
            return replace(kernel, body=body)
        shared = tuple(replace(d, dims=(buffers, *d.dims)) if d.name in self.tiles else d for d in kernel.shared)
        return replace(kernel, body=body, shared=shared)


def staged_sites(kernel: Kernel) -> tuple[Site, ...]:
    """One a loop that copies tiles: ``Site("k_outer", "staged[0]")``."""
    found = (s for s in flatten(kernel.body) if isinstance(s, Loop) and any(is_copy(inner) for inner in s.body))
    return tuple(Site(loop.var, f"staged[{number}]") for number, loop in enumerate(found))


def staged_loop(kernel: Kernel, label: str, no_alias: bool) -> StagedLoop | Refusal:
    """The loop over that variable, if its copies may be started before earlier uses have ended; else why not."""
    found = loop_nest(kernel.body, label)
    staged = _parts(found[1]) if found is not None else None
    if staged is None:
        return Refusal("the loop is more than copies of tiles and their use between barriers")
    shared = set(shared_arrays(kernel))
    for copy in staged.copies:
        moves = moves_of(copy)
        simple = all(isinstance(m.target, Index) and m.target.array in shared and copied(m) for _, m in moves)
        if len(moves) != 1 or not simple:
            return Refusal("a copy does more than move elements into a tile")
    return _unsafe(kernel, staged, no_alias) or staged


def moves_of(copy: Loop) -> list[tuple[tuple[Loop, ...], Assign]]:
    """Every assignment of a copy, with the loops around it."""
    found: list[tuple[tuple[Loop, ...], Assign]] = []

    def visit(stmt: Stmt, around: tuple[Loop, ...]) -> None:
        if isinstance(stmt, Assign):
            found.append((around, stmt))
        for inner in stmt.inside:
            visit(inner, (*around, stmt) if isinstance(stmt, Loop) else around)

    visit(copy, ())
    return found


def with_moves(copy: Loop, function: Callable[[Assign], Stmt]) -> Loop:
    """The copy with its assignments replaced, unrolled in full: registers have no addresses."""

    def visit(stmt: Stmt) -> Body:
        if isinstance(stmt, Assign):
            return (function(stmt),)
        return (replace(stmt, unroll=0),) if isinstance(stmt, Loop) else (stmt,)

    (result,) = map_stmts((copy,), visit)
    assert isinstance(result, Loop)
    return result


def _parts(loop: Loop) -> StagedLoop | None:
    copies = tuple(stmt for stmt in loop.body if isinstance(stmt, Loop) and is_copy(stmt))
    rest = loop.body[len(copies) :]
    if not copies or loop.body[: len(copies)] != copies or len(rest) < 3:
        return None
    use = rest[1:-1]
    whole = isinstance(rest[0], Barrier) and isinstance(rest[-1], Barrier) and not holds_barrier(use)
    return StagedLoop(loop, copies, use) if whole else None


def _unsafe(kernel: Kernel, staged: StagedLoop, no_alias: bool) -> Refusal | None:
    """What the use of the tiles may change of what the next copies read."""
    seen = effects(staged.use)
    pointers = {param.name for param in kernel.params if param.pointer}
    if seen.opaque or seen.calls or (not no_alias and any(store.array in pointers for store in seen.stores)):
        return Refusal("the use of the tiles may write what the next copies read", "assume.no_alias")
    inside = {stmt.name for stmt in flatten(staged.copies) if isinstance(stmt, Decl)}
    changed = set(written_names(staged.use)) & set(used_names(staged.copies)) - inside
    return Refusal(f"the use of the tiles changes {min(changed)}, which the copies need") if changed else None

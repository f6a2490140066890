"""Asynchronous copies: tiles travel from memory to shared arrays past the registers, several turns ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from genome.analysis.effects import element_type
from genome.genes import ParamValue, Site
from genome.ir.async_stmt import AsyncCommit, AsyncCopy, AsyncWait
from genome.ir.expr import Binary, Index, Var, integer
from genome.ir.kernel import Condition, Kernel
from genome.ir.poly import poly, variable
from genome.ir.print_async import ASYNC_BYTES
from genome.ir.rewrite_stmt import map_stmts, substitute_body
from genome.ir.stmt import Assign, Barrier, Body, Decl, If, Loop, LoopRole, Stmt
from genome.ir.type_sizes import size_of
from genome.transforms.base import Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource
from genome.transforms.staged_loop import StagedLoop, moves_of, staged_loop, staged_sites
from genome.transforms.strip import renamed
from genome.transforms.vectorise import alignment, stride
from genome.variant import Target


class AsyncCopies:
    """``for t { copy t; barrier; use }`` -> ``start 0 .. S-2; for t { start t + S-1; use t % S; wait; barrier }``.

    The tiles have ``S`` buffers, and the copies (``cp.async``) need no registers, which are left to the accumulators.
    A turn waits at its end for the tiles of the next one; those of the ``S - 2`` turns after it may still be under way.
    The barrier then shows them to the whole block, and frees the buffer that was used. Legal where ``pipeline`` is, for
    copies of elements as they are. A copy takes the ``width`` of the tile's gene at once where both sides are
    contiguous and aligned, else one element of 4 or 8 bytes. CUDA only, from compute capability 8.0. Parameters:
    ``stages`` buffers of each tile, 2 to 4.
    Source: "CUDA C++ programming guide", asynchronous data copies; multistage pipelines of CUTLASS.
    """

    name = "async_copy"
    phase = Phase.PIPELINE
    targets = frozenset({Target.CUDA})

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop that copies tiles."""
        return staged_sites(kernel)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Two to four stages."""
        return {"stages": (2, 3, 4)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        if params.get("stages") not in (2, 3, 4):
            return Refusal("there are two to four stages")
        staged = staged_loop(kernel, site.label, context.assumptions.no_alias)
        if isinstance(staged, Refusal):
            return staged
        for copy in staged.copies:
            move = moves_of(copy)[0][1]
            if not isinstance(move.value, Index):
                return Refusal(f"{min(staged.tiles)} is filled with more than elements of an array")
            if _lane(kernel, copy)[0] is None and _bytes(kernel, move) not in ASYNC_BYTES:
                return Refusal(f"there are no asynchronous copies of {_bytes(kernel, move)} bytes")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Starts the copies ahead."""
        staged = staged_loop(kernel, site.label, context.assumptions.no_alias)
        assert isinstance(staged, StagedLoop)
        stages, source, loop = int(params["stages"]), NameSource(kernel), staged.loop
        conditions = [condition for copy in staged.copies for condition in _lane(kernel, copy)[1]]
        started: Body = tuple(_started(kernel, copy) for copy in staged.copies)
        turn = source.fresh(f"{site.label}_turn")
        first: list[Stmt] = []
        for stage in range(stages - 1):
            at = (poly(loop.lower) + poly(integer(stage * loop.step))).to_expr()
            copies = renamed(staged.in_buffer(staged.copies_at(started, at), integer(stage)), source.fresh, "first")
            first += [*staged.if_any(copies, stage), AsyncCommit()]
        ahead = Binary("%", (variable(turn) + poly(integer(stages - 1))).to_expr(), integer(stages))
        following = staged.in_buffer(staged.copies_at(started, staged.later(stages - 1)), ahead)
        body: Body = (
            Decl(turn, "int", init=staged.turn, const=True),
            If(Binary("<", staged.later(stages - 1), loop.upper), following),
            AsyncCommit(),
            *staged.in_buffer(staged.use, Binary("%", Var(turn), integer(stages))),
            AsyncWait(stages - 2),
            Barrier(),
        )
        whole = (*first, AsyncWait(stages - 2), Barrier(), replace(loop, body=body))
        return staged.replaced(kernel, whole, buffers=stages).require(*conditions)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"the tiles of the loop over {site.label} are copied asynchronously, {params['stages']} stages deep"


def _bytes(kernel: Kernel, move: Assign) -> int:
    assert isinstance(move.target, Index)
    return size_of(element_type(kernel, move.target.array) or "")


def _lane(kernel: Kernel, copy: Loop) -> tuple[Loop | None, list[Condition]]:
    """The loop over adjacent elements that one asynchronous copy can take, and what must hold for it."""
    around, move = moves_of(copy)[0]
    lane = around[-1]
    width = lane.trip or 0
    ends = [end for end in (move.target, move.value) if isinstance(end, Index)]
    wide = lane.role is LoopRole.INSTANCE and width * _bytes(kernel, move) in ASYNC_BYTES
    if not wide or any(stride(end, lane.var) != 1 for end in ends):
        return None, []
    needed = [alignment(kernel, end, lane, width) for end in ends]
    tile = next(decl for decl in kernel.shared if decl.name == ends[0].array)
    if prod(tile.dims) % width:  # the next buffer would begin off the alignment
        return None, []
    if any(isinstance(conditions, Refusal) for conditions in needed):
        return None, []
    return lane, [condition for conditions in needed if not isinstance(conditions, Refusal) for condition in conditions]


def _started(kernel: Kernel, copy: Loop) -> Loop:
    """The copy without waiting for it."""
    lane, _ = _lane(kernel, copy)

    def visit(stmt: Stmt) -> Body:
        if isinstance(stmt, Assign):
            return (AsyncCopy(stmt.target, stmt.value, width=1 if lane is None else lane.trip or 1),)
        if lane is not None and isinstance(stmt, Loop) and stmt.var == lane.var:
            return substitute_body(stmt.body, {lane.var: integer(0)})
        return (replace(stmt, role=LoopRole.COOPERATIVE),) if isinstance(stmt, Loop) else (stmt,)

    (result,) = map_stmts((copy,), visit)
    assert isinstance(result, Loop)
    return result

"""Shared-memory tile: a block copies the box of elements that it is about to use, then works from the copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from genome.analysis.corners import corners_inside
from genome.analysis.effects import effects, element_type, holds_barrier
from genome.analysis.footprint import UNIT, Box, FootprintError, Range, footprint, loop_range, union
from genome.genes import ParamValue, Site
from genome.ir.expr import Expr, Index, accesses, names, rewrite
from genome.ir.halves import HALVES
from genome.ir.kernel import Kernel
from genome.ir.poly import constant
from genome.ir.rewrite_stmt import map_body
from genome.ir.stmt import (
    Barrier,
    Body,
    Decl,
    If,
    Loop,
    LoopRole,
    Opaque,
    Repeat,
    Space,
    Stmt,
    expressions,
    flatten,
    written_names,
)
from genome.transforms.base import ALL_TARGETS, MOST_PAD, Context, Params, Phase, Refusal
from genome.transforms.nests import sure_reads
from genome.transforms.sites import read_arrays
from genome.transforms.thread_id import with_thread_id
from genome.transforms.tile_copy import Tile, cooperative_copy, is_copy, stored_ahead

_WIDTHS = (1, 2, 4, 8)


class SharedTile:
    """``for k0 { use A[f(thread, k)] }`` -> ``for k0 { copy box of A; barrier; use tile; barrier }``.

    The region is the innermost strip-mined loop that holds the reads, else the whole body (a stencil's halo). Legal if
    every subscript is affine with non-negative strides in the thread, instance and strip variables; the rest of it and
    all control around the region is uniform in the block; the array is not written, nothing written before the region
    or in it may overlap it, and corners of the box that no read meets lie inside of it. Blocks that are not whole run
    the guarded tail. Parameters: ``pad`` elements added to a row against bank conflicts; ``transpose`` stores a
    two-dimensional tile the other way round; ``width`` adjacent elements that a thread copies at once (``vectorise`` of
    the array, and of the tile, then makes one access of them).
    Source: Wolf and Lam, "A data locality optimizing algorithm", PLDI 1991 (reuse); the footprint is a lattice box.
    """

    name = "shared_tile"
    phase = Phase.STAGING
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array that is read; those that are written as well, which cannot be staged, come last."""
        if not kernel.threads:
            return ()
        written = set(written_names(kernel.body))
        arrays = sorted(read_arrays(kernel), key=lambda array: array in written)
        return tuple(Site(array, f"read.reused[{number}]") for number, array in enumerate(arrays))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Paddings of 0, 1 and 4 elements, both layouts, copies of one element and of vectors; 8 for 16-bit floats."""
        if element_type(kernel, site.label) in HALVES:
            return {"pad": (0, 8), "transpose": (0, 1), "width": _WIDTHS}
        return {"pad": (0, 1, 4), "transpose": (0, 1), "width": _WIDTHS[:-1]}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        pad = params.get("pad", 0)
        if not isinstance(pad, int) or not 0 <= pad <= MOST_PAD or params.get("transpose", 0) not in (0, 1):
            return Refusal("there is no such padding or layout")
        width = params.get("width", 1)
        if not isinstance(width, int) or width not in _WIDTHS:
            return Refusal(f"there are no copies of {width}")
        plan = _plan(kernel, site.label, context.assumptions.no_alias)
        if isinstance(plan, Refusal):
            return plan
        if not plan.in_groups(width):
            return Refusal(f"rows of the tile are not groups of {width} elements")
        if corners_inside(kernel, site.label, plan.box, plan.offsets, context.spec) is None:
            return Refusal(f"corners of the tile, which nothing reads, may lie outside of {site.label}")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Stages the array."""
        plan = _plan(kernel, site.label, context.assumptions.no_alias)
        assert isinstance(plan, _Plan)
        staging = _Staging(kernel, site.label, context.assumptions.no_alias)
        layout = int(params.get("pad", 0)), bool(params.get("transpose", 0)), int(params.get("width", 1))
        inside = corners_inside(kernel, site.label, plan.box, plan.offsets, context.spec)
        return staging.apply(plan, *layout).require(*inside or ())

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        extra = f", rows padded by {params['pad']}" if params.get("pad") else ""
        turned = ", transposed" if params.get("transpose") else ""
        return f"the block copies the part of {site.label} that it reuses into shared memory{turned}{extra}"


class _Refused(Exception):
    def __init__(self, reason: str, grant: str = "") -> None:
        super().__init__(reason)
        self.grant = grant


@dataclass(frozen=True)
class _Plan:
    region: Loop | None
    reads: tuple[Index, ...]
    box: Box
    offsets: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Elements of the tile along each dimension of the box."""
        reach = (max(column) for column in zip(*self.offsets, strict=True))
        return tuple(self.box.size(d) + most for d, most in enumerate(reach))

    def in_groups(self, width: int) -> bool:
        """True if a row of the box is whole groups of that many adjacent elements."""
        return width == 1 or (self.box.strides[-1] == UNIT and self.sizes[-1] % width == 0)


@lru_cache(maxsize=256)
def _plan(kernel: Kernel, array: str, no_alias: bool) -> _Plan | Refusal:
    """The plan, which no parameter changes: made once for the checks of all their values and the rewrite."""
    try:
        return _Staging(kernel, array, no_alias).plan()
    except FootprintError as error:
        return Refusal(str(error))
    except _Refused as error:
        return Refusal(str(error), error.grant)


class _Staging:
    """Plans and writes the staging of one array in one kernel."""

    def __init__(self, kernel: Kernel, array: str, no_alias: bool) -> None:
        self.kernel, self.array, self.no_alias = kernel, array, no_alias

    def plan(self) -> _Plan:
        region, enclosing = self._region()
        whole = self.kernel.body if region is None else region.body
        body = self._computation(whole)
        if holds_barrier(whole) and not any(is_copy(stmt) for stmt in whole):
            raise _Refused("the region holds a barrier of its own")
        self._refuse_effects(body, region)
        reads = self._reads(body)
        if not reads:
            raise _Refused(f"nothing in the region reads {self.array}")
        uniform = self._uniform_names(enclosing)
        loops = (stmt for stmt in flatten(body) if isinstance(stmt, Loop) and self._reads((stmt,)))
        ranges = {name: Range(count) for name, count in self.kernel.threads}
        ranges |= {loop.var: values for loop in loops if (values := loop_range(loop)) is not None}
        boxes = []
        for read in reads:
            if len(read.subscripts) != 1:
                raise _Refused(f"{self.array} has more than one subscript")
            used = set(names(read.subscripts[0]))
            box = footprint(read.subscripts[0], {name: n for name, n in ranges.items() if name in used})
            stray = [name for atom in box.base.atoms for name in names(atom) if name not in uniform]
            if stray:
                raise _Refused(f"the address depends on {stray[0]}, which may differ within the block")
            boxes.append(box)
        box, offsets = union(boxes)
        if not box.strides:
            raise _Refused("the whole block reads one element: a register is enough")
        return _Plan(region, tuple(reads), box, offsets)

    def _region(self) -> tuple[Loop | None, tuple[Loop, ...]]:
        """The innermost tile loop that holds every read, with the loops around it."""
        found: list[tuple[Loop, tuple[Loop, ...]]] = []

        def visit(body: Body, around: tuple[Loop, ...]) -> None:
            for stmt in body:
                if isinstance(stmt, Loop):
                    if stmt.role is LoopRole.TILE and self._reads(stmt.body):
                        found.append((stmt, around))
                    visit(stmt.body, (*around, stmt))

        visit(self.kernel.body, ())
        if not found:
            return None, ()
        loop, around = found[-1]
        return loop, (*around, loop)

    def _uniform_names(self, enclosing: Sequence[Loop]) -> set[str]:
        threads = {name for name, _ in self.kernel.threads}
        uniform = {param.name for param in self.kernel.params if not param.pointer}
        uniform |= {s.name for s in self.kernel.prologue if isinstance(s, Decl) and not self._mentions(s, threads)}
        uniform |= {s.var for s in self.kernel.rounds} | {
            s.name for s in flatten(self.kernel.rounds) if isinstance(s, Decl)
        }
        uniform -= threads | set(written_names(self.kernel.body))
        for loop in enclosing:
            bounds = set(names(loop.lower)) | set(names(loop.upper))
            if bounds - uniform:
                raise _Refused(f"the bounds of the loop over {loop.var} may differ within the block")
            uniform.add(loop.var)
        return uniform

    def _mentions(self, decl: Decl, threads: set[str]) -> bool:
        found = set(names(decl.init)) if decl.init is not None else set()
        return decl.name in threads or bool(found & threads) or any(name.startswith("threadIdx") for name in found)

    def _refuse_effects(self, body: Body, region: Loop | None) -> None:
        seen = effects(body)
        if seen.opaque or seen.calls:
            raise _Refused("the region holds an atomic or statements that the engine does not see into")
        if self.array in written_names(self.kernel.body):
            raise _Refused(f"{self.array} is written by the kernel")
        stored = stored_ahead(self.kernel, region)
        if stored and not self.no_alias:
            raise _Refused(f"{stored} is written before the copies and may overlap {self.array}", "assume.no_alias")
        for stmt in flatten(body):
            if isinstance(stmt, If) and self._reads((stmt,)):
                raise _Refused(f"{self.array} is read under a condition: the copy might read out of bounds")
            if isinstance(stmt, Repeat) and self._reads((stmt,)):
                raise _Refused(f"{self.array} is read in the loop on line {stmt.line}, whose turns nothing counts")
            if isinstance(stmt, Loop) and stmt.trip is None and self._reads((stmt,)):
                raise _Refused(f"the loop over {stmt.var} has no constant trip count: strip-mine it first")

    def _reads(self, body: Body) -> list[Index]:
        found: dict[Index, None] = {}
        for stmt in flatten(body):
            for expr in expressions(stmt):
                if self.array not in names(expr):
                    continue
                for access in accesses(expr):
                    if access.array == self.array:
                        if access not in sure_reads(expr):
                            raise _Refused(f"{self.array} is read under a condition: the copy might read out of bounds")
                        found.setdefault(access)
            if isinstance(stmt, Opaque) and self.array in (*stmt.reads, *stmt.writes):
                raise _Refused(f"a region that the engine does not see into uses {self.array}")
        return list(found)

    @staticmethod
    def _computation(body: Body) -> Body:
        """The region without cooperative copies and barriers that earlier genes put there."""
        return tuple(stmt for stmt in body if not isinstance(stmt, Barrier) and not is_copy(stmt))

    def apply(self, plan: _Plan, pad: int, transpose: bool, width: int) -> Kernel:
        kernel, thread = with_thread_id(self.kernel)
        box, sizes = plan.box, plan.sizes
        order = list(range(len(sizes)))
        if transpose and len(order) > 1:
            order.reverse()
        name = kernel.fresh(f"{self.array}_tile")
        dims = [sizes[d] for d in order]
        dims[-1] += pad
        ctype = element_type(kernel, self.array) or "float"
        shared = Decl(name, ctype, tuple(dims), space=Space.SHARED)
        copy = cooperative_copy(kernel, thread, Tile(name, self.array, box, sizes, tuple(order), width))
        new = {
            read: Index(name, tuple((box.local(d) + constant(offset[d])).to_expr() for d in order))
            for read, offset in zip(plan.reads, plan.offsets, strict=True)
        }

        def redirect(expr: Expr) -> Expr:
            return rewrite(
                expr,
                lambda node: new.get(node, node) if isinstance(node, Index) else node,
                lambda node: self.array not in names(node),
            )

        def stage(body: Body) -> Body:
            copies = tuple(stmt for stmt in body if is_copy(stmt))
            work = map_body(self._computation(body), redirect)
            end: Body = () if plan.region is None else (Barrier(),)
            return (*copies, copy, Barrier(), *work, *end)

        kernel = replace(kernel, shared=(*kernel.shared, shared))
        if plan.region is None:
            return replace(kernel, body=stage(kernel.body))
        return replace(kernel, body=_replace_loop(kernel.body, plan.region, stage))


def _replace_loop(body: Body, region: Loop, stage: Callable[[Body], Body]) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        if stmt == region and isinstance(stmt, Loop):
            result.append(replace(stmt, body=stage(stmt.body)))
        elif isinstance(stmt, Loop):
            result.append(replace(stmt, body=_replace_loop(stmt.body, region, stage)))
        else:
            result.append(stmt)
    return tuple(result)

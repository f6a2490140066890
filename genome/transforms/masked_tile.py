"""Masked tile: a block copies a box of elements, zeros where a mask leaves them out, and works without the mask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from genome.analysis.effects import effects, element_type, holds_barrier
from genome.analysis.filled import unfilled
from genome.analysis.footprint import Box, FootprintError, Range, footprint, loop_range, union
from genome.analysis.tile_mask import MaskError, Sided, mask_at, mask_terms
from genome.genes import ParamValue, Site
from genome.ir.expr import Const, Expr, Index, Select, conjunction, names, rewrite, walk
from genome.ir.kernel import Kernel
from genome.ir.poly import constant
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_body, map_stmts
from genome.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Decl,
    If,
    Loop,
    LoopRole,
    Repeat,
    Space,
    Stmt,
    expressions,
    flatten,
    written_names,
)
from genome.transforms.base import ALL_TARGETS, MOST_PAD, Context, Params, Phase, Refusal
from genome.transforms.nests import sure_reads
from genome.transforms.thread_id import with_thread_id
from genome.transforms.tile_copy import Tile, cooperative_copy, is_copy, stored_ahead


class MaskedTile:
    """``for k0 { use inside(f) ? A[f] : 0 }`` -> ``for k0 { copy box of A, 0 outside; barrier; use tile; barrier }``.

    The border of a convolution or stencil is then tested once an element of the tile, not once a use. Legal where
    ``shared_tile`` is, and if the mask is a conjunction of comparisons that are affine in the element's position in the
    box, the same for every access; some access of the block must meet every position of the box, so that the mask alone
    decides what may be read. Parameters: ``pad`` elements added to a row against bank conflicts.
    Source: halo loading of stencil codes (Micikevicius, "3D finite difference computation on GPUs", GPGPU 2009).
    """

    name = "masked_tile"
    phase = Phase.STAGING
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array of which elements are read under masks."""
        if not kernel.threads:
            return ()
        masked = (select for stmt in flatten(kernel.body) for expr in expressions(stmt) for select in _masked(expr))
        arrays = dict.fromkeys(select.then.array for select in masked if isinstance(select.then, Index))
        return tuple(Site(array, f"read.masked[{number}]") for number, array in enumerate(arrays))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Paddings that keep rows of a small halo apart or aligned."""
        return {"pad": (0, 1, 2, 4)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        pad = params.get("pad", 0)
        if not isinstance(pad, int) or not 0 <= pad <= MOST_PAD:
            return Refusal("there is no such padding")
        plan = _plan(kernel, site.label, context.assumptions.no_alias)
        return plan if isinstance(plan, Refusal) else None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Stages the array."""
        plan = _plan(kernel, site.label, context.assumptions.no_alias)
        assert isinstance(plan, _Plan)
        return _staged(kernel, site.label, plan, int(params.get("pad", 0)))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        extra = f", rows padded by {params['pad']}" if params.get("pad") else ""
        return f"the block copies its part of {site.label} into shared memory, zeros where nothing counts{extra}"


class _Refused(Exception):
    def __init__(self, reason: str, grant: str = "") -> None:
        super().__init__(reason)
        self.grant = grant


@dataclass(frozen=True)
class _Plan:
    """What is staged: the loop in whose body it happens, the masked reads, their box, and where each starts in it."""

    region: Loop | None
    reads: tuple[Select, ...]
    box: Box
    offsets: tuple[tuple[int, ...], ...]
    mask: tuple[tuple[str, Sided, Sided], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        reach = (max(column) for column in zip(*self.offsets, strict=True))
        return tuple(self.box.size(d) + most for d, most in enumerate(reach))


@lru_cache(maxsize=256)
def _plan(kernel: Kernel, array: str, no_alias: bool) -> _Plan | Refusal:
    try:
        return _planned(kernel, array, no_alias)
    except (FootprintError, MaskError) as error:
        return Refusal(str(error))
    except _Refused as error:
        return Refusal(str(error), error.grant)


def _planned(kernel: Kernel, array: str, no_alias: bool) -> _Plan:
    region, around = _region(kernel.body, array)
    whole = kernel.body if region is None else region.body
    body = _computation(whole)
    if holds_barrier(whole) and not any(is_copy(stmt) for stmt in whole):
        raise _Refused("the region holds a barrier of its own")
    _refuse_effects(kernel, body, array, region, no_alias)
    reads = _reads(body, array)
    if not reads:
        raise _Refused(f"nothing in the region reads {array} under a mask")
    uniform = _uniform(kernel, around)
    inside = [stmt for stmt in flatten(body) if isinstance(stmt, Loop) and _reads((stmt,), array)]
    if any(loop.step != 1 for loop in inside):
        raise _Refused("a loop leaves elements out, about which no mask decides")
    ranges = {name: Range(count) for name, count in kernel.threads}
    ranges |= {loop.var: values for loop in inside if (values := loop_range(loop)) is not None}
    boxes = [_box(read, ranges) for read in reads]
    box, offsets = union(boxes)
    if not box.strides:
        raise _Refused("the whole block reads one element: a register is enough")
    types = name_types(kernel)
    masks = {mask_terms(read.condition, box, offset, types) for read, offset in zip(reads, offsets, strict=True)}
    if len(masks) > 1 or len({read.other for read in reads}) > 1:
        raise _Refused(f"accesses to {array} are masked in different ways")
    mask = masks.pop()
    fixed = [box.base, *(side[0] for _, left, right in mask for side in (left, right))]
    stray = [name for part in fixed for atom in part.atoms for name in names(atom) if name not in uniform]
    if stray:
        raise _Refused(f"the address or its mask depends on {stray[0]}, which may differ within the block")
    gaps = unfilled(box.extents, offsets)
    if gaps:
        raise _Refused(f"{gaps}, about which no mask decides")
    return _Plan(region, reads, box, offsets, mask)


def _box(read: Select, ranges: Mapping[str, Range]) -> Box:
    assert isinstance(read.then, Index)
    used = {*names(read.then.subscripts[0]), *names(read.condition)}
    return footprint(read.then.subscripts[0], {name: values for name, values in ranges.items() if name in used})


def _region(body: Body, array: str) -> tuple[Loop | None, tuple[Loop, ...]]:
    """The innermost tile loop that holds every read, with the loops around its body."""
    found: list[tuple[Loop, ...]] = []

    def visit(body: Body, around: tuple[Loop, ...]) -> None:
        for stmt in body:
            if isinstance(stmt, Loop):
                if stmt.role is LoopRole.TILE and _reads(stmt.body, array):
                    found.append((*around, stmt))
                visit(stmt.body, (*around, stmt))

    visit(body, ())
    return (found[-1][-1], found[-1]) if found else (None, ())


def _computation(body: Body) -> Body:
    """The region without cooperative copies and barriers that earlier genes put there."""
    return tuple(stmt for stmt in body if not isinstance(stmt, Barrier) and not is_copy(stmt))


@lru_cache(maxsize=8192)
def _masked(expr: Expr) -> tuple[Select, ...]:
    """Each ``condition ? array[i] : literal`` of the expression."""
    nodes = (node for node in walk(expr) if isinstance(node, Select))
    return tuple(s for s in nodes if isinstance(s.then, Index) and isinstance(s.other, Const))


def _reads(body: Body, array: str) -> tuple[Select, ...]:
    """Masked reads of the array, all of them in statements that always run.

    Raises:
        _Refused: If it is read in another way, too.
    """
    found: dict[Select, None] = {}
    for stmt in flatten(body):
        for expr in expressions(stmt):
            if array not in names(expr):
                continue
            mine: dict[Expr, Index] = {
                s: s.then for s in _masked(expr) if isinstance(s.then, Index) and s.then.array == array
            }
            if array in names(_replaced(expr, dict.fromkeys(mine, Const("0")))):
                raise _Refused(f"{array} is read without a mask")
            unmasked = sure_reads(_replaced(expr, mine))
            if not set(mine.values()) <= set(unmasked) or any(len(read.subscripts) != 1 for read in mine.values()):
                raise _Refused(f"{array} is read under more than a mask")
            found.update((select, None) for select in _masked(expr) if select in mine)
    return tuple(found)


def _replaced(expr: Expr, values: Mapping[Expr, Expr]) -> Expr:
    return rewrite(expr, lambda node: values.get(node, node))


def _uniform(kernel: Kernel, around: tuple[Loop, ...]) -> set[str]:
    """Names with one value in the whole block where the region begins."""
    threads = {name for name, _ in kernel.threads}
    declared = [s for s in (*kernel.prologue, *flatten(kernel.rounds)) if isinstance(s, Decl)]
    uniform = {param.name for param in kernel.params if not param.pointer} | {loop.var for loop in kernel.rounds}
    for decl in declared:
        used = set() if decl.init is None else set(names(decl.init))
        if not used & threads and not any(name.startswith("threadIdx") for name in used):
            uniform.add(decl.name)
    uniform -= threads | set(written_names(kernel.body))
    for loop in around:
        if {*names(loop.lower), *names(loop.upper)} - uniform:
            raise _Refused(f"the bounds of the loop over {loop.var} may differ within the block")
        uniform.add(loop.var)
    return uniform


def _refuse_effects(kernel: Kernel, body: Body, array: str, region: Loop | None, no_alias: bool) -> None:
    seen = effects(body)
    if seen.opaque or seen.calls:
        raise _Refused("the region holds an atomic or statements that the engine does not see into")
    if array in written_names(kernel.body):
        raise _Refused(f"{array} is written by the kernel")
    stored = stored_ahead(kernel, region)
    if stored and not no_alias:
        raise _Refused(f"{stored} is written before the copies and may overlap {array}", "assume.no_alias")
    for stmt in flatten(body):
        if isinstance(stmt, If | Repeat) and _reads((stmt,), array):
            raise _Refused(f"{array} is read under a condition of another statement")
        if isinstance(stmt, Loop) and stmt.trip is None and _reads((stmt,), array):
            raise _Refused(f"the loop over {stmt.var} has no constant trip count: strip-mine it first")


def _staged(kernel: Kernel, array: str, plan: _Plan, pad: int) -> Kernel:
    kernel, thread = with_thread_id(kernel)
    sizes, order = plan.sizes, tuple(range(len(plan.sizes)))
    name = kernel.fresh(f"{array}_tile")
    dims = (*sizes[:-1], sizes[-1] + pad)
    shared = Decl(name, element_type(kernel, array) or "float", dims, space=Space.SHARED)
    loop = cooperative_copy(kernel, thread, Tile(name, array, plan.box, sizes, order))
    copy = map_stmts((loop,), lambda stmt: (_with_mask(stmt, plan),))
    new: dict[Expr, Expr] = {
        read: Index(name, tuple((plan.box.local(d) + constant(offset[d])).to_expr() for d in order))
        for read, offset in zip(plan.reads, plan.offsets, strict=True)
    }

    def stage(body: Body) -> Body:
        copies = tuple(stmt for stmt in body if is_copy(stmt))
        work = map_body(_computation(body), lambda expr: _replaced(expr, new) if array in names(expr) else expr)
        end: Body = () if plan.region is None else (Barrier(),)
        return (*copies, *copy, Barrier(), *work, *end)

    def visit(stmt: Stmt) -> Body:
        return (replace(stmt, body=stage(stmt.body)),) if isinstance(stmt, Loop) and stmt == plan.region else (stmt,)

    body = stage(kernel.body) if plan.region is None else map_stmts(kernel.body, visit)
    return replace(kernel, body=body, shared=(*kernel.shared, shared))


def _with_mask(stmt: Stmt, plan: _Plan) -> Stmt:
    """An element's copy, with the mask's other value where the mask leaves it out."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.target, Index):
        return stmt
    mask = conjunction(mask_at(plan.mask, stmt.target.subscripts))
    assert mask is not None
    return replace(stmt, value=Select(mask, stmt.value, plan.reads[0].other))

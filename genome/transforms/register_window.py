"""Register window: the elements that a few iterations read again and again are loaded once, into privates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from genome.analysis.dependence import nest
from genome.analysis.effects import effects, element_type, shared_arrays
from genome.analysis.footprint import FootprintError, loop_range
from genome.analysis.windows import Window, windows_of
from genome.genes import ParamValue, Site
from genome.ir.expr import Expr, Index, Var, accesses, integer, names, rewrite
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import map_body, map_stmts
from genome.ir.stmt import (
    Assign,
    Body,
    Decl,
    If,
    Loop,
    LoopRole,
    Repeat,
    Stmt,
    expressions,
    flatten,
    used_names,
    written_names,
)
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource, sure_reads

_DEPTHS = (0, 1, 2, 3)
_MOST = 128  # elements of a window
_SPANNED = frozenset({LoopRole.INSTANCE, LoopRole.SEQUENTIAL, LoopRole.STRIP, LoopRole.TILE})


class RegisterWindow:
    """``for k < 3: for i < 4: s[i] += A[x + i + k] * w[k]`` ->
    ``for j < 6: a[j] = A[x + j]; for k < 3: for i < 4: s[i] += a[i + k] * w[k]``.

    The window slides over the elements of a thread (the taps of a stencil, the rows of a convolution) or along a strip
    (four bodies that many elements of a thread meet), and ``vectorise`` makes its loads wide. Legal if the array is not
    written where it is used, every element of the window is read there in any case, and nothing in an address changes
    but loops of constant trip. Reads that do not fill a box with others get a window of their own. Parameters:
    ``depth``, how many of the kernel's own loops around the elements of a thread the window spans.
    Source: scalar replacement (Callahan, Carr and Kennedy, PLDI 1990), over the instances of a thread as well.
    """

    name = "register_window"
    phase = Phase.REGISTERS
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array in memory that loops of constant trip read."""
        memory = _memory(kernel)
        found = dict.fromkeys(name for _, region in _regions(kernel.body) for stmt in flatten((region,))
                              for expr in expressions(stmt) for name in names(expr) if name in memory)  # fmt: skip
        return tuple(Site(array, f"read.window[{number}]") for number, array in enumerate(found))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """The elements of a thread alone, and up to three loops around them."""
        return {"depth": _DEPTHS}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        depth = params.get("depth")
        if depth not in _DEPTHS:
            return Refusal("a window spans no loop of the kernel or up to three")
        assert isinstance(depth, int)
        found = _windows(kernel, site.label, depth, context.assumptions.no_alias)
        return found if isinstance(found, Refusal) else None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Loads each window in front of the loops that use it."""
        found = _windows(kernel, site.label, int(params["depth"]), context.assumptions.no_alias)
        assert not isinstance(found, Refusal)
        source, windows = NameSource(kernel), dict(found)
        ctype = element_type(kernel, site.label) or "float"

        def load(stmt: Stmt) -> Body:
            mine = windows.get(stmt) if isinstance(stmt, Loop) else None
            return (stmt,) if mine is None or not isinstance(stmt, Loop) else _loaded(stmt, mine, ctype, source)

        return replace(kernel, body=map_stmts(kernel.body, load))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        depth = params["depth"]
        span = f" and {depth} loops around them" if depth else ""
        return f"a thread keeps a window of {site.label} in registers over its elements{span}"


def _memory(kernel: Kernel) -> frozenset[str]:
    return frozenset(param.name for param in kernel.params if param.pointer) | frozenset(shared_arrays(kernel))


@lru_cache(maxsize=64)
def _regions(body: Body) -> tuple[tuple[int, Loop], ...]:
    """(depth, loop): every loop of which all loops have constant trips, with the number of the kernel's own in it."""
    return tuple(_constant_loops(body))


def _constant_loops(body: Body) -> Iterator[tuple[int, Loop]]:
    for stmt in body:
        if isinstance(stmt, Loop):
            loops = [loop for loop in flatten((stmt,)) if isinstance(loop, Loop)]
            if all(loop.trip and loop.step == 1 and loop.role in _SPANNED for loop in loops):
                yield _depth(stmt), stmt
            if stmt.role is not LoopRole.INSTANCE:
                yield from _constant_loops(stmt.body)
        elif isinstance(stmt, If):
            yield from _constant_loops(stmt.then)
            yield from _constant_loops(stmt.orelse)


def _depth(stmt: Stmt) -> int:
    """The kernel's own loops around each other in a statement."""
    if not isinstance(stmt, Loop):
        return 0
    return (stmt.role is not LoopRole.INSTANCE) + max(map(_depth, stmt.body), default=0)


@lru_cache(maxsize=256)
def _windows(
    kernel: Kernel, array: str, depth: int, no_alias: bool
) -> tuple[tuple[Loop, tuple[Window, ...]], ...] | Refusal:
    """The regions of that depth that read the array, with their windows; why there is none."""
    reason = Refusal(f"no loops of constant trip, {depth} of them the kernel's own, read {array}")
    found: dict[Loop, tuple[Window, ...]] = {}
    for level, region in _regions(kernel.body):
        if level != depth or array not in used_names((region,)):
            continue
        outcome = _region_windows(kernel, array, region, no_alias)
        if isinstance(outcome, Refusal):
            reason = outcome
        elif depth or _reused(region, outcome):
            found[region] = outcome
        else:
            reason = Refusal(f"the elements of a thread share nothing of {array}")
    return tuple(found.items()) or reason


def _region_windows(kernel: Kernel, array: str, region: Loop, no_alias: bool) -> tuple[Window, ...] | Refusal:
    problem = _unsafe(kernel, array, region, no_alias)
    if problem is not None:
        return problem
    reads = _reads(array, region)
    if reads is None:
        return Refusal(f"{array} is read under a condition")
    changing = {*written_names((region,)), *(s.name for s in flatten((region,)) if isinstance(s, Decl))}
    stray = [name for read in reads for name in names(read) if name in changing]
    if stray:
        return Refusal(f"the address depends on {stray[0]}, which changes from read to read")
    loops = [stmt for stmt in flatten((region,)) if isinstance(stmt, Loop)]
    try:
        windows = windows_of(reads, {loop.var: values for loop in loops if (values := loop_range(loop)) is not None})
    except FootprintError as error:
        return Refusal(str(error))
    elements = sum(prod(window.sizes) for window in windows)
    return Refusal(f"a window of {elements} elements is larger than {_MOST}") if elements > _MOST else windows


def _unsafe(kernel: Kernel, array: str, region: Loop, no_alias: bool) -> Refusal | None:
    seen = effects((region,))
    if seen.opaque or seen.calls or seen.barriers:
        return Refusal("the loops hold a barrier, an atomic or statements that the engine does not see into")
    if array in written_names((region,)):
        return Refusal(f"{array} is written where it is read")
    pointers = {param.name for param in kernel.params if param.pointer}
    stored = [access.array for access in seen.stores if access.array in pointers]
    if stored and array in pointers and not no_alias:
        return Refusal(f"{stored[0]} is written in the loops and may overlap {array}", "assume.no_alias")
    return None


def _reads(array: str, region: Loop) -> tuple[Index, ...] | None:
    """The reads of the array that happen in any case; None if there are others."""
    found: dict[Index, None] = {}
    for stmt in flatten((region,)):
        for expr in expressions(stmt):
            if array not in names(expr):
                continue
            sure = dict.fromkeys(read for read in sure_reads(expr) if read.array == array)
            every = {access for access in accesses(expr) if access.array == array}
            if isinstance(stmt, If | Loop) or every != set(sure):
                return None
            found.update(sure)
        if isinstance(stmt, If | Repeat) and any(
            array in names(e) for inner in flatten((stmt,)) for e in expressions(inner)
        ):
            return None
    return tuple(found)


def _reused(region: Loop, windows: Sequence[Window]) -> bool:
    """True if the loops read more often than there are elements in the windows."""
    reads = {read for window in windows for read in window.reads}

    def count(stmt: Stmt) -> int:
        if isinstance(stmt, Loop):
            return (stmt.trip or 0) * sum(map(count, stmt.body))
        return sum(read in sure_reads(expr) for expr in expressions(stmt) for read in reads)

    return count(region) > sum(prod(window.sizes) for window in windows)


def _loaded(region: Loop, windows: Sequence[Window], ctype: str, source: NameSource) -> Body:
    """The region behind the loads of its windows, with every loop that a place depends on unrolled."""
    before: list[Stmt] = []
    new: dict[Index, Expr] = {}
    for window in windows:
        array = window.reads[0].array
        name, at = source.fresh(f"{array}_window"), [source.fresh(f"{array}_at") for _ in window.sizes]
        wide = [number for number, size in enumerate(window.sizes) if size > 1]
        loops = [Loop(at[n], integer(0), integer(window.sizes[n]), (), role=LoopRole.INSTANCE, unroll=0) for n in wide]
        private = _element(name, [Var(at[n]) for n in wide])
        place = [Var(at[n]) if n in wide else integer(0) for n in range(len(at))]
        before.append(Decl(name, ctype, tuple(window.sizes[n] for n in wide)))
        before.append(nest(loops, Assign(private, Index(array, window.address(place)))))
        for number, read in enumerate(window.reads):
            found = window.place(number)
            new[read] = _element(name, [found[n] for n in wide])
    moving = {name for place in new.values() for name in names(place)}

    def redirect(expr: Expr) -> Expr:
        return rewrite(expr, lambda node: new.get(node, node) if isinstance(node, Index) else node)

    def unroll(stmt: Stmt) -> Body:
        return (replace(stmt, unroll=0),) if isinstance(stmt, Loop) and stmt.var in moving else (stmt,)

    return (*before, *map_stmts(map_body((region,), redirect), unroll))


def _element(name: str, place: Sequence[Expr]) -> Expr:
    return Index(name, tuple(place)) if place else Var(name)

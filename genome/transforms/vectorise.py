"""Vector access: adjacent elements of one array move in one wide load or store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from genome.analysis.dependence import nest
from genome.analysis.effects import element_type
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, Index, Var, integer, names, substitute
from genome.ir.halves import HALVES
from genome.ir.kernel import Aligned, Condition, Divisible, Kernel
from genome.ir.poly import Poly, multiple_of, poly
from genome.ir.stmt import Assign, Body, Loop, Stmt, VectorLoad, VectorStore, written_names
from genome.spec import ELEMENT_BYTES
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource, hoist_reads, hoist_values, map_nests, nests, plain, sure_reads
from genome.variant import Target

_CUDA_TYPES = frozenset({"float", "int", "unsigned int", "double"})
_CUDA_BYTE_TYPES = frozenset({"unsigned char", "signed char"})
_CUDA_BYTES = 16


class Vectorise:
    """``for v < 4: b[v] = B[i + v]`` -> one float4 load; the same for stores.

    Needs unit stride in the contiguous instance digit (blocked coarsening), a register tile, and a trip count that the
    width divides. Legal because the instances were threads. CUDA needs aligned addresses: what the analysis cannot
    prove becomes a condition of the host guard; OpenCL's vload and vstore need the element's alignment only.
    Parameters: ``width`` elements, 2 or 4 (8 and 16 as well; CUDA prints them as groups of 16 bytes). 16-bit floats
    move as words of two, whatever their vectors are.
    """

    name = "vectorise"
    phase = Phase.VECTOR
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array with unit-stride accesses along an instance loop."""
        arrays = dict.fromkeys(access.array for access, _ in _everywhere(kernel, 2))
        return tuple(Site(array, f"access.unit[{number}]") for number, array in enumerate(arrays))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Widths that the languages know."""
        return {"width": (2, 4, 8, 16)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs a nest whose contiguous loop the width divides, and a type with vectors."""
        width = params.get("width")
        if width not in (2, 4, 8, 16):
            return Refusal(f"there are no vectors of {width}")
        assert isinstance(width, int)
        if ELEMENT_BYTES.get(element_type(kernel, site.label) or "") is None:
            return Refusal(f"{site.label} has no vector type")
        known = _CUDA_TYPES | _CUDA_BYTE_TYPES | HALVES
        if context.target is Target.CUDA and element_type(kernel, site.label) not in known:
            return Refusal(f"CUDA has no vectors of {element_type(kernel, site.label)} with arithmetic lanes")
        found = [(access, loop) for access, loop in _everywhere(kernel, width) if access.array == site.label]
        if not found:
            return Refusal(f"no access to {site.label} is contiguous over {width} elements of a thread")
        if context.target is Target.CUDA:
            if element_type(kernel, site.label) in _CUDA_BYTE_TYPES and (width < 4 or _stores(kernel, site.label)):
                return Refusal("bytes are read 4 or more at a time, and not stored so")
            if element_type(kernel, site.label) in HALVES and width * 2 > _CUDA_BYTES:
                return Refusal("16-bit floats move at most 8 at a time")
            for access, loop in found:
                problem = alignment(kernel, access, loop, width)
                if isinstance(problem, Refusal):
                    return problem
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Rewrites every nest that accesses the array contiguously."""
        width = int(params["width"])
        conditions: list[Condition] = []
        if context.target is Target.CUDA:
            for loops, stmt in nests(kernel.body):
                for access, loop in _candidates(kernel, loops, stmt, width):
                    if access.array == site.label:
                        needed = alignment(kernel, access, loop, width)
                        assert not isinstance(needed, Refusal)
                        conditions.extend(needed)
        source = NameSource(kernel)
        ctype = element_type(kernel, site.label) or "float"

        def widen(loops: tuple[Loop, ...], stmt: Assign) -> Body | None:
            return _widen(kernel, loops, stmt, site.label, width, ctype, source)

        return replace(kernel, body=map_nests(kernel.body, widen)).require(*conditions)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{params['width']} adjacent elements of {site.label} move in one access"


@lru_cache(maxsize=128)
def _everywhere(kernel: Kernel, width: int) -> tuple[tuple[Index, Loop], ...]:
    """The candidates of every nest, for all arrays."""
    return tuple(found for loops, stmt in nests(kernel.body) for found in _candidates(kernel, loops, stmt, width))


def _candidates(kernel: Kernel, loops: tuple[Loop, ...], stmt: Assign, width: int) -> list[tuple[Index, Loop]]:
    """(access, loop): reads and the store of the nest that run contiguously along one of its loops."""
    found: list[tuple[Index, Loop]] = []
    for access, along in _contiguous(_pointers(kernel), _tiles(kernel), loops, stmt):
        loop = next((loop for loop in along if loop.trip and loop.trip % width == 0), None)
        if loop is not None:
            found.append((access, loop))
    return found


def _pointers(kernel: Kernel) -> frozenset[str]:
    return frozenset(param.name for param in kernel.params if param.pointer)


def _tiles(kernel: Kernel) -> frozenset[str]:
    """Shared arrays of constant extents, which start at a vector's boundary."""
    return frozenset(decl.name for decl in kernel.shared if decl.dims and 0 not in decl.dims)


@lru_cache(maxsize=1024)
def _contiguous(
    pointers: frozenset[str], tiles: frozenset[str], loops: tuple[Loop, ...], stmt: Assign
) -> tuple[tuple[Index, tuple[Loop, ...]], ...]:
    """Accesses of the nest, each with the loops along which its address grows by one: the same for every width."""
    stmt = plain(stmt)
    targets = (stmt.target,) if isinstance(stmt.target, Index) else ()
    touched = (*targets, *sure_reads(stmt.value))
    return tuple(
        (access, tuple(loop for loop in loops if stride(access, loop.var) == 1))
        for access in touched
        if access.array in tiles or (access.array in pointers and len(access.subscripts) == 1)
    )


def stride(access: Index, variable: str) -> int | None:
    """By how much the address grows with the variable, where that is a constant."""
    if any(variable in names(subscript) for subscript in access.subscripts[:-1]):
        return None
    split = poly(access.subscripts[-1]).coefficient(variable)
    return None if split is None else split[0].constant


def _stores(kernel: Kernel, array: str) -> bool:
    """True if the body writes the array."""
    return array in written_names(kernel.body)


def _widen(
    kernel: Kernel, loops: tuple[Loop, ...], stmt: Assign, array: str, width: int, ctype: str, source: NameSource
) -> Body | None:
    mine = [(access, loop) for access, loop in _candidates(kernel, loops, stmt, width) if access.array == array]
    if not mine:
        return None
    if any(access == stmt.target for access, _ in mine):
        stmt = plain(stmt)
    result: list[Stmt] = []
    store = next(((access, loop) for access, loop in mine if access == stmt.target), None)
    reads = [(access, loop) for access, loop in mine if access in sure_reads(stmt.value)]
    for access, loop in reads:
        if access == stmt.value and _fills_privates(kernel, stmt):
            return (_wide(loops, stmt, loop.var, width, load=True),)
        before, stmt = hoist_reads(loops, stmt, [access], ctype, source.fresh)
        declaration, copy = before
        result.append(declaration)
        copies, inner = _unnest(copy)
        result.append(_wide(copies, inner, loop.var, width, load=True))
    if store is not None:
        if any(access.array != array for access, _ in _candidates(kernel, loops, stmt, 2)):
            # The values get a nest of their own, so that what they read can still be made wide.
            before, stmt = hoist_values(loops, stmt, array, ctype, source.fresh)
            result += before
        result.append(_wide(loops, stmt, store[1].var, width, load=False))
    else:
        result.append(nest(loops, stmt))
    return tuple(result)


def _fills_privates(kernel: Kernel, stmt: Assign) -> bool:
    target = stmt.target
    private = isinstance(target, Index) and target.array not in _pointers(kernel) | _tiles(kernel)
    return private and stmt.op == "="


def _unnest(stmt: Stmt) -> tuple[tuple[Loop, ...], Assign]:
    loops: list[Loop] = []
    while isinstance(stmt, Loop):
        loops.append(stmt)
        stmt = stmt.body[0]
    assert isinstance(stmt, Assign)
    return tuple(loops), stmt


def _wide(loops: tuple[Loop, ...], stmt: Assign, var: str, width: int, load: bool) -> Stmt:
    """The nest with the loop over ``var`` in steps of ``width`` and one wide access inside."""
    kept: list[Loop] = []
    start: Expr = integer(0)
    for loop in loops:
        if loop.var != var:
            kept.append(loop)
        elif loop.trip != width:
            assert loop.trip is not None
            kept.append(replace(loop, upper=integer(loop.trip // width)))
            start = Binary("*", Var(var), integer(width))
    lanes = [{var: poly(Binary("+", start, integer(lane))).to_expr()} for lane in range(width)]
    first_target, first_value = substitute(stmt.target, lanes[0]), substitute(stmt.value, lanes[0])
    wide: Stmt
    if load:
        assert isinstance(first_value, Index)
        wide = VectorLoad(tuple(substitute(stmt.target, lane) for lane in lanes), first_value)
    else:
        assert isinstance(first_target, Index)
        wide = VectorStore(first_target, tuple(substitute(stmt.value, lane) for lane in lanes))
    return nest(kept, wide)


def alignment(kernel: Kernel, access: Index, loop: Loop, width: int) -> list[Condition] | Refusal:
    """What must hold so that CUDA's accesses of ``width`` elements along the loop are aligned, or why none would do."""
    size = ELEMENT_BYTES[element_type(kernel, access.array) or "float"]
    lanes = min(width, _CUDA_BYTES // size)
    split = poly(access.subscripts[-1]).coefficient(loop.var)
    assert split is not None
    tile = next((decl for decl in kernel.shared if decl.name == access.array), None)
    if tile is not None and len(tile.dims) > 1 and tile.dims[-1] % lanes:
        return Refusal(f"rows of {access.array} have {tile.dims[-1]} elements: they are not aligned to {lanes}")
    # Other contiguous digits (an outer instance loop, say) are checked like any term: their factor must be a multiple.
    multiples = dict(kernel.multiples)
    scalars = {param.name for param in kernel.params if not param.pointer}
    conditions: list[Condition] = [] if tile is not None else [Aligned(access.array, lanes * size)]
    for monomial, value in split[1].terms:
        if multiple_of(Poly(((monomial, value),)), multiples) % lanes == 0:
            continue
        scalar = next((atom for atom in monomial if isinstance(atom, Var) and atom.name in scalars), None)
        if scalar is None:
            shown = " * ".join(dict.fromkeys(name for atom in monomial for name in names(atom))) or str(value)
            return Refusal(f"the access to {access.array} is not aligned to {lanes} elements ({shown})")
        conditions.append(Divisible(scalar, lanes))
    return conditions

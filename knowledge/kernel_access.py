"""Features of a kernel's global memory accesses: how neighbouring threads touch memory, and how much they compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from genome.ir.expr import Binary, Call, Cast, Expr, Index, Unary, Var, names, substitute, walk
from genome.ir.kernel import Kernel
from genome.ir.stmt import Assign, Decl, Stmt, expressions, writes, written_names
from genome.spec import DTYPES
from knowledge.kernel_walk import DEPTH_WEIGHT, Visit, operations, scaled_log

ELEMENT_BYTES = {ctype: size for ctype, size in DTYPES.values()}
"""Bytes of each C element type."""
ACCESS_CLASSES = ("broadcast", "unit", "strided", "loop", "indirect")
_INDICES = frozenset(f"{kind}Idx.{dim}" for kind in ("thread", "block") for dim in "xyz")
_INLINE_DEPTH = 4
_LARGEST_ADDRESS = 200  # nodes; longer addresses are not looked into further


@dataclass(frozen=True)
class _Access:
    """One access to a global array; ``base`` are the terms of its address that move with threads and loops."""

    array: str
    address: Expr
    kind: str
    bytes: int
    depth: int
    base: frozenset[Expr]


def access_features(kernel: Kernel, visits: list[Visit]) -> dict[str, float]:
    """The entries of the kernel vector about loads, stores and intensity."""
    loads, stores = _found(kernel, visits)
    places = {(load.array, load.address): (load.array, load.base) for load in loads}
    crowd = Counter(places.values())
    moved = sum(access.bytes * DEPTH_WEIGHT**access.depth for access in (*loads, *stores))
    work = sum(operations(visit) for visit in visits)
    shares = {
        f"{name}_{kind}": sum(access.kind == kind for access in found) / max(1, len(found))
        for name, found in (("loads", loads), ("stores", stores)) for kind in ACCESS_CLASSES
    }  # fmt: skip
    return {
        **shares,
        "loads": scaled_log(len(loads), 6),
        "stores": scaled_log(len(stores), 6),
        "neighbours": sum(crowd[base] > 1 for base in places.values()) / max(1, len(places)),
        "arithmetic": scaled_log(work, 16),
        "intensity": scaled_log(work / moved if moved else 0.0, 8),
    }


def _found(kernel: Kernel, visits: list[Visit]) -> tuple[list[_Access], list[_Access]]:
    """(loads, stores) of the pointer parameters."""
    pointers = {param.name: param.ctype for param in kernel.params if param.pointer}
    fast = frozenset({axis.name for axis in kernel.axes if axis.dim == "x"} | {"threadIdx.x"})
    threads = frozenset({axis.name for axis in kernel.axes} | _INDICES)
    inlined = _single_definitions(kernel, visits)
    loads: list[_Access] = []
    stores: list[_Access] = []
    for visit in visits:
        loops = frozenset(loop.var for loop in visit.loops)
        for access, is_store in _accesses(visit.stmt):
            if access.array not in pointers:
                continue
            address = _inline(access.subscripts[-1], inlined)
            base = frozenset(term for term in _terms(address) if (threads | loops) & set(names(term)))
            found = _Access(
                access.array, address, _access_class(address, fast, loops),
                ELEMENT_BYTES.get(pointers[access.array], 4), len(visit.loops), base,
            )  # fmt: skip
            (stores if is_store else loads).append(found)
    return loads, stores


def _accesses(stmt: Stmt) -> Iterator[tuple[Index, bool]]:
    """(array element, is a store) for every access of the statement itself; ``a[i] += x`` is a load and a store."""
    targets = writes(stmt)
    for target in targets:
        if isinstance(target, Index):
            yield target, True
    if isinstance(stmt, Assign) and stmt.op != "=" and isinstance(stmt.target, Index):
        yield stmt.target, False
    for expr in expressions(stmt):
        for node in walk(expr):
            if isinstance(node, Index) and node not in targets:
                yield node, False


def _access_class(address: Expr, fast: frozenset[str], loops: frozenset[str]) -> str:
    """How neighbouring threads of a warp touch memory: crude, but independent of how the address is spelt.

    ``unit``: next to each other; ``strided``: apart; ``loop``: all the same element, which moves with a loop;
    ``broadcast``: all the same element; ``indirect``: wherever a loaded value says.
    """
    if any(isinstance(node, (Index, Call)) for node in walk(address)):
        return "indirect"
    terms = _terms(address)
    used = frozenset(names(address))
    if used & fast:
        alone = any(isinstance(term, Var) and term.name in fast for term in terms)
        mixed = any(not isinstance(term, Var) and frozenset(names(term)) & fast for term in terms)
        return "unit" if alone and not mixed else "strided"
    return "loop" if used & loops else "broadcast"


def _terms(expr: Expr) -> list[Expr]:
    """Terms of a sum; signs do not matter here. A product over a sum is multiplied out by one level."""
    match expr:
        case Binary("+" | "-", left, right):
            return _terms(left) + _terms(right)
        case Cast(_, operand) | Unary("-" | "+", operand):
            return _terms(operand)
        case Binary("*", left, right) if len(_terms(left)) * len(_terms(right)) > 1:
            return [Binary("*", a, b) for a in _terms(left) for b in _terms(right)]
    return [expr]


def _single_definitions(kernel: Kernel, visits: list[Visit]) -> dict[str, Expr]:
    """Scalars that have their initial value for ever, by name."""
    written = Counter(written_names(kernel.body))
    declared = [visit.stmt for visit in visits if isinstance(visit.stmt, Decl)]
    counts = Counter(decl.name for decl in declared)
    return {
        decl.name: decl.init for decl in (*(p for p in kernel.prologue if isinstance(p, Decl)), *declared)
        if decl.init is not None and not decl.dims and counts[decl.name] <= 1 and decl.name not in written
    }  # fmt: skip


def _inline(expr: Expr, definitions: Mapping[str, Expr]) -> Expr:
    for _ in range(_INLINE_DEPTH):
        replaced = substitute(expr, definitions)
        if replaced == expr or sum(1 for _ in walk(replaced)) > _LARGEST_ADDRESS:
            return expr
        expr = replaced
    return expr

"""Loops whose iterations may run in any order, or by several threads: independent but for recognised reductions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genome.analysis.effects import effects, is_pure
from genome.analysis.reductions import NotAReduction, Reduction, carried_scalars, find_reductions
from genome.analysis.touches import touches
from genome.ir.expr import Call, Index, Var, names
from genome.ir.kernel import AtLeast, Condition
from genome.ir.poly import poly
from genome.ir.print_functions import ATOMICS
from genome.ir.stmt import Decl, ExprStmt, Loop, LoopRole, expressions, flatten, written_names


class SharingError(Exception):
    """Iterations cannot be shared; the message says why, ``grant`` which assumption would allow it."""

    def __init__(self, reason: str, grant: str = "") -> None:
        super().__init__(reason)
        self.grant = grant


@dataclass(frozen=True)
class Independent:
    """The reductions of an otherwise independent loop, and what its independence relies on."""

    reductions: tuple[Reduction, ...]
    conditions: tuple[Condition, ...]


def independent(
    loop: Loop, pointers: frozenset[str], scalars: frozenset[str], no_alias: bool, types: Mapping[str, str]
) -> Independent:
    """Why the iterations of a loop are independent.

    Args:
        loop: A loop that the user wrote.
        pointers: Pointer parameters.
        scalars: Scalar parameters that never change.
        no_alias: True if pointer parameters do not overlap.
        types: Canonical type of every name.

    Raises:
        SharingError: If they are not, or are not known to be.
    """
    if loop.step != 1 or loop.role is not LoopRole.SEQUENTIAL:
        raise SharingError(f"the loop over {loop.var} does not step by one")
    written = set(written_names(loop.body))
    if written & (set(names(loop.lower)) | set(names(loop.upper))):
        raise SharingError(f"the loop over {loop.var} changes its own bounds")
    try:
        reductions = find_reductions(loop.body, carried_scalars(loop.body), types)
    except NotAReduction as error:
        raise SharingError(str(error)) from error
    own = _declared(loop) | {loop.var} | {reduction.name for reduction in reductions}
    for name in written_names(loop.body):
        if name not in own | pointers:
            raise SharingError(f"{name} is carried from one iteration to the next")
    _check_calls(loop)
    seen = touches(loop.body, pointers)
    if seen.written and len(seen.read | seen.written) > 1 and not no_alias:
        raise SharingError("arrays of the loop may overlap", "assume.no_alias")
    stores = [store for store in effects(loop.body).stores if store.array in pointers]
    return Independent(reductions, tuple(c for store in stores for c in _check_store(loop, store, scalars)))


def _declared(loop: Loop) -> set[str]:
    inside = list(flatten(loop.body))
    return {s.name for s in inside if isinstance(s, Decl)} | {s.var for s in inside if isinstance(s, Loop)}


def _check_calls(loop: Loop) -> None:
    for stmt in flatten(loop.body):
        if isinstance(stmt, ExprStmt):
            if not (isinstance(stmt.value, Call) and stmt.value.function in ATOMICS):
                raise SharingError("the loop calls a function that the engine does not see into")
        elif not all(is_pure(expr) for expr in expressions(stmt)):
            raise SharingError("the loop uses the result of an atomic or of an unknown function")


def _check_store(loop: Loop, store: Index, scalars: frozenset[str]) -> tuple[Condition, ...]:
    """Each iteration must have an element of its own, and touch no other one of the array."""
    if len(store.subscripts) != 1:
        raise SharingError(f"{store.array} has more than one subscript")
    address = poly(store.subscripts[0])
    split = address.coefficient(loop.var)
    if split is None or not split[0].terms:
        raise SharingError(f"iterations of {loop.var} may write the same element of {store.array}")
    inside = _declared(loop) | set(written_names(loop.body))
    if any(name in inside for atom in split[1].atoms for name in names(atom)):
        raise SharingError(f"the address of {store.array} depends on more than {loop.var}")
    seen = effects(loop.body)
    for access in (*seen.reads, *seen.stores):
        if access.array == store.array and (len(access.subscripts) != 1 or poly(access.subscripts[0]) != address):
            raise SharingError(f"an iteration of {loop.var} touches elements of {store.array} that another writes")
    if any(isinstance(s, ExprStmt) and store.array in names(s.value) for s in flatten(loop.body)):
        raise SharingError(f"{store.array} is stored to and updated by an atomic")
    if split[0].constant is not None:
        return ()
    if not all(isinstance(atom, Var) and atom.name in scalars for atom in split[0].atoms):
        raise SharingError(f"the stride of {store.array} is not known to differ from zero")
    return (AtLeast(split[0].to_expr(), 1),)

"""Lowest values of polynomials over the ranges of their variables: what shows that a number is never negative."""

from __future__ import annotations

from collections.abc import Sequence

from genome.analysis.scope import Scope
from genome.ir.expr import Expr, Var, names
from genome.ir.kernel import AtLeast
from genome.ir.poly import Poly, constant, poly

_STEPS = 16  # variables that are put to their extremes, one after the other
_UNSIGNED = frozenset({"unsigned char", "unsigned short", "unsigned int", "unsigned long", "unsigned long long",
                       "size_t", "bool"})  # fmt: skip


def never_negative(polynomial: Poly, scope: Scope) -> tuple[AtLeast, ...] | None:
    """Conditions on sizes under which it is never negative, wherever its variables are; None if no such are known.

    Each variable goes to the end of its range that makes the polynomial smallest, inner loops before outer ones. The
    empty tuple says that it is never negative at any sizes.
    """
    conditions: list[AtLeast] = []
    for _ in range(_STEPS):
        name = innermost(polynomial, scope)
        if name is None:
            break
        split = polynomial.coefficient(name)
        if split is None:
            return None
        factor, rest = split
        sign = _sign(factor)
        if not _obvious(factor.scaled(sign), scope):
            if innermost(factor, scope) is not None:
                return None
            conditions.append(AtLeast(factor.scaled(sign).to_expr(), 0))
        lower, upper = scope.bounds(name)
        edge = lower if sign > 0 else upper
        if edge is None:
            return None
        end = poly(scope.resolve(edge))
        polynomial = factor * (end if sign > 0 else end - constant(1)) + rest
    if not all(scope.steady(atom) for atom in polynomial.atoms):
        return None
    if not _obvious(polynomial, scope):
        conditions.append(AtLeast(polynomial.to_expr(), 0))
    known = [condition for condition in conditions if poly(condition.expr).constant is None]
    return tuple(dict.fromkeys(known)) if len(known) == len(conditions) else None


def innermost(polynomial: Poly, scope: Scope) -> str | None:
    """The variable of the polynomial whose range may depend on the others: the loop that stands deepest comes first."""
    found = [name for atom in polynomial.atoms for name in names(atom) if name in scope.kinds]
    return max(found, key=_depths(found, scope).__getitem__) if found else None


def _depths(found: Sequence[str], scope: Scope) -> dict[str, int]:
    """Position of each variable among the loops of the kernel, which are in program order; others come first."""
    order = {name: position for position, name in enumerate(scope.loops)}
    return {name: order.get(name, -1) for name in found}


def _sign(factor: Poly) -> int:
    """Sign of the term with the most atoms."""
    return 1 if factor.terms[-1][1] > 0 else -1


def _obvious(polynomial: Poly, scope: Scope) -> bool:
    """True if it is a sum of products of what can never be negative."""
    return all(value > 0 and all(_whole(atom, scope) for atom in monomial) for monomial, value in polynomial.terms)


def _whole(atom: Expr, scope: Scope) -> bool:
    if not isinstance(atom, Var):
        return False
    name = atom.name
    if name.startswith(("threadIdx.", "blockIdx.", "blockDim.", "gridDim.")):
        return True
    if name in scope.kinds:
        lower = poly(scope.resolve(scope.bounds(name)[0])).constant
        return lower is not None and lower >= 0
    return scope.types.get(name, "") in _UNSIGNED and name not in scope.changing

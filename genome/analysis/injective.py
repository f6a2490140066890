"""Whether an affine index gives each point of its variables' ranges an element of its own.

The test is that of a mixed-radix number: each stride must be at least as long as everything that the smaller strides
reach, so that ``(z * H + y) * W + x`` is injective for ``x < W`` and ``y < H``.
"""

from __future__ import annotations

from genome.analysis.access import AffineForm, AffineTerm, VariableKind
from genome.analysis.bounds import never_negative
from genome.analysis.proof import Proof, doubted, proven
from genome.analysis.scope import Scope
from genome.ir.poly import Poly, constant, poly
from genome.ir.print_expr import ExprPrinter
from genome.variant import Target


def injective(form: AffineForm, scope: Scope) -> Proof:
    """Whether no two points of the form's variables meet; variables outside the form are not looked at."""
    remaining = sorted(form.terms, key=lambda term: _rank(term.coefficient))
    reach = constant(1)
    limits: list[str] = []
    while remaining:
        found = next((term for term in remaining if _clears(term, reach, scope)), None)
        if found is None:
            names = " and ".join(term.variable for term in remaining)
            return doubted(f"different values of {names} may give one element")
        remaining.remove(found)
        if reach == constant(1) and found.coefficient.constant is None:
            limits.append(f"{_text(_size(found.coefficient), scope)} >= 1")
        extent = _extent(found, scope)
        if extent is None and remaining:
            return doubted(f"the range of {found.variable} is not known")
        reach = reach if extent is None else reach + _size(found.coefficient) * (extent - constant(1))
    where = f", where {' and '.join(limits)}" if limits else ""
    return proven(f"each point has an element of its own{where}")


def _clears(term: AffineTerm, reach: Poly, scope: Scope) -> bool:
    """True if the stride steps over all that smaller ones reach; alone it need only not be zero."""
    return reach == constant(1) or never_negative(Poly((_size(term.coefficient) - reach).terms), scope) == ()


def _text(polynomial: Poly, scope: Scope) -> str:
    return ExprPrinter(Target.CUDA, scope.types).text(polynomial.to_expr())


def _rank(coefficient: Poly) -> tuple[int, int]:
    """Small strides first: numbers by their size, then products of few sizes."""
    size = coefficient.constant
    return (0, abs(size)) if size is not None else (max(len(monomial) for monomial, _ in coefficient.terms), 0)


def _size(coefficient: Poly) -> Poly:
    """The coefficient without its sign."""
    return coefficient.scaled(-1) if coefficient.terms[-1][1] < 0 else coefficient


def _extent(term: AffineTerm, scope: Scope) -> Poly | None:
    """How many values the variable may have: 0 and up to its bound; None where that depends on another variable."""
    lower, upper = scope.bounds(term.variable)
    if term.kind is VariableKind.AXIS and upper is None:
        return None
    if upper is None or not scope.steady(upper) or not scope.steady(lower):
        return None
    start = poly(scope.resolve(lower))
    if start.constant is not None and start.constant >= 0:
        return poly(scope.resolve(upper))
    return poly(scope.resolve(upper)) - start

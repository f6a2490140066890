"""Affine forms of integer expressions over thread, block, axis and loop variables, with symbolic coefficients.

Index arithmetic is taken not to overflow upwards (signed overflow is undefined, and an unsigned index past 2**32
elements is outside every array here). An unsigned difference that is widened to 64 bits may wrap round below zero: it
counts only where it is known not to be negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genome.analysis.access import AffineForm, AffineTerm
from genome.analysis.bounds import never_negative
from genome.analysis.scope import Scope
from genome.ir.expr import Binary, Call, Cast, Expr, Index, Select, Unary, Var, children, integer, walk
from genome.ir.poly import Poly, poly
from genome.ir.types import infer

_WIDE = frozenset({"long", "long long", "unsigned long", "unsigned long long", "size_t"})


@dataclass(frozen=True)
class NotAffine:
    """Why an expression has no affine form; ``loaded`` if a value from memory is in it."""

    reason: str
    loaded: bool = False


def affine(expr: Expr, scope: Scope) -> AffineForm | NotAffine:
    """The affine form of an integer expression, or why it has none."""
    known = scope.forms.get(expr)
    if known is None:
        known = scope.forms[expr] = _affine(scope.resolve(expr), scope)
    assert isinstance(known, AffineForm | NotAffine)
    return known


def _affine(resolved: Expr, scope: Scope) -> AffineForm | NotAffine:
    wrapping = _wrapping(resolved, scope) if _may_fall(resolved) else ""
    if wrapping:
        return NotAffine(wrapping)
    constant = Poly()
    coefficients: dict[str, Poly] = {}
    for monomial, factor in poly(resolved).terms:
        variables = [atom for atom in monomial if isinstance(atom, Var) and atom.name in scope.kinds]
        others = tuple(atom for atom in monomial if atom not in variables)
        for atom in others:
            if not scope.steady(atom):
                return _not_affine(atom, scope)
        if len(variables) > 1:
            shown = " and ".join(dict.fromkeys(variable.name for variable in variables))
            return NotAffine(f"it multiplies {shown}" if len(set(variables)) > 1 else f"it squares {shown}")
        rest = Poly(((others, factor),))
        if variables:
            name = variables[0].name
            coefficients[name] = coefficients.get(name, Poly()) + rest
        else:
            constant += rest
    terms = (AffineTerm(name, scope.kinds[name], factor) for name, factor in coefficients.items() if factor.terms)
    return AffineForm(constant, tuple(terms))


def row_major(subscripts: Sequence[Expr], dims: Sequence[int]) -> Expr | None:
    """One subscript for several, given the extents of a declared array; None where they do not match."""
    if len(subscripts) == 1 and len(dims) < 2:
        return subscripts[0]
    if len(subscripts) != len(dims):
        return None
    result = subscripts[0]
    for subscript, extent in zip(subscripts[1:], dims[1:], strict=True):
        result = Binary("+", Binary("*", result, integer(extent)), subscript)
    return result


def _not_affine(atom: Expr, scope: Scope) -> NotAffine:
    """Why an atom that is not steady cannot stand in a form."""
    for node in walk(atom):
        if isinstance(node, Index):
            return NotAffine(f"it depends on a value loaded from {node.array}", True)
        if isinstance(node, Var) and node.name in scope.changing:
            reason = f"{node.name} is set again on line {scope.changing[node.name]}"
            return NotAffine(reason, node.name in scope.loaded)
    match atom:
        case Var(name):
            return NotAffine(f"the value of {name} is not followed")
        case Binary("/" | "%" | ">>" | "&" | "|" | "^" | "<<" as op, _, _):
            return NotAffine(f"it is not linear in its variables ({op})")
        case Call(function, _):
            return NotAffine(f"it is a result of {function}")
        case Select():
            return NotAffine("it depends on a condition")
        case Cast(ctype, _):
            return NotAffine(f"it is converted to {ctype}")
    return NotAffine("it is no sum of products")


def _wrapping(expr: Expr, scope: Scope) -> str:
    """Why widening a 32-bit unsigned part may show that it wrapped round; empty if it cannot."""
    kind = infer(expr, scope.types)
    for child in children(expr):
        if not isinstance(expr, Index | Call):
            inner = infer(child, scope.types)
            if (
                kind in _WIDE
                and inner == "unsigned int"
                and _may_fall(child)
                and never_negative(poly(child), scope) != ()
            ):
                return "an unsigned difference in it may wrap round before it is widened"
        problem = _wrapping(child, scope)
        if problem:
            return problem
    return ""


def _may_fall(expr: Expr) -> bool:
    return any(isinstance(node, Binary | Unary) and node.op == "-" for node in walk(expr))

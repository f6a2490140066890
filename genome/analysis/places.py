"""Where an access goes, as digits: linear numbers whose strides keep them apart, so that equal means equal in each.

``y[r * cols + c]`` with ``0 <= c < cols`` has the digits r and c: two such indices are the same only if both digits
are. The strides are the dimensions of a declared array, or sizes that the kernel's own bounds make hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from genome.analysis.access import Access, AffineForm
from genome.analysis.affine import NotAffine, affine
from genome.analysis.bounds import never_negative
from genome.analysis.scope import Scope
from genome.ir.expr import Binary, Expr, Var, conjuncts
from genome.ir.poly import Poly, constant, poly, variable
from genome.ir.types import infer


@dataclass(frozen=True)
class Digit:
    """``constant + sum of factor * variable``, the constant with sizes in it."""

    constant: Poly
    factors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """An access by digits, slowest first.

    Attributes:
        strides: What each digit counts: the same for two places that can be compared digit by digit.
        digits: The digits.
    """

    strides: tuple[Poly, ...]
    digits: tuple[Digit, ...]


def place_of(access: Access, scope: Scope) -> Place | str:
    """The digits of an access, or why there are none."""
    dims = scope.dims.get(access.array, ())
    if len(access.subscripts) > 1 and len(access.subscripts) == len(dims):
        return _of_dimensions(access.subscripts, scope)
    if access.form is None:
        return access.proof.reason
    return _split(_numbered(access.form, scope), scope, _known(access, scope))


def digit_of(expr: Expr, scope: Scope) -> Digit | str:
    """An integer expression as one digit, or why it is none."""
    form = affine(expr, scope)
    if isinstance(form, NotAffine):
        return form.reason
    place = _single(_numbered(form, scope))
    return place if isinstance(place, str) else place.digits[0]


def _of_dimensions(subscripts: Sequence[Expr], scope: Scope) -> Place | str:
    digits: list[Digit] = []
    for subscript in subscripts:
        digit = digit_of(subscript, scope)
        if isinstance(digit, str):
            return digit
        digits.append(digit)
    return Place(tuple(variable(f"[{number}]") for number in range(len(digits))), tuple(digits))


_Form = tuple[Poly, dict[str, Poly]]


def _numbered(form: AffineForm, scope: Scope) -> _Form:
    """The form with the block's extents as numbers where they are known."""
    return _extents(form.constant, scope), {term.variable: _extents(term.coefficient, scope) for term in form.terms}


def _extents(polynomial: Poly, scope: Scope) -> Poly:
    if scope.block is None:
        return Poly(polynomial.terms)
    total = Poly()
    for monomial, value in polynomial.terms:
        product = constant(value)
        for atom in monomial:
            known = isinstance(atom, Var) and atom.name.startswith("blockDim.")
            number = constant(scope.block["xyz".index(atom.name[-1])]) if known and isinstance(atom, Var) else None
            product = product * (number if number is not None else Poly((((atom,), 1),)))
        total += product
    return total


def _split(form: _Form, scope: Scope, known: tuple[Poly, ...]) -> Place | str:
    """The outermost symbolic stride is split off until all that is left has numbers as coefficients."""
    rest, factors = form
    symbolic = [factor for factor in factors.values() if factor.constant is None]
    if not symbolic:
        return _single(form)
    stride = max((Poly(((monomial, 1),)) for factor in symbolic for monomial, _ in factor.terms if monomial),
                 key=lambda item: (len(item.terms[0][0]), repr(item)))  # fmt: skip
    upper, lower = _divided(rest, stride)
    outer: dict[str, int] = {}
    inner: dict[str, Poly] = {}
    for name, factor in factors.items():
        whole, part = _divided(factor, stride)
        number = whole.constant
        if number is None:
            return f"the stride of {name} is no product of sizes"
        outer |= {name: number} if number else {}
        inner |= {name: part} if part.terms else {}
    within = _total(lower, inner)
    if not (_holds(within, scope, known) and _holds(stride - constant(1) - within, scope, known)):
        return f"an index is not known to stay below {_shown(stride)}"
    below = _split((lower, inner), scope, known)
    if isinstance(below, str):
        return below
    return Place((stride, *below.strides), (Digit(upper, outer), *below.digits))


def _known(access: Access, scope: Scope) -> tuple[Poly, ...]:
    """What conditions around the access keep from being negative."""
    found = []
    for guard in access.guards:
        for term in conjuncts(guard.condition) if guard.holds else ():
            match term:
                case Binary("<", left, right) | Binary(">", right, left):
                    difference, less = Binary("-", right, left), 1
                case Binary("<=", left, right) | Binary(">=", right, left):
                    difference, less = Binary("-", right, left), 0
                case _:
                    continue
            if infer(difference, scope.types) in ("int", "long", "long long"):
                found.append(_extents(poly(scope.resolve(difference)), scope) - constant(less))
    return tuple(found)


def _holds(polynomial: Poly, scope: Scope, known: tuple[Poly, ...]) -> bool:
    """True if it is never negative where the access is made: sizes that bound a loop or an axis are then positive."""
    ends = [axis.upper for axis in scope.kernel.axes] + [loop.upper for loop in scope.loops.values()]
    sizes = {end for end in ends if isinstance(end, Var)}
    for fact in (Poly(), *known):
        conditions = never_negative(polynomial - fact, scope)
        if conditions is not None and all(
            condition.value <= 1
            and all(value > 0 and set(monomial) <= sizes for monomial, value in poly(condition.expr).terms)
            for condition in conditions
        ):
            return True
    return False


def _single(form: _Form) -> Place | str:
    rest, factors = form
    numbers: dict[str, int] = {}
    for name, factor in factors.items():
        if factor.constant is None:
            return f"the stride of {name} is no number"
        numbers[name] = factor.constant
    return Place((constant(1),), (Digit(rest, numbers),))


def _divided(polynomial: Poly, stride: Poly) -> tuple[Poly, Poly]:
    """(quotient, rest) by a product of sizes."""
    (wanted, _), *_ = stride.terms
    upper, lower = [], []
    for monomial, value in polynomial.terms:
        left = list(monomial)
        for atom in wanted:
            if atom in left:
                left.remove(atom)
        if len(left) == len(monomial) - len(wanted):
            upper.append((tuple(left), value))
        else:
            lower.append((monomial, value))
    return Poly(tuple(upper)), Poly(tuple(lower))


def _total(rest: Poly, factors: Mapping[str, Poly]) -> Poly:
    total = rest
    for name, factor in factors.items():
        total += factor * variable(name)
    return total


def _shown(polynomial: Poly) -> str:
    (monomial, _), *_ = polynomial.terms
    return " * ".join(atom.name if isinstance(atom, Var) else "a size" for atom in monomial)

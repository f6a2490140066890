"""Polynomial normal form of integer expressions.

Subscripts become sums of monomials over atoms (variables and whatever arithmetic is not ``+ - *``), so that "same
address", "unit stride" and "invariant in" are comparisons. Source: the canonical-form idea of loopy and Exo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from genome.ir.expr import Binary, Cast, Const, Expr, Unary, Var, integer, names
from genome.ir.node import once
from genome.ir.types import literal_type

Monomial = tuple[Expr, ...]
_WIDE = frozenset({"long", "long long", "unsigned long", "unsigned long long", "size_t", "ptrdiff_t", "int64_t",
                   "uint64_t", "long int", "long long int"})  # fmt: skip


@dataclass(frozen=True)
class Poly:
    """Sum of ``coefficient * product of atoms``.

    Attributes:
        terms: (monomial, non-zero coefficient), in a fixed order.
        wide: C type of 64-bit arithmetic when the source computed it so, ``int`` where a cast made it signed; else
            empty.
    """

    terms: tuple[tuple[Monomial, int], ...] = ()
    wide: str = ""

    @property
    def constant(self) -> int | None:
        """Its value when no atom is left, else None."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def atoms(self) -> tuple[Expr, ...]:
        """Atoms in order of first use."""
        return tuple(dict.fromkeys(atom for monomial, _ in self.terms for atom in monomial))

    def __add__(self, other: Poly) -> Poly:
        return _make([*self.terms, *other.terms], _wider(self.wide, other.wide))

    def __sub__(self, other: Poly) -> Poly:
        return self + other.scaled(-1)

    def __mul__(self, other: Poly) -> Poly:
        products = [(_sorted((*m, *n)), c * d) for m, c in self.terms for n, d in other.terms]
        return _make(products, _wider(self.wide, other.wide))

    def scaled(self, factor: int) -> Poly:
        """The polynomial times an integer."""
        return Poly(tuple((m, c * factor) for m, c in self.terms), self.wide) if factor else Poly((), self.wide)

    def coefficient(self, name: str) -> tuple[Poly, Poly] | None:
        """(coefficient of the variable, rest) when it occurs linearly; None if it does not (``i*i``, ``i % 4``)."""
        inside: list[tuple[Monomial, int]] = []
        rest: list[tuple[Monomial, int]] = []
        variable = Var(name)
        for monomial, value in self.terms:
            holding = [atom for atom in monomial if name in names(atom)]
            count = len(holding)
            if count > 1 or (count and holding[0] != variable):
                return None
            if count:
                left = list(monomial)
                left.remove(variable)
                inside.append((tuple(left), value))
            else:
                rest.append((monomial, value))
        return _make(inside, self.wide), _make(rest, self.wide)

    def to_expr(self) -> Expr:
        """C expression: terms with more atoms first, 64-bit or signed where the source was."""
        return self._expr

    @once
    def _expr(self) -> Expr:
        result: Expr | None = None
        for monomial, value in sorted(self.terms, key=lambda term: (-len(term[0]), [_key(a) for a in term[0]])):
            term = _term(monomial, abs(value), self.wide)
            if result is None:
                result = term if value > 0 else Unary("-", term)
            else:
                result = Binary("+" if value > 0 else "-", result, term)
        return result if result is not None else Const("0")


def _wider(one: str, other: str) -> str:
    """The cast of a sum or product: one to 64 bits before one to ``int``."""
    return other if one not in _WIDE and other in _WIDE else one or other


def _term(monomial: Monomial, value: int, wide: str) -> Expr:
    factors: list[Expr] = list(monomial)
    if wide and factors:
        factors[0] = Cast(wide, factors[0])
    if value != 1 or not factors:
        factors.append(integer(value))
    result = factors[0]
    for factor in factors[1:]:
        result = Binary("*", result, factor)
    return result


def _sorted(monomial: Iterable[Expr]) -> Monomial:
    return tuple(sorted(monomial, key=_key))


@lru_cache(maxsize=65536)
def _key(expr: Expr) -> str:
    return expr.name if isinstance(expr, Var) else repr(expr)


def _make(terms: Iterable[tuple[Monomial, int]], wide: str = "") -> Poly:
    total: dict[Monomial, int] = {}
    for monomial, value in terms:
        total[monomial] = total.get(monomial, 0) + value
    kept = [(m, c) for m, c in total.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda term: (len(term[0]), [_key(a) for a in term[0]]))
    return Poly(tuple(kept), wide)


@lru_cache(maxsize=65536)
def poly(expr: Expr) -> Poly:
    """Normal form of an integer expression. Anything that is not a sum or a product becomes an atom; so do sums and
    products that count on unsigned arithmetic wrapping round.
    """
    if _wraps(expr):
        return Poly((((expr,), 1),))
    match expr:
        case Const() if expr.value is not None:
            kind = literal_type(expr.text)
            return Poly(constant(expr.value).terms, kind if kind in _WIDE else "")
        case Binary("+", left, right):
            return poly(left) + poly(right)
        case Binary("-", left, right):
            return poly(left) - poly(right)
        case Binary("*", left, right):
            return poly(left) * poly(right)
        case Binary("<<", left, Const() as shift) if shift.value is not None and 0 <= shift.value < 31:
            return poly(left).scaled(1 << shift.value)
        case Unary("-", operand):
            return poly(operand).scaled(-1)
        case Unary("+", operand):
            return poly(operand)
        case Cast(ctype, operand, False) if ctype in _WIDE:
            return Poly(poly(operand).terms, ctype)
        case Cast("int", operand, False) if poly(operand).wide not in _WIDE:
            return Poly(poly(operand).terms, "int")
    return Poly((((expr,), 1),))


@lru_cache(maxsize=65536)
def _wraps(expr: Expr) -> bool:
    """True for sums and products with an unsigned literal that stands for a negative number, or hashes."""
    match expr:
        case Const() if expr.value is not None and expr.value >= 2**31:
            return literal_type(expr.text).startswith("unsigned")
        case Binary("+" | "-" | "*" | "<<", left, right):
            return _wraps(left) or _wraps(right)
        case Unary("-" | "+", operand):
            return _wraps(operand)
    return False


def constant(value: int) -> Poly:
    """The constant polynomial."""
    return Poly((((), value),)) if value else Poly()


def variable(name: str) -> Poly:
    """The polynomial of one variable."""
    return Poly((((Var(name),), 1),))


def simplify(expr: Expr) -> Expr:
    """The integer expression in normal form."""
    return poly(expr).to_expr()


def multiple_of(polynomial: Poly, multiples: Mapping[str, int]) -> int:
    """A number that always divides the polynomial, given numbers that divide its variables (0 for the zero)."""
    total = 0
    for monomial, value in polynomial.terms:
        factor = abs(value)
        for atom in monomial:
            if isinstance(atom, Var):
                factor *= multiples.get(atom.name, 1)
        total = gcd(total, factor)
    return total

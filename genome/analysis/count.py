"""Counts as expressions of sizes: polynomials of scalar parameters, axis variables and loop trips, and a divisor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import gcd

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Select, Unary, Var
from genome.ir.poly import Poly, constant

_EXACT: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "<": lambda a, b: int(a < b), "<=": lambda a, b: int(a <= b), ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b), "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b),
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
}  # fmt: skip


@dataclass(frozen=True)
class Count:
    """``numerator / denominator``, a whole number wherever it is valid (sums over triangular loops have halves).

    Attributes:
        numerator: Polynomial. An atom ``trips(j)`` stands for the unknown number of iterations of the loop over j.
        denominator: A positive integer, without a factor common to all of the numerator.
    """

    numerator: Poly = field(default_factory=Poly)
    denominator: int = 1

    def __add__(self, other: Count) -> Count:
        if not other.numerator.terms:
            return self
        if not self.numerator.terms:
            return other
        total = self.numerator.scaled(other.denominator) + other.numerator.scaled(self.denominator)
        return _reduced(total, self.denominator * other.denominator)

    def __mul__(self, other: Count) -> Count:
        return _reduced(self.numerator * other.numerator, self.denominator * other.denominator)

    def over(self, divisor: int) -> Count:
        """The count divided by a positive integer."""
        return _reduced(self.numerator, self.denominator * divisor)

    def at(self, values: Mapping[str, int], unknown: int | None = None) -> Fraction | None:
        """The number under these values of the variables; ``unknown`` stands for what they do not tell (trips)."""
        total = Fraction(0)
        for monomial, factor in self.numerator.terms:
            product = Fraction(factor)
            for atom in monomial:
                value = evaluate(atom, values)
                value = unknown if value is None else value
                if value is None:
                    return None
                product *= value
            total += product
        return total / self.denominator

    def to_expr(self) -> Expr:
        """The count as a C expression."""
        whole = self.numerator.to_expr()
        return whole if self.denominator == 1 else Binary("/", whole, Const(str(self.denominator)))


@lru_cache(maxsize=1024)
def whole(value: int) -> Count:
    """A constant count."""
    return Count(constant(value))


def counted(polynomial: Poly) -> Count:
    """A polynomial as a count."""
    return _reduced(polynomial, 1)


def unknown_trips(loop: str) -> Count:
    """The number of iterations of a loop whose bounds do not tell it."""
    return Count(Poly((((Call("trips", (Var(loop),)),), 1),)))


def _reduced(numerator: Poly, denominator: int) -> Count:
    common = denominator
    for _, value in numerator.terms:
        common = gcd(common, value)
    if not numerator.terms:
        return Count()
    return Count(Poly(tuple((monomial, value // common) for monomial, value in numerator.terms)), denominator // common)


def evaluate(expr: Expr, values: Mapping[str, int]) -> int | None:
    """Value of an integer expression under C's rules, overflow aside; None where a part has no known value."""
    match expr:
        case Const():
            return expr.value
        case Var(name):
            return values.get(name)
        case Cast(_, operand, False) | Unary("+", operand):
            return evaluate(operand, values)
        case Unary("-", operand):
            inner = evaluate(operand, values)
            return None if inner is None else -inner
        case Binary(op, left, right):
            first, second = evaluate(left, values), evaluate(right, values)
            return None if first is None or second is None else _operate(op, first, second)
        case Call("__clz", (operand,)):
            inner = evaluate(operand, values)
            return None if inner is None or inner < 0 else 32 - inner.bit_length()
        case Call("min" | "max" as function, (left, right)):
            first, second = evaluate(left, values), evaluate(right, values)
            if first is None or second is None:
                return None
            return min(first, second) if function == "min" else max(first, second)
        case Select(condition, then, other):
            chosen = evaluate(condition, values)
            return None if chosen is None else evaluate(then if chosen else other, values)
    return None


def _operate(op: str, first: int, second: int) -> int | None:
    if op in _EXACT:
        return _EXACT[op](first, second)
    if op in ("/", "%") and second:
        quotient = abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)
        return quotient if op == "/" else first - quotient * second
    if op in ("<<", ">>") and 0 <= second < 64:
        return first << second if op == "<<" else first >> second
    return None

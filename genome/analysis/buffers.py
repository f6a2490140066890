"""Which buffers of a shared array two accesses are in: the halves of a double-buffered tile are told apart."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import gcd

from genome.ir.expr import Binary, Const, Expr, Index, names
from genome.ir.poly import poly


@dataclass(frozen=True)
class Place:
    """An array, and the first of several subscripts; None where it has one, or where its value is no longer known."""

    array: str
    buffer: Expr | None = None

    def forget(self, changed: Collection[str]) -> Place:
        """The place once these variables have changed."""
        known = self.buffer is not None and not any(name in changed for name in names(self.buffer))
        return self if known else Place(self.array)


def place_of(access: Index) -> Place:
    """Where an access is."""
    return Place(access.array, access.subscripts[0] if len(access.subscripts) > 1 else None)


def may_meet(one: Place, other: Place) -> bool:
    """True unless the places are surely apart, given that the threads of the block agree on the subscripts.

    Two subscripts never have the same value where their difference is an integer ``c + sum of c_i * x_i`` and the
    greatest common divisor of the ``c_i`` does not divide ``c``: ``s`` and ``1 - s`` differ whatever ``s`` is. Where
    both are remainders of the same division, the difference counts modulo the divisor.
    Source: the GCD test of dependence analysis (Banerjee, "Dependence Analysis", 1997).
    """
    if one.array != other.array or one.buffer is None or other.buffer is None:
        return one.array == other.array
    match one.buffer, other.buffer:
        case Binary("%", left, Const() as number), Binary("%", right, also) if number == also and number.value:
            return _may_vanish(left, right, number.value)
    return _may_vanish(one.buffer, other.buffer, 0)


def _may_vanish(one: Expr, other: Expr, modulus: int) -> bool:
    """True unless the difference is never zero (modulo a number)."""
    constant, common = 0, modulus
    for monomial, value in (poly(one) - poly(other)).terms:
        if monomial:
            common = gcd(common, value)
        else:
            constant = value
    return constant % common == 0 if common else constant == 0

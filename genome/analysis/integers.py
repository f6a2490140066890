"""Whether linear equations over bounded integers have a solution: "no" is a proof, "maybe" is none.

One equation is decided exactly where its ranges are known and small; of open ranges only the greatest common divisor of
the coefficients counts. Several equations narrow each other's ranges first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

_SPAN = 1 << 18  # sums that are enumerated
_ROUNDS = 4  # of narrowing


@dataclass(frozen=True)
class Range:
    """Inclusive bounds of an integer; None where it has none."""

    low: int | None = None
    high: int | None = None

    @property
    def count(self) -> int | None:
        """Number of values; None where it is open."""
        return None if self.low is None or self.high is None else max(0, self.high - self.low + 1)

    def meet(self, other: Range) -> Range:
        """The values in both."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Range(max(lows, default=None), min(highs, default=None))


OPEN = Range()


@dataclass(frozen=True)
class Linear:
    """``constant + sum of factor * name``; no factor is zero."""

    constant: int
    factors: Mapping[str, int] = field(default_factory=dict)

    def negated(self) -> Linear:
        """The same with the other sign."""
        return Linear(-self.constant, {name: -factor for name, factor in self.factors.items()})

    def least(self, ranges: Mapping[str, Range], without: str = "") -> int | None:
        """Smallest value of the sum, one term left out; None where it is open."""
        total = self.constant
        for name, factor in self.factors.items():
            if name != without:
                found = ranges.get(name, OPEN)
                end = found.low if factor > 0 else found.high
                if end is None:
                    return None
                total += factor * end
        return total


def at_most_zero(bounds: Sequence[Linear], ranges: Mapping[str, Range]) -> dict[str, Range]:
    """The ranges without values under which one of the sums is certainly above zero."""
    found = dict(ranges)
    for _ in range(_ROUNDS):
        before = dict(found)
        for bound in bounds:
            for name, factor in bound.factors.items():
                rest = bound.least(found, name)
                if rest is not None:
                    limit = Range(None, -rest // factor) if factor > 0 else Range(-(rest // factor), None)
                    found[name] = found.get(name, OPEN).meet(limit)
        if found == before:
            break
    return found


def may_vanish(equations: Sequence[Linear], ranges: Mapping[str, Range]) -> bool:
    """False only if there are no values in the ranges for which every equation is zero."""
    both = [side for equation in equations for side in (equation, equation.negated())]
    narrow = at_most_zero(both, ranges)
    if any(found.count == 0 for found in narrow.values()):
        return False
    return all(_alone(equation, narrow) for equation in equations)


def _alone(equation: Linear, ranges: Mapping[str, Range]) -> bool:
    low, high = equation.least(ranges), equation.negated().least(ranges)
    if (low is not None and low > 0) or (high is not None and high > 0):
        return False
    divisor = gcd(*(factor for name, factor in equation.factors.items() if ranges.get(name, OPEN).count is None))
    if divisor:
        return _meets_residue(equation, ranges, divisor)
    if low is None or high is None or -high - low > _SPAN:
        return equation.constant % gcd(*equation.factors.values()) == 0
    return _reaches_zero(equation, ranges, low)


def _meets_residue(equation: Linear, ranges: Mapping[str, Range], divisor: int) -> bool:
    if divisor == 1 or divisor > _SPAN:
        return True
    found = {equation.constant % divisor}
    for name, factor in equation.factors.items():
        values = ranges.get(name, OPEN)
        if values.low is not None and values.count is not None:
            steps = {factor * (values.low + step) % divisor for step in range(min(values.count, divisor))}
            found = {(one + other) % divisor for one in found for other in steps}
    return 0 in found


def _reaches_zero(equation: Linear, ranges: Mapping[str, Range], low: int) -> bool:
    """Sums as bits of one number: bit s stands for ``low + s``."""
    bits = 1
    for name, factor in equation.factors.items():
        count = ranges[name].count
        assert count is not None
        bits = _repeated(bits, abs(factor), count)
    return bool(bits >> -low & 1)


def _repeated(bits: int, step: int, count: int) -> int:
    """The union of ``count`` copies, each moved by one step more, by doubling."""
    have = 1
    while have < count:
        take = min(have, count - have)
        bits |= bits << step * take
        have += take
    return bits

"""Footprints: the box of array elements that an access touches while some variables run through constant ranges.

A dimension of the box is a *stride*, the primitive part of the polynomial that multiplies some of the variables
(``K``, ``W + 2``, ``1``). With non-negative coefficients every address in the box lies between two touched ones,
so that loading the whole box reads nothing out of bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from genome.ir.expr import Expr
from genome.ir.poly import Poly, constant, poly, variable
from genome.ir.stmt import Loop

UNIT: Poly = constant(1)


class FootprintError(Exception):
    """The access has no box over these variables; the message says why."""


@dataclass(frozen=True)
class Range:
    """A variable runs through ``first .. first + count``, some of the values left out or not."""

    count: int
    first: int = 0


@dataclass(frozen=True)
class Extent:
    """One variable's share of a dimension: ``factor * (variable - first)``, variable in first..first + count."""

    variable: str
    factor: int
    count: int
    first: int = 0


@dataclass(frozen=True)
class Box:
    """``base + sum over dimensions of stride * (0 .. size)``.

    Attributes:
        base: Address of the first element; free of the ranging variables.
        strides: One polynomial a dimension, slowest first; ``UNIT`` is last if it occurs.
        extents: The variables that run along each dimension.
    """

    base: Poly
    strides: tuple[Poly, ...]
    extents: tuple[tuple[Extent, ...], ...]

    def size(self, dimension: int) -> int:
        """Elements along a dimension."""
        return 1 + sum(extent.factor * (extent.count - 1) for extent in self.extents[dimension])

    def local(self, dimension: int) -> Poly:
        """Position along a dimension, in terms of the ranging variables."""
        total = Poly()
        for extent in self.extents[dimension]:
            total += (variable(extent.variable) - constant(extent.first)).scaled(extent.factor)
        return total


def loop_range(loop: Loop) -> Range | None:
    """The values of a loop's variable where they are constants, else None. A step leaves gaps in it.

    Raises:
        FootprintError: If the loop never runs: there is nothing that it is known to read.
    """
    trip = loop.trip
    if trip is None:
        return None
    if trip == 0:
        raise FootprintError(f"the loop over {loop.var} never runs")
    first = poly(loop.lower).constant
    assert first is not None
    return Range((trip - 1) * loop.step + 1, first)


def footprint(subscript: Expr, ranges: Mapping[str, Range]) -> Box:
    """The box of a linear subscript over variables with constant ranges.

    Raises:
        FootprintError: If the subscript is not affine in one of them, or runs backwards.
    """
    base = poly(subscript)
    shares: dict[Poly, list[Extent]] = {}
    for name, values in ranges.items():
        split = base.coefficient(name)
        if split is None:
            raise FootprintError(f"the subscript is not affine in {name}")
        factor, base = split
        if not factor.terms:
            continue
        stride, scale = primitive(factor)
        if scale < 0 or any(value < 0 for _, value in stride.terms):
            raise FootprintError(f"the subscript runs backwards in {name}")
        base += factor.scaled(values.first)
        shares.setdefault(Poly(stride.terms), []).append(Extent(name, scale, values.count, values.first))
    dims: list[tuple[Poly, tuple[Extent, ...]]] = []
    for stride, extents in shares.items():
        dims.extend(_delinearise(stride, extents))
    dims.sort(key=lambda item: (item[0] == UNIT, _rank(item[0])))
    return Box(Poly(base.terms, base.wide), tuple(d[0] for d in dims), tuple(d[1] for d in dims))


def primitive(factor: Poly) -> tuple[Poly, int]:
    """(stride, scale) with factor = scale * stride and the coefficients of the stride coprime."""
    common = 0
    for _, value in factor.terms:
        common = gcd(common, value)
    if factor.terms and factor.terms[-1][1] < 0:
        common = -common
    return Poly(tuple((monomial, value // common) for monomial, value in factor.terms)), common


def _rank(stride: Poly) -> tuple[int, int, str]:
    """Slow strides first: more atoms, then larger coefficients."""
    degree = max(len(monomial) for monomial, _ in stride.terms)
    largest = max(value for _, value in stride.terms)
    return (-degree, -largest, repr(stride))


def _delinearise(stride: Poly, extents: Sequence[Extent]) -> list[tuple[Poly, tuple[Extent, ...]]]:
    """Numeric strides with gaps become dimensions of their own: 64*a + b, b < 8 is a 2-D box, not 64*A elements."""
    result: list[tuple[Poly, tuple[Extent, ...]]] = []
    unit, span = 1, 1
    current: list[Extent] = []
    ordered = sorted(extents, key=lambda extent: extent.factor)
    for position, extent in enumerate(ordered):
        rest = ordered[position:]
        if extent.factor // unit > span and all(later.factor % extent.factor == 0 for later in rest):
            if current:
                result.append((stride.scaled(unit), tuple(current)))
                current = []
            unit, span = extent.factor, 1
        if extent.factor % unit:
            raise FootprintError("the strides of the subscript do not nest")
        scaled = Extent(extent.variable, extent.factor // unit, extent.count, extent.first)
        current.append(scaled)
        span += scaled.factor * (extent.count - 1)
    if current:
        result.append((stride.scaled(unit), tuple(current)))
    return result


def union(boxes: Sequence[Box]) -> tuple[Box, tuple[tuple[int, ...], ...]]:
    """The smallest box of the same shape around translates, and each one's offset in it by dimension.

    Returns:
        (box, offsets): ``offsets[i][d]`` is where box i starts along dimension d; the box's extents are those of the
        parts, so its size along d is ``size(d) + max(offsets[.][d])``.

    Raises:
        FootprintError: If the boxes are not translates of one another.
    """
    first = boxes[0]
    if any(box.strides != first.strides or box.extents != first.extents for box in boxes):
        raise FootprintError("the accesses have different shapes")
    order = sorted(range(len(first.strides)), key=lambda d: _rank(first.strides[d]))
    raw = [_offsets(box.base - first.base, first.strides, order) for box in boxes]
    lowest = [min(column) for column in zip(*raw, strict=True)] if first.strides else []
    base = first.base
    for stride, low in zip(first.strides, lowest, strict=True):
        base += stride.scaled(low)
    moved = tuple(tuple(value - low for value, low in zip(row, lowest, strict=True)) for row in raw)
    return Box(base, first.strides, first.extents), moved


def _offsets(difference: Poly, strides: Sequence[Poly], order: Sequence[int]) -> list[int]:
    """The difference of two bases as whole steps along each stride."""
    steps = [0] * len(strides)
    rest = Poly(difference.terms)
    for dimension in order:
        stride = strides[dimension]
        monomial, value = max(stride.terms, key=lambda term: len(term[0]))
        have = dict(rest.terms).get(monomial, 0)
        steps[dimension] = _nearest(have, value)
        rest -= stride.scaled(steps[dimension])
    if rest.terms:
        raise FootprintError("the accesses are not translates of one another")
    return steps


def _nearest(numerator: int, denominator: int) -> int:
    """Integer nearest to the quotient, halves upwards."""
    return (2 * numerator + denominator) // (2 * denominator)

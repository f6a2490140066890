"""Conditions on elements of a box as conditions on positions in it.

A mask such as ``y_block + y_thread + ky - 1 >= 0`` beside the element ``A[(y_block + y_thread + ky - 1) * W + ...]``
says the same of every access that meets the element: it is one half-space of positions, ``y_block - 1 + row >= 0``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from genome.analysis.footprint import Box
from genome.ir.expr import Binary, Expr, Var, conjuncts, names
from genome.ir.poly import Poly, constant, poly
from genome.ir.types import infer

_PLACE = "position in the box"  # no C name, so it cannot be one of the kernel's
_COMPARED = frozenset({"<", "<=", ">", ">=", "==", "!="})


class MaskError(Exception):
    """The condition says something else than where in the box an element lies; the message says what."""


def mask_terms(
    condition: Expr, box: Box, offset: Sequence[int], types: Mapping[str, str]
) -> tuple[tuple[str, Sided, Sided], ...]:
    """The comparisons of a condition by position: (operator, left side, right side).

    Args:
        condition: A conjunction of comparisons over the variables of the box and others.
        box: The elements.
        offset: Where the access to which the condition belongs starts in the box, by dimension.
        types: Of all names in the condition. Positions are of type ``int``.

    Raises:
        MaskError: If a side is not an affine function of the position, or is computed in another type by position (an
            unsigned sum wraps round where a signed one is negative).
    """
    found = []
    for term in conjuncts(condition):
        if not isinstance(term, Binary) or term.op not in _COMPARED:
            raise MaskError("the condition is no conjunction of comparisons")
        sides = [_by_position(side, box, offset) for side in (term.left, term.right)]
        for side, before in zip(sides, (term.left, term.right), strict=True):
            after = _side_at(side, [Var(_PLACE)] * len(box.strides))
            if infer(before, types) != infer(after, {**types, _PLACE: "int"}):
                raise MaskError("the condition is computed in a type that its position does not have")
        found.append((term.op, sides[0], sides[1]))
    return tuple(found)


Sided = tuple[Poly, tuple[int, ...]]
"""One side of a comparison: what is the same for all positions, and the factor of the position by dimension."""


def mask_at(terms: Sequence[tuple[str, Sided, Sided]], position: Sequence[Expr]) -> list[Expr]:
    """The comparisons at a position."""
    return [Binary(op, _side_at(left, position), _side_at(right, position)) for op, left, right in terms]


def _side_at(side: Sided, position: Sequence[Expr]) -> Expr:
    total, factors = side
    for factor, at in zip(factors, position, strict=True):
        total += poly(at).scaled(factor)
    return total.to_expr()


def _by_position(side: Expr, box: Box, offset: Sequence[int]) -> Sided:
    rest, factors = poly(side), []
    for dimension, extents in enumerate(box.extents):
        factor = _factor(rest, extents[0].variable, extents[0].factor)
        rest -= (box.local(dimension) + constant(offset[dimension])).scaled(factor)
        factors.append(factor)
    running = {extent.variable for extents in box.extents for extent in extents}
    stray = [name for atom in rest.atoms for name in names(atom) if name in running]
    if stray:
        raise MaskError(f"the condition depends on {stray[0]} in another way than the element does")
    return Poly(rest.terms, rest.wide), tuple(factors)


def _factor(side: Poly, variable: str, scale: int) -> int:
    """How often the position along the variable's dimension is in the side."""
    split = side.coefficient(variable)
    coefficient = None if split is None else split[0].constant
    if coefficient is None or coefficient % scale:
        raise MaskError(f"the condition is no affine function of {variable}")
    return coefficient // scale

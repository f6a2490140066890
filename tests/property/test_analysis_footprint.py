"""Boxes of footprints hold what a subscript touches, where the box says it lies, and nothing out of its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from genome.analysis.count import evaluate
from genome.analysis.footprint import Box, FootprintError, Range, footprint, union
from genome.ir.expr import Binary, Const, Expr, Unary, Var
from genome.ir.poly import Poly

VARIABLES = ("a", "b", "c")
SIZES = {"W": 7, "H": 5, "r": 2}


def number(polynomial: Poly, values: Mapping[str, int]) -> int:
    found = evaluate(polynomial.to_expr(), values)
    assert found is not None
    return found


def times(left: Expr, right: Expr) -> Expr:
    return Binary("*", left, right)


factors = st.sampled_from(
    [Const("1"), Const("1"), Const("2"), Const("4"), Const("8"), Unary("-", Const("1")), Var("W"), Var("W"),
     Binary("+", Var("W"), Const("2")), times(Var("W"), Var("H")), times(Const("2"), Var("W")), Var("H")]
)  # fmt: skip
terms = st.one_of(
    st.builds(times, factors, st.sampled_from([Var(name) for name in VARIABLES])),
    st.sampled_from([Const("3"), Var("r"), times(Var("r"), Var("W")), Unary("-", Const("1"))]),
)
subscripts = st.lists(terms, min_size=1, max_size=5).map(
    lambda parts: parts[0] if len(parts) == 1 else _sum(parts)
)  # fmt: skip
ranges = st.fixed_dictionaries({name: st.builds(Range, st.integers(1, 5), st.integers(-1, 2)) for name in VARIABLES})


def _sum(parts: list[Expr]) -> Expr:
    result = parts[0]
    for part in parts[1:]:
        result = Binary("+", result, part)
    return result


def points(over: Mapping[str, Range]) -> list[dict[str, int]]:
    spans = [range(found.first, found.first + found.count) for found in over.values()]
    return [dict(zip(over, values, strict=True)) for values in product(*spans)]


def touched(subscript: Expr, over: Mapping[str, Range]) -> dict[tuple[int, ...], int]:
    found = {}
    for point in points(over):
        value = evaluate(subscript, SIZES | point)
        assert value is not None
        found[tuple(point.values())] = value
    return found


def place(box: Box, point: Mapping[str, int]) -> list[int]:
    return [number(box.local(dimension), point) for dimension in range(len(box.strides))]


def address(box: Box, at: list[int]) -> int:
    return number(box.base, SIZES) + sum(number(s, SIZES) * p for s, p in zip(box.strides, at, strict=True))


@settings(max_examples=200, deadline=None)
@given(subscripts, ranges)
def test_a_box_holds_what_is_touched_and_nothing_beyond(subscript: Expr, over: dict[str, Range]) -> None:
    try:
        box = footprint(subscript, over)
    except FootprintError:
        assume(False)
    seen = touched(subscript, over)
    for point, value in seen.items():
        at = place(box, dict(zip(over, point, strict=True)))
        assert address(box, at) == value
        assert all(0 <= position < box.size(dimension) for dimension, position in enumerate(at))
    corner = [box.size(dimension) - 1 for dimension in range(len(box.strides))]
    assert address(box, [0] * len(corner)) == min(seen.values())
    assert address(box, corner) == max(seen.values())


@settings(max_examples=200, deadline=None)
@given(subscripts, ranges, st.lists(st.integers(-3, 3), min_size=1, max_size=3), st.sampled_from(["1", "W", "H"]))
def test_a_union_tells_where_each_part_begins(
    subscript: Expr, over: dict[str, Range], shifts: list[int], along: str
) -> None:
    unit: Expr = Const("1") if along == "1" else Var(along)
    moved = [Binary("+", subscript, times(Const(str(abs(n))) if n >= 0 else Unary("-", Const(str(-n))), unit))
             for n in shifts]  # fmt: skip
    try:
        boxes = [footprint(part, over) for part in moved]
        whole, offsets = union(boxes)
    except FootprintError:
        assume(False)
    for part, offset in zip(moved, offsets, strict=True):
        assert all(step >= 0 for step in offset)
        for point, value in touched(part, over).items():
            at = place(whole, dict(zip(over, point, strict=True)))
            assert address(whole, [a + o for a, o in zip(at, offset, strict=True)]) == value

"""Equations of bounded integers: "no solution" is never said of one that has one, and rarely left unsaid."""

from __future__ import annotations

from itertools import product

from hypothesis import event, given, settings
from hypothesis import strategies as st

from genome.analysis.integers import OPEN, Linear, Range, at_most_zero, may_vanish

NAMES = "abc"
linears = st.builds(
    lambda constant, factors: Linear(constant, {name: factor for name, factor in factors.items() if factor}),
    st.integers(-20, 20),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from([-16, -8, -3, -2, -1, 1, 1, 2, 4, 5, 16]), max_size=3),
)
closed = st.fixed_dictionaries({name: st.builds(lambda low, count: Range(low, low + count - 1), st.integers(-3, 4),
                                                st.integers(0, 9)) for name in NAMES})  # fmt: skip


def value(linear: Linear, point: dict[str, int]) -> int:
    return linear.constant + sum(factor * point[name] for name, factor in linear.factors.items())


def points(ranges: dict[str, Range], wide: int = 0) -> list[dict[str, int]]:
    """All values; open ends are tried up to ``wide``."""
    spans = [range(-wide if r.low is None else r.low, (wide if r.high is None else r.high) + 1)
             for r in ranges.values()]  # fmt: skip
    return [dict(zip(ranges, numbers, strict=True)) for numbers in product(*spans)]


@settings(max_examples=200, deadline=None)
@given(linears, closed)
def test_one_equation_over_small_ranges_is_decided_exactly(equation: Linear, ranges: dict[str, Range]) -> None:
    solved = any(value(equation, point) == 0 for point in points(ranges))
    assert may_vanish([equation], ranges) == solved


@settings(max_examples=150, deadline=None)
@given(st.lists(linears, min_size=1, max_size=3), closed, st.sets(st.sampled_from(NAMES)))
def test_no_solution_is_a_proof(equations: list[Linear], ranges: dict[str, Range], opened: set[str]) -> None:
    ranges = {name: Range(found.low, None) if name in opened else found for name, found in ranges.items()}
    said = may_vanish(equations, ranges)
    solved = any(all(value(equation, point) == 0 for equation in equations) for point in points(ranges, 12))
    event(f"solved {solved}, said {said}")
    assert said or not solved


@settings(max_examples=150, deadline=None)
@given(st.lists(linears, min_size=1, max_size=3), closed)
def test_narrowing_loses_no_point(bounds: list[Linear], ranges: dict[str, Range]) -> None:
    narrow = at_most_zero(bounds, ranges)
    for point in points(ranges):
        if all(value(bound, point) <= 0 for bound in bounds):
            for name, number in point.items():
                found = narrow.get(name, OPEN)
                assert found.low is None or number >= found.low
                assert found.high is None or number <= found.high

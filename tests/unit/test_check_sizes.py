"""Sizes made for checks: counts stay near what is tuned, arrays stay as large as their shapes and reaches ask for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evo.campaign_sizes import MAX_ELEMENTS, elements, generate_check_sizes
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, ProblemSize, Role


def array(*shape: str) -> ArgSpec:
    return ArgSpec("a", "float32", Role.OUT, tuple(map(SizeExpr, shape)))


def made(
    tuned: dict[str, int], args: Sequence[ArgSpec], extents: Sequence[str] = (), held: Sequence[str] = (),
    assumptions: Assumptions | None = None,
) -> list[dict[str, int]]:  # fmt: skip
    sizes = (ProblemSize(tuple(tuned.items())),)
    found = generate_check_sizes(sizes, args, assumptions or Assumptions(), tuple(map(SizeExpr, extents)), held)
    assert tuned not in [size.env for size in found]
    return [size.env for size in found]


@pytest.mark.parametrize("iters", [1, 2, 3, 10, 32, 1000])
def test_a_count_of_turns_stays_a_little_below_what_is_tuned(iters: int) -> None:
    found = made({"n": 65536, "iters": iters}, [array("n")], ["n"])
    assert len(found) >= 4
    assert all(max(1, iters - max(1, iters // 4)) <= size["iters"] <= iters for size in found)
    assert iters == 1 or any(size["iters"] < iters for size in found)


def test_arrays_stay_larger_than_a_reach() -> None:
    found = made({"w": 2048, "h": 1024, "r": 10}, [array("w * h")], ["h"])
    assert all(size["w"] > 2 * size["r"] and size["h"] > 2 * size["r"] for size in found)
    assert any(size["w"] % 16 for size in found) and len(found) >= 4


def test_a_size_that_only_the_launch_names_is_no_count() -> None:
    found = made({"n": 4096, "rows": 64}, [array("n")], ["rows"])
    assert {1} < {size["rows"] for size in found}


@pytest.mark.parametrize(
    ("shape", "extent"), [("n // 64", "n"), ("n - 100", "n"), ("n", "n - 100"), ("n // 8 - 3", "1")]
)
def test_sizes_grow_until_shapes_and_launches_have_elements(shape: str, extent: str) -> None:
    found = made({"n": 4096}, [array(shape)], [extent])
    assert len(found) >= 4
    for size in found:
        assert SizeExpr(shape).evaluate(size) > 0 and SizeExpr(extent).evaluate(size) > 0


def test_what_the_block_follows_is_held() -> None:
    found = made({"rows": 1000, "cols": 96}, [array("rows", "cols")], ["rows"], held=["cols"])
    assert {size["cols"] for size in found} == {96} and len(found) >= 4


def test_promises_hold_for_counts_too() -> None:
    granted = Assumptions(divisible=(("taps", 4),), ranges=(("taps", 8, 64),))
    found = made({"n": 4096, "taps": 32}, [array("n")], assumptions=granted)
    assert all(size["taps"] % 4 == 0 and 8 <= size["taps"] <= 32 for size in found)


def test_only_arrays_shrink_where_they_are_too_large() -> None:
    found = made({"n": 1 << 24, "turns": 5000}, [array("n")])
    assert all(size["turns"] >= 3750 and elements([array("n")], size) <= MAX_ELEMENTS for size in found)


def test_counts_alone_give_enough() -> None:
    assert len(made({"turns": 32}, [array("1024")])) >= 3

"""A reference that was given as a function, written out and loaded again, computes what the function does."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.reference_child import load_function
from evo.inline_reference import Names, UnwrittenError, reference_file

NAMES = Names(("A", "B"), ("a",), ("n",))
INPUTS = {"A": np.array([[1.0, 2.0], [3.0, 4.0]]), "B": np.array([[0.5, 1.0], [2.0, 0.25]]), "a": 3.0}
SIZES = {"n": 2}

SCALE = 2.5
TABLE = {"shift": (1, 2.0)}


def scaled(values: Any) -> Any:
    return SCALE * values


def countdown(n: int) -> int:
    return 0 if n == 0 else 1 + countdown(n - 1)


def written(function: Callable[..., Any], tmp_path: Path) -> Any:
    text, name = reference_file(function, NAMES)
    path = tmp_path / "reference.py"
    path.write_text(text)
    return load_function(str(path), name)(INPUTS, SIZES)


def test_arguments_and_sizes_by_name(tmp_path: Path) -> None:
    def by_name(B: Any, a: Any, n: Any) -> Any:
        return a * B + n

    np.testing.assert_array_equal(written(by_name, tmp_path), 3.0 * INPUTS["B"] + 2)


def test_inputs_and_sizes_as_a_campaign_gives_them(tmp_path: Path) -> None:
    def plain(inputs: dict[str, Any], sizes: dict[str, int]) -> Any:
        return {"C": inputs["A"] @ inputs["B"] * sizes["n"]}

    np.testing.assert_array_equal(written(plain, tmp_path)["C"], INPUTS["A"] @ INPUTS["B"] * 2)


def test_what_it_uses_comes_along(tmp_path: Path) -> None:
    offset = np.float64(0.25)

    def user(A: Any) -> Any:
        inner = [scaled(row) + TABLE["shift"][1] for row in A]
        return np.array(inner) + math.sqrt(4.0) + offset + countdown(3)

    np.testing.assert_array_equal(written(user, tmp_path), 2.5 * INPUTS["A"] + 2.0 + 2.0 + 0.25 + 3)


@pytest.mark.parametrize("function", [np.matmul, np.dot])
def test_functions_of_numpy_get_the_arrays_in_order(function: Callable[..., Any], tmp_path: Path) -> None:
    np.testing.assert_array_equal(written(function, tmp_path), INPUTS["A"] @ INPUTS["B"])


def test_what_cannot_be_written_down_is_said(tmp_path: Path) -> None:
    held = np.zeros(3)

    def holds(A: Any) -> Any:
        return A + held

    def strange(left: Any, right: Any, third: Any) -> Any:
        return left

    cases: list[tuple[Any, str]] = [
        (holds, "'held', a ndarray"),
        (strange, r"expected \(inputs, sizes\), or names"),
        (lambda A: A, "a lambda"),
        (3, "expected a function, got int"),
    ]
    for function, message in cases:
        with pytest.raises(UnwrittenError, match=message):
            reference_file(function, NAMES)

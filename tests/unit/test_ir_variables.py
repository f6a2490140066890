"""Which declarations of a file leave a variable to the host."""

from __future__ import annotations

import pytest

from genome.ir.print_tokens import tokenize
from genome.ir.variables import declared_variables


@pytest.mark.parametrize(
    ("text", "dims"),
    [
        ("__constant__ float taps[(2 * 2 + 1) * (2 * 2 + 1)];", {"taps": ("(2 * 2 + 1) * (2 * 2 + 1)",)}),
        ("static __constant__ int a, b[(1 << 3)][4];", {"a": (), "b": ("(1 << 3)", "4")}),
        ("__device__ unsigned char bytes[sizeof(float) * 4];", {"bytes": ("sizeof(float) * 4",)}),
        ("__constant__ __align__(16) float row[(4)];", {"row": ("(4)",)}),
    ],
)
def test_extents_may_hold_parentheses(text: str, dims: dict[str, tuple[str, ...]]) -> None:
    found = declared_variables(tokenize(text))
    assert {variable.name: variable.dims for variable in found} == dims


@pytest.mark.parametrize(
    "text",
    [
        "__device__ float f(int a, int b);",
        "__device__ float g(const float x[4], int n);",
        "__device__ float (*chosen)(float);",
        "__device__ float (*rows)[4];",
        "__constant__ float given[(2)] = {1.0f, 2.0f};",
    ],
)
def test_functions_pointers_to_arrays_and_filled_variables_are_not_left_to_the_host(text: str) -> None:
    assert declared_variables(tokenize(text)) == ()

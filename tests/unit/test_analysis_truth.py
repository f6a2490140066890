"""Facts about kernels against a run thread by thread: addresses, strides, agreement of threads, bytes, flops."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.interpret.trace import OutOfBounds
from tests.interpret.truth import Truth, check_all, check_forms, check_reuse, check_strides, kernel_of

ROOT = Path(__file__).parents[2]
SIZES: dict[str, dict[str, Any]] = {
    "conv3x3": {"IC": 2, "OC": 2, "H": 2, "W": 5}, "gelu": {"n": 30}, "gemv": {"M": 9, "N": 5}, "histogram": {"n": 30},
    "layernorm": {"rows": 9, "cols": 5, "eps": 0.1}, "matmul": {"M": 5, "N": 7, "K": 3}, "sum": {"n": 30},
    "softmax": {"rows": 9, "cols": 5}, "stencil": {"W": 9, "H": 6}, "transpose": {"W": 9, "H": 6},
    "vector_add": {"n": 30}, "nbody": {"n": 9, "soft2": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_examples_do_what_their_facts_say(name: str) -> None:
    text = (ROOT / "examples" / name / "kernel.cu").read_text()
    kernel = kernel_of(text, name)
    grid, block = ((3,), (16,)) if len(kernel.axes) == 1 else ((3, 3, 2)[: len(kernel.axes)], (4, 2))
    truth = Truth(kernel, grid, block, SIZES[name])
    forms, pairs, exact = check_all(truth)
    assert forms > 0 and pairs > 0
    assert exact or name == "conv3x3"  # its border is a condition


DATA: dict[str, tuple[str, dict[str, Any]]] = {
    "conv3": ("conv3", {"IC": 2, "OC": 2, "H": 2, "W": 5}), "hist": ("hist", {"n": 30}),
    "gemm_tn": ("matmul_ta", {"rows": 5, "cols": 7, "depth": 3}), "softmax_in_place": ("rows", {"n": 9, "width": 4}),
    "statistics": ("rows", {"rows": 9, "cols": 5}), "batched": ("rows", {"B": 2, "M": 9, "N": 5}),
    "rowsum": ("rowsum", {"rows": 9, "cols": 5, "floor_value": 4.0}), "saxpy": ("saxpy64", {"n": 30, "a": 0.5}),
    "prefix": ("triangle", {"rows": 5, "cols": 7}), "taps": ("untidy", {"n": 30}),
    "fading": ("untidy", {"n": 9, "K": 5, "flag": 1}), "flip": ("untidy", {"n": 60}),
    "turn": ("untidy", {"W": 16, "H": 8}), "quarter": ("untidy", {"n": 16, "m": 4, "K": 3}),
    "typed": ("untidy", {"n": 30, "ld": 7, "m": 9}), "truncated": ("untidy", {"n": 9, "C": 4}),
    "tiled": ("untidy", {"M": 8, "N": 16, "K": 11}), "strided": ("untidy", {"n": 9, "K": 7}),
    "fraction": ("untidy", {"n": 9, "C": 5, "part": 0.6, "off": 2.5}),
}  # fmt: skip


@pytest.mark.parametrize("entry", DATA)
def test_kernels_as_people_write_them_do_what_their_facts_say(entry: str) -> None:
    name, sizes = DATA[entry]
    kernel = kernel_of((ROOT / "tests/data/kernels" / f"{name}.cu").read_text(), entry)
    shapes = {"tiled": ((2, 1), (8, 8)), "turn": ((2, 1), (8, 8)), "conv3": ((2, 1, 2), (4, 2)), "flip": ((1,), (64,))}
    one = {"x"} >= {axis.dim for axis in kernel.axes}
    grid, block = shapes.get(entry, ((3,), (16,)) if one else ((3, 3), (4, 2)))
    check_all(Truth(kernel, grid, block, sizes))


WINDOWS = """
__global__ void f(const float* x, const float* w, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < m) {
    float s = 0.0f;
    for (int a = 0; a < 3; a++)
      for (int b = 1; b < 6; b += 2)
        s += x[(j + a) * (n + 4) + i + b] * w[a * 3 + b] + x[j * 40 + 2 * i + b];
    for (int c = 2; c < m; c++)
      s += x[i * m + c] - x[i * m + c - 1] + x[i * m + c + 1] + w[c * j] * w[4 * i + c];
    y[j * n + i] = s;
  }
}
"""


def test_footprints_of_windows_are_what_blocks_touch() -> None:
    truth = Truth(kernel_of(WINDOWS, "f"), (2, 2), (8, 4), {"n": 16, "m": 8})
    assert check_reuse(truth) > 100
    assert {(fact.array, fact.over) for fact in truth.facts.reuse if fact.elements != fact.accesses}


TEMPLATE = """
__global__ void f(float* y, int n, unsigned int u, const int* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  const int t = i * 3 + n;
  const unsigned int w = j * u;
  for (int a = 1; a < 4; a++)
    for (unsigned int b = 0; b < u; b += 2)
      y[@] = 1.0f;
}
"""


def random_index(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(["i", "j", "a", "b", "n", "u", "t", "w", "2", "3u", "p[a]", "i"])
    left, right = random_index(rng, depth - 1), random_index(rng, depth - 1)
    op = rng.choice(["+", "+", "+", "*", "*", "-", "cast", "<<", "/", "%", ">>", "&"])
    if op == "cast":
        return f"({rng.choice(['int', 'unsigned int', 'size_t', 'long long'])})({left})"
    if op in ("<<", ">>", "/", "%", "&"):
        return f"(({left}) {op} {rng.choice([1, 2, 3])})"
    return f"(({left}) {op} ({right}))"


@pytest.mark.parametrize("seed", range(3))
def test_forms_of_random_indices_are_addresses(seed: int) -> None:
    rng = random.Random(seed)
    forms = runs = 0
    while runs < 12:
        kernel = kernel_of(TEMPLATE.replace("@", random_index(rng, 3)), "f")
        scalars = {"n": rng.randrange(1, 7), "u": rng.randrange(1, 6)}
        try:
            truth = Truth(kernel, (2, 2), (4, 2), scalars)
        except OutOfBounds:
            continue  # an index outside the array says nothing
        runs += 1
        forms += check_forms(truth) > 0
        check_strides(truth)
    assert forms >= 3

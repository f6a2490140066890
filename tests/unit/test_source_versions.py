"""Integer scalars that are set several times: values get names where they can, and kernels compute the same."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from genome.analysis.analyse import analyse
from genome.ir.print_source import print_kernel
from genome.source.frontend import parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.spec import Assumptions
from genome.variant import Target
from tests.unit.test_source_execution import run_opencl

HEAD = """__global__ void k(const float* x, float* y, int n, int m) {
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i >= n) return;
"""
KNOWN = {
    "in a line": "int k = i * m; float s = x[k]; k = k + 1; s += x[k]; k += n; y[i] = s + x[k];",
    "declared ahead": "int k; float s; k = 2 * i; s = x[k]; k = 2 * i + 1; s += x[k]; y[i] = s;",
    "in a loop": "int k; float s = 0;\n"
                 "for (int j = 0; j < m; j++) { k = i * m + j; s += x[k]; k = k + n; s += x[k]; } y[i] = s;",
    "under a condition": "int k = i; float s = x[k]; if (i > 0) { k = k - 1; s += x[k]; } y[i] = s;",
    "in both branches": "int k = i; float s; if (i > 2) { k -= 1; s = x[k]; } else { k *= 2; s = x[k]; } y[i] = s;",
    "a parameter": "m = m + 1; y[i] = x[i * m];",
}  # fmt: skip
UNKNOWN = {
    "carried to the next turn": "int k = i; float s = 0;\n"
                                "for (int j = 0; j < m; j++) { s += x[k % n]; k = k + j * k; } y[i] = s;",
    "wanted behind a condition": "int k = i; if (x[i] > 0) k = k - 1; y[i] = x[k];",
    "wanted behind a loop": "int k = 0; for (int j = 0; j < m; j++) { if (x[j] > 0) k = j; } y[i] = x[k];",
    "handed over": "int k = i; k = k + 1; atomicAdd(&k, 1); y[i] = x[k];",
}  # fmt: skip


@pytest.mark.parametrize("how", list(KNOWN))
def test_accesses_through_them_are_known(how: str) -> None:
    kernel = parse_kernel(f"{HEAD}{KNOWN[how]}\n}}", "k")
    facts = analyse(kernel, Assumptions(), (64, 1, 1))
    assert all(access.proof.holds for access in facts.accesses), print_kernel(kernel, Target.CUDA)
    assert " k" not in print_kernel(kernel, Target.CUDA).partition("{")[2]


@pytest.mark.parametrize("how", list(UNKNOWN))
def test_values_that_are_wanted_elsewhere_stay_assignments(how: str) -> None:
    kernel = parse_kernel(f"{HEAD}{UNKNOWN[how]}\n}}", "k")
    assert re.search(r"x\[k(_2)?( % n)?\]", print_kernel(kernel, Target.CUDA))


def program(rng: random.Random, depth: int = 0) -> list[str]:
    """Statements that set a, b and c (c is declared without a value), with conditions and loops around some of them."""
    lines = []
    for _ in range(rng.randint(2, 4)):
        kind = rng.random()
        name, other = rng.choice("abc"), rng.choice("abi")
        if kind < 0.55 or depth > 2:
            op = rng.choice(["=", "=", "+=", "-=", "*="])
            lines.append(f"{name} {op} {other} {rng.choice('+-*')} {rng.randint(1, 5)};")
        elif kind < 0.8:
            lines += [f"if ({other} % {rng.randint(2, 3)} == 0) {{", *program(rng, depth + 1)]
            lines += ["} else {", *program(rng, depth + 1), "}"] if rng.random() < 0.5 else ["}"]
        elif kind < 0.95:
            counter = f"j{depth}"
            lines += [f"for (int {counter} = 0; {counter} < {rng.randint(1, 3)}; {counter}++) {{"]
            lines += [*program(rng, depth + 1), "}"]
        else:
            lines += [f"y[i] = y[i] * 3 + {name};"]
    return [*lines, f"y[i] = y[i] * 5 + {rng.choice('abc')};"] if rng.random() < 0.5 else lines


def kernel_of(programs: int, seed: int) -> str:
    """Random programs one behind another, each with variables of its own, on unsigned numbers, which wrap."""
    rng = random.Random(seed)
    lines = ["__global__ void k(unsigned* y, unsigned n) {", "unsigned i = blockIdx.x * blockDim.x + threadIdx.x;"]
    lines.append("if (i >= n) return;")
    for _ in range(programs):
        lines += ["{", "unsigned a = i + 1, b = n - i;", "unsigned c;", "c = a ^ b;", *program(rng)]
        lines += ["y[i] = y[i] * 7 + a * 3 + b * 5 + c;", "}"]
    return "\n".join([*lines, "}"])


@pytest.mark.parametrize("seed", range(2))
def test_random_kernels_compute_the_same(seed: int) -> None:
    source = kernel_of(4, seed)
    read = parse_kernel(source, "k")
    assert re.search(r"unsigned int [abc]_\d+ = ", print_kernel(read, Target.CUDA)) is not None or seed
    results = [
        run_opencl(
            print_kernel(kernel, Target.OPENCL), "k", [np.arange(16, dtype=np.uint32), np.uint32(13)], (2,), (8,)
        )[0]
        for kernel in (read, verbatim_kernel(source, "k"))
    ]
    np.testing.assert_array_equal(results[0], results[1], err_msg=source)


def test_numbers_in_constant_memory_stay_the_same_while_a_kernel_runs() -> None:
    source = f"__constant__ int offset;\n__device__ int other;\n{HEAD}"
    known = parse_kernel(f"{source}int k = i + offset; y[i] = x[k];\n}}", "k")
    assert "x[i + offset]" in print_kernel(known, Target.CUDA)
    loose = parse_kernel(f"{source}int k = i + other; y[i] = x[k];\n}}", "k")
    assert "x[k_2]" in print_kernel(loose, Target.CUDA)
    hidden = parse_kernel(f"{source}int offset = 3; int k = i + offset; y[i] = x[k];\n}}", "k")
    assert "x[i + 3]" in print_kernel(hidden, Target.CUDA)

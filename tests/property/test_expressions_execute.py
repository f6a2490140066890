"""Kernels with pointers that change type or move, values of atomics and calls with addresses: random genomes of them
compute what numpy does, at sizes that do not divide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from genome.genes import Genome
from genome.lower import lower
from genome.spec import Reading
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.property.test_transforms_execute import LIMITS, Case, inputs_of, random_genome, size_of, spec_of

Arrays = dict[str, np.ndarray]
FILE = "tests/data/expressions/mixed.cu"
CASES = (
    Case(FILE, "lanes", ("x:float32:in:n", "y:float32:out:n", "bits:int32:out:n", "n:int32=n"),
         ("n",), (32, 1, 1), ("n=131", "n=7", "n=256")),
    Case(FILE, "slots", ("x:float32:in:n", "kept:int32:inout:n", "count:int32:inout:3", "n:int32=n"),
         ("n",), (32, 1, 1), ("n=131", "n=3", "n=256")),
    Case(FILE, "split", ("x:float32:in:n", "steps:float32:in:m", "y:float32:out:3*n", "n:int32=n", "m:int32=m"),
         ("n",), (32, 1, 1), ("n=131,m=5", "n=3,m=1", "n=64,m=16")),
    Case(FILE, "walks",
         ("x:float32:in:n*m", "y:float32:inout:2*n", "turns:int32:out:2*n", "n:int32=n", "m:int32=m"),
         ("n",), (32, 1, 1), ("n=131,m=5", "n=3,m=1", "n=64,m=16")),
)  # fmt: skip


def lanes(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    x = given["x"].astype(np.float32)
    whole = x[: sizes["n"] // 4 * 4].reshape(-1, 4).copy()
    whole[:, 0] += whole[:, 3]
    whole[:, 3] = 2 * whole[:, 1]
    return {"y": whole.ravel(), "bits": x.view(np.int32) & 0x7F800000}


def slots(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    taken = np.flatnonzero(given["x"] > 0)
    return {"kept": taken, "count": np.array([len(taken), 0, 7 if len(taken) else 0])}


def parts(value: np.float32, steps: np.ndarray) -> tuple[np.float32, np.float32]:
    k = int(abs(value) * np.float32(8)) % len(steps)
    return np.float32(value - steps[k]), np.float32(k + steps.view(np.uint8)[4 * k + 3])


def split(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    steps, m = given["steps"].astype(np.float32), sizes["m"]
    y = np.zeros(3 * sizes["n"], np.float32)
    for i, x in enumerate(given["x"].astype(np.float32)):
        rest, whole = parts(x, steps)
        for j in range(3):
            more, y[3 * i + j] = parts(np.float32(whole + rest), steps)
            rest = np.float32(rest + more)
            more, whole = parts(rest, steps[j % m :])
            y[3 * i + j] += more
        y[3 * i] += whole
    return {"y": y}


def walks(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    n, m = sizes["n"], sizes["m"]
    i, x = np.arange(n), given["x"]
    left = 5 * i + m
    sums = x.reshape(n, m).sum(axis=1) + x[:m:2].sum() + left
    y = given["y"].copy()
    y[i + n * (i % 2)] = sums
    return {"y": y, "turns": np.tile(m + left % 3, 2)}


EXPECTED: dict[str, Callable[[Arrays, Mapping[str, int]], Arrays]] = {
    "lanes": lanes, "slots": slots, "split": split, "walks": walks,
}  # fmt: skip


def given_to(case: Case, sizes: dict[str, int]) -> Arrays:
    inputs = inputs_of(spec_of(case), sizes, 5)
    if case.name == "slots":
        inputs |= {"kept": np.full(sizes["n"], -1), "count": np.zeros(3, int)}
    return inputs


def check(case: Case, variant: Variant, run) -> None:
    for size in case.sizes:
        sizes = size_of(size).env
        if not variant.guard.holds(sizes):
            continue
        inputs = given_to(case, sizes)
        got = run(spec_of(case), variant, sizes, inputs)
        for name, expected in EXPECTED[case.name](inputs, sizes).items():
            found = got[name].ravel()[: len(expected)]
            if case.name == "slots":  # in any order, and any of them may be the first
                found = np.sort(found) if name == "kept" else found * np.array([1, 0, 1])
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=f"{size}\n{variant.source}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_kernel_as_it_was_read_computes_what_it_says(case: Case, opencl_run) -> None:
    for reading in (Reading.BOTH, Reading.PARSED):
        variant = lower(replace(spec_of(case), reading=reading), Genome(), BUILTIN, Target.OPENCL, LIMITS)
        assert isinstance(variant, Variant), variant
        check(case, variant, opencl_run)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_random_genomes_compute_what_it_says(case: Case, opencl_run) -> None:
    rng = np.random.default_rng(sum(case.name.encode()))
    for _ in range(3):
        genome = random_genome(spec_of(case), rng, int(rng.integers(2, 7)))
        variant = lower(spec_of(case), genome, BUILTIN, Target.OPENCL, LIMITS)
        if isinstance(variant, Variant):
            check(case, variant, opencl_run)

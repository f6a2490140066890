"""Dependences and races that really happen in small runs are all told, and those called proven do happen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, example, given, settings

from genome.analysis.casts import mark_rounding
from genome.analysis.collect import collect
from genome.analysis.dependences import dependences
from genome.analysis.facts import Dependence, Hazard, SharedRace
from genome.analysis.proof import Standing
from genome.analysis.scope import make_scope
from genome.analysis.shared_races import shared_races
from genome.analysis.uniformity import Levels
from genome.ir.kernel import Kernel
from genome.source.frontend import parse_kernel
from tests.interpret import conflicts
from tests.interpret.c_values import Undefined, Unsupported
from tests.interpret.conflicts import Conflict
from tests.interpret.kernels import Taste, kernels, launches
from tests.interpret.machine import run
from tests.interpret.trace import Launch, OutOfBounds, Trace


def parsed(text: str) -> Kernel:
    return mark_rounding(parse_kernel(text, "k"))


def shape_of(text: str, launch: Launch) -> Launch:
    """The launch along the dimensions that the kernel uses."""
    columns, rows = (2 if f"blockIdx.{dim}" in text else 1 for dim in "xy")
    return replace(launch, grid=(columns, rows), block=(4, 2 if "threadIdx.y" in text else 1))


def traces(text: str, kernel: Kernel) -> list[Trace]:
    """Runs at the sizes at which the kernel does nothing undefined; ``assume`` that there are some."""
    found = []
    for launch in launches():
        try:
            found.append(run(kernel, shape_of(text, launch)))
        except (OutOfBounds, Undefined, Unsupported):
            continue
    assume(found)
    return found


def key_of(fact: SharedRace | Dependence) -> Conflict:
    if isinstance(fact, SharedRace):
        return Conflict(fact.array, fact.first_line, fact.second_line, fact.hazard)
    return Conflict(fact.name, fact.source_line, fact.sink_line, fact.hazard)


UPDATED_IN_A_LOOP = """__global__ void k(const float* x, float* y, int* h, const int* p, int n, int m) {
    __shared__ float s[24];
    if (threadIdx.x < 2) {
        for (int k1 = 0; k1 < 2; ++k1) s[k1 % 4] += 1.0f * k1;
    }
}
"""


@settings(max_examples=25, deadline=None)
@given(kernels(Taste(straight=True)))
@example(UPDATED_IN_A_LOOP)
def test_every_race_that_happens_is_told_and_every_proven_one_happens(text: str) -> None:
    kernel = parsed(text)
    runs = [trace for trace in traces(text, kernel) if not trace.diverged]
    assume(runs)
    levels = Levels(make_scope(kernel, (4, 2 if "threadIdx.y" in text else 1, 1)))
    told = {key_of(fact): fact for fact in shared_races(levels, collect(levels))}
    real = {conflict for trace in runs for conflict in conflicts.shared_races(trace)}
    assert real <= told.keys(), (real - told.keys(), text)
    if len(runs) == len(launches()):
        proven = {_either_way(key) for key, fact in told.items() if fact.proof.holds}
        assert proven <= {_either_way(conflict) for conflict in real}, (proven - real, text)


def _either_way(conflict: Conflict) -> Conflict:
    """Between threads a statement that reads and writes one element has no order of its own: either may come first."""
    in_one = conflict.first == conflict.second and conflict.hazard is Hazard.FLOW
    return replace(conflict, hazard=Hazard.ANTI) if in_one else conflict


TWO_DISTANCES = """__global__ void k(const float* x, float* y, int* h, const int* p, int n, int m) {
    for (int k1 = 2; k1 < 9; ++k1) y[k1] = y[k1 - 1] + y[k1 - 2];
}
"""


@settings(max_examples=25, deadline=None)
@given(kernels(Taste(barriers=False)))
@example(TWO_DISTANCES)
def test_every_dependence_between_iterations_is_told_with_its_distance(text: str) -> None:
    kernel = parsed(text)
    scope = make_scope(kernel)
    runs, accesses = traces(text, kernel), collect(Levels(scope))
    facts = [fact for fact in dependences(scope, accesses) if fact.loop is not None]
    arrays = {access.array for access in accesses}
    for loop in scope.loops:
        mine: dict[Conflict, set[int | None]] = {}
        for fact in facts:
            if fact.loop == loop and fact.name in arrays:
                mine.setdefault(key_of(fact), set()).add(fact.distance)
        for trace in runs:
            found = conflicts.between_iterations(trace, loop)
            assert found.keys() <= mine.keys(), (loop, found.keys() - mine.keys(), text)
            for key, distances in found.items():
                assert None in mine[key] or distances <= mine[key], (key, mine[key], distances, text)


@settings(max_examples=25, deadline=None)
@given(kernels(Taste(barriers=False, shared=False)))
def test_every_dependence_between_threads_is_told(text: str) -> None:
    kernel = parsed(text)
    runs = traces(text, kernel)
    scope = make_scope(kernel, (4, 2 if "threadIdx.y" in text else 1, 1))
    told = {key_of(fact): fact for fact in dependences(scope, collect(Levels(scope))) if fact.loop is None}
    real = {conflict for trace in runs for conflict in conflicts.between_threads(trace)}
    assert real <= told.keys(), (real - told.keys(), text)
    if len(runs) == len(launches()) and "if (i" not in text:
        proven = {key for key, fact in told.items() if fact.proof.holds}
        assert proven <= real, ([told[key] for key in proven - real], text)


HEAD = "__global__ void k(const float* x, float* y, int* h, const int* p, int n, int m) { __shared__ float s[64];"
TREE = """    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        %s
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];"""
SWEEP = """    for (int t = 0; t < n; t++) {
        s[threadIdx.x] = x[t * 4 + threadIdx.x];
        %s
        for (int q = 0; q < 4; q++) y[threadIdx.x] += s[q];
        %s
    }"""
CASES = {
    "a tree": (TREE % "__syncthreads();", None),
    "a tree without its barrier": (TREE % "", Standing.PROVEN),
    "a sweep over tiles": (SWEEP % ("__syncthreads();", "__syncthreads();"), None),
    "a sweep that overtakes itself": (SWEEP % ("__syncthreads();", ""), Standing.DOUBTED),
    "a sweep that reads too early": (SWEEP % ("", "__syncthreads();"), Standing.DOUBTED),
    "neighbours": ("s[threadIdx.x] = 1.0f; y[threadIdx.x] = s[threadIdx.x ^ 1];", Standing.PROVEN),
    "neighbours behind a barrier": (
        "s[threadIdx.x] = 1.0f; __syncthreads(); y[threadIdx.x] = s[threadIdx.x ^ 1];", None),
    "own element": ("s[threadIdx.x] = 1.0f; y[threadIdx.x] = s[threadIdx.x];", None),
    "one thread for all": ("if (threadIdx.x == 0) s[0] = 1.0f; y[threadIdx.x] = s[0];", Standing.PROVEN),
    "one thread alone": ("if (threadIdx.x == n) { s[0] = 1.0f; y[0] = s[0]; }", None),
    "the two branches of a condition": (
        "if (threadIdx.x < 2) s[threadIdx.x] = 1.0f; else y[threadIdx.x] = s[threadIdx.x - 2];", Standing.PROVEN),
    "halves": ("s[threadIdx.x * 2] = 1.0f; y[threadIdx.x] = s[threadIdx.x * 2 + 1];", None),
    "barrier in one branch of a uniform condition": (
        "s[threadIdx.x] = 1.0f; if (n > 2) __syncthreads(); y[threadIdx.x] = s[3 - threadIdx.x];", Standing.PROVEN),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_race_that_programmers_make(name: str) -> None:
    text, expected = CASES[name]
    levels = Levels(make_scope(parsed(f"{HEAD}\n{text}\n}}"), (4, 1, 1)))
    facts = shared_races(levels, collect(levels))
    assert {fact.proof.standing for fact in facts} <= {Standing.PROVEN, Standing.DOUBTED}
    surest = None if not facts else min((fact.proof.standing for fact in facts), key=list(Standing).index)
    assert surest == expected, facts


def test_a_crowd_of_accesses_is_one_doubt_and_soon_told() -> None:
    stores = "".join(f"y[{number} + i * 400] = x[i];\n" for number in range(400))
    kernel = parsed(f"{HEAD} for (int i = 0; i < n; i++) {{ {stores} }} }}")
    scope = make_scope(kernel, (64, 1, 1))
    facts = [fact for fact in dependences(scope, collect(Levels(scope))) if fact.name == "y"]
    assert [fact.loop for fact in facts] == ["i", None]
    assert all(not fact.proof.holds and "400 accesses" in fact.proof.reason for fact in facts)

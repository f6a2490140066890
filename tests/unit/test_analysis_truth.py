"""Facts about kernels against a run thread by thread: addresses, strides, agreement of threads, bytes, flops."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genome.analysis.access import Access, AccessMode, AffineForm, MemorySpace
from genome.analysis.analyse import analyse
from genome.analysis.casts import mark_rounding
from genome.analysis.count import Count, evaluate
from genome.analysis.facts import BranchKind, KernelFacts, Reuse, Uniformity
from genome.analysis.proof import Standing
from genome.ir.expr import Call, Expr, Var
from genome.ir.kernel import Kernel
from genome.ir.poly import Poly
from genome.ir.stmt import If, Loop, flatten
from genome.ir.type_sizes import size_of
from genome.source.frontend import parse_kernel
from tests.interpret.code import Code
from tests.interpret.machine import run
from tests.interpret.trace import Access as Event
from tests.interpret.trace import Launch, OutOfBounds, Point, Thread, Trace

ROOT = Path(__file__).parents[2]
MODES = {"r": "read", "w": "write", "a": "atomic"}
_ELEMENTS = 6000
Shape = tuple[int, ...]


def kernel_of(text: str, entry: str) -> Kernel:
    return mark_rounding(parse_kernel(text, entry))


def launched(kernel: Kernel, grid: Shape, block: Shape, scalars: Mapping[str, Any]) -> Trace:
    rng = np.random.default_rng(5)
    arrays = {}
    for param in kernel.params:
        if param.pointer:
            whole = rng.integers(0, 9, _ELEMENTS)
            arrays[param.name] = whole.astype(np.float64) if param.ctype in ("float", "double") else whole
    return run(kernel, Launch(grid, block, arrays, scalars))


def point(shape: Shape) -> Point:
    x, y, z = (*shape, 1, 1)[:3]
    return x, y, z


class Truth:
    """A run of a kernel and what the analyses say of it."""

    def __init__(
        self, kernel: Kernel, grid: tuple[int, ...], block: tuple[int, ...], scalars: Mapping[str, Any]
    ) -> None:
        self.kernel, self.scalars = kernel, dict(scalars)
        self.grid, self.block = point(grid), point(block)
        self.facts: KernelFacts = analyse(kernel, block=self.block)
        self.trace = launched(kernel, grid, block, scalars)

    def values(self, block: Point, thread: Point, loops: Any = ()) -> dict[str, int]:
        found = {name: value for name, value in self.scalars.items() if isinstance(value, int)}
        for position, dim in enumerate("xyz"):
            found |= {f"threadIdx.{dim}": thread[position], f"blockIdx.{dim}": block[position],
                      f"blockDim.{dim}": self.block[position], f"gridDim.{dim}": self.grid[position]}  # fmt: skip
        for axis in self.kernel.axes:
            at = "xyz".index(axis.dim)
            found[axis.name] = block[at] * self.block[at] + thread[at]
        return found | dict(loops)

    def fact(self, event: Event) -> Access:
        """The fact about an access of the run."""
        assert event.node is not None
        found = [access for access in self.facts.accesses
                 if access.statement == event.site and access.array == event.array
                 and access.subscripts == event.node.subscripts and access.mode.value == MODES[event.kind]]  # fmt: skip
        assert found, f"no fact about {event}"
        return found[0]

    def inside(self, values: dict[str, int]) -> bool:
        """True if a thread lies inside the axes' bounds."""
        for axis in self.kernel.axes:
            low = evaluate(axis.lower, values) if axis.lower is not None else None
            high = evaluate(axis.upper, values) if axis.upper is not None else None
            if (low is not None and values[axis.name] < low) or (high is not None and values[axis.name] >= high):
                return False
        return True


def value_of(expr: Expr, truth: Truth, values: Mapping[str, int]) -> int:
    """What the expression gives on the device."""
    if isinstance(expr, Var):
        return int(values[expr.name])
    code = Code(truth.kernel, Launch(truth.grid, truth.block, {}, truth.scalars))
    thread = Thread(Trace(()), (0, 0, 0), (0, 0, 0), {**truth.scalars, **values}, {}, random.Random(0))
    return int(code.expr(expr, -1)[0](thread))


def total(polynomial: Poly, truth: Truth, values: Mapping[str, int]) -> int:
    return sum(factor * prod(value_of(atom, truth, values) for atom in monomial)
               for monomial, factor in polynomial.terms)  # fmt: skip


def amount(count: Count, truth: Truth, values: Mapping[str, int]) -> int | None:
    """A count at these values; None where only the run can tell the trips of a loop."""
    if any(isinstance(atom, Call) and atom.function == "trips" for atom in count.numerator.atoms):
        return None
    whole, rest = divmod(total(count.numerator, truth, values), count.denominator)
    assert not rest
    return whole


def address(form: AffineForm, truth: Truth, values: Mapping[str, int]) -> int:
    return total(form.constant, truth, values) + sum(
        total(term.coefficient, truth, values) * values[term.variable] for term in form.terms
    )


def check_forms(truth: Truth) -> int:
    """Every access of the run lies where its form says; the number of accesses that have one."""
    checked = 0
    for event in truth.trace.accesses:
        access = truth.fact(event)
        if access.form is not None:
            assert access.proof.standing is Standing.PROVEN
            values = truth.values(event.block, event.thread, event.loops)
            assert address(access.form, truth, values) == event.element, access
            checked += 1
    return checked


def check_strides(truth: Truth) -> int:
    """Neighbouring threads in the same iteration lie a stride apart; the number of pairs."""
    fast = next((position for position in range(3) if truth.block[position] > 1), 0)
    rows: dict[Any, dict[int, tuple[int, Access, dict[str, int]]]] = defaultdict(dict)
    times: dict[Any, int] = defaultdict(int)
    for event in truth.trace.accesses:
        access = truth.fact(event)
        assert access.coalescing is not None
        if access.coalescing.stride is None:
            continue
        who = (event.site, event.node, event.kind, event.block, event.thread)
        rest = tuple(value for position, value in enumerate(event.thread) if position != fast)
        if access.guards:
            key: Any = (event.site, event.node, event.kind, event.block, rest, event.loops)
        else:
            key = (event.site, event.node, event.kind, event.block, rest, times[who])
            times[who] += 1
        values = truth.values(event.block, event.thread, event.loops)
        rows[key][event.thread[fast]] = (event.element, access, values)
    pairs = 0
    for row in rows.values():
        for position, (element, access, values) in row.items():
            if position + 1 in row:
                assert access.coalescing is not None and access.coalescing.stride is not None
                stride = total(access.coalescing.stride, truth, values)
                assert row[position + 1][0] - element == stride, access
                pairs += 1
    return pairs


def groups(event: Any, level: Uniformity, block: Point) -> Any:
    x, y, z = event.thread
    match level:
        case Uniformity.GRID:
            return ()
        case Uniformity.BLOCK:
            return event.block
        case Uniformity.WARP:
            return event.block, (x + block[0] * (y + block[1] * z)) // 32
    return event.block, event.thread


def check_uniformity(truth: Truth) -> None:
    """Threads that a branch is said to be uniform over agree on it, in every iteration."""
    positions = [position for position, stmt in enumerate(flatten(truth.kernel.prologue + truth.kernel.body))
                 if isinstance(stmt, If | Loop)]  # fmt: skip
    branches = [branch for branch in truth.facts.branches if branch.kind is not BranchKind.GUARD]
    assert len(positions) == len(branches)
    level = {position: branch.uniformity for position, branch in zip(positions, branches, strict=True)}
    seen: dict[Any, float] = {}
    for outcome in truth.trace.conditions:
        key = (outcome.site, outcome.loops, groups(outcome, level[outcome.site], truth.block))
        assert seen.setdefault(key, outcome.value) == outcome.value, truth.trace.statements[outcome.site]


def check_barriers(truth: Truth) -> None:
    if all(barrier.reached.holds for barrier in truth.facts.barriers):
        assert not truth.trace.diverged


def check_work(truth: Truth) -> bool:
    """Where the counts are proven, each thread inside the axes moves and computes just so much."""
    work = truth.facts.work
    exact = work.proof.standing is Standing.PROVEN
    read: dict[Any, int] = defaultdict(int)
    written: dict[Any, int] = defaultdict(int)
    pointers = {param.name: size_of(param.ctype) for param in truth.kernel.params if param.pointer}
    for event in truth.trace.accesses:
        if event.array in pointers:
            who = (event.block, event.thread)
            read[who] += pointers[event.array] * (event.kind in "ra")
            written[who] += pointers[event.array] * (event.kind in "wa")
    for block, thread in threads(truth):
        values = truth.values(block, thread)
        if not truth.inside(values):
            continue
        for condition in work.valid:
            assert value_of(condition.expr, truth, values) >= condition.value, "the sizes are outside the valid ones"
        counts = [amount(count, truth, values) for count in (work.bytes_read, work.bytes_written, work.flops)]
        done = (read[block, thread], written[block, thread], truth.trace.flops[block, thread])
        for count, real in zip(counts, done, strict=True):
            assert count is None or (count == real if exact else count >= real)
    return exact


def threads(truth: Truth) -> Iterator[tuple[Point, Point]]:
    for block in np.ndindex(*truth.grid):
        for thread in np.ndindex(*truth.block):
            yield (block[0], block[1], block[2]), (thread[0], thread[1], thread[2])


def check_reuse(truth: Truth) -> int:
    """Where a thread, or a block, makes all accesses of a group, it touches as many elements as the footprint has."""
    groups: dict[Any, list[Access]] = defaultdict(list)
    for access in truth.facts.accesses:
        if access.space is MemorySpace.GLOBAL and access.mode is AccessMode.READ and access.form is not None:
            groups[access.array, access.loops, access.form.terms].append(access)
    facts = iter(truth.facts.reuse)
    checked = 0
    for group in groups.values():
        members = {(access.statement, access.subscripts) for access in group}
        events = [event for event in truth.trace.accesses if event.kind == "r" and event.node is not None
                  and event.array == group[0].array and (event.site, event.node.subscripts) in members]  # fmt: skip
        for over in (*group[0].loops, "block"):
            fact = next(facts)
            assert (fact.array, fact.over) == (group[0].array, over)
            checked += check_footprint(truth, fact, events)
    assert next(facts, None) is None
    return checked


def check_footprint(truth: Truth, fact: Reuse, events: list[Event]) -> int:
    constant = {stmt.var for stmt in flatten(truth.kernel.body) if isinstance(stmt, Loop) and stmt.trip is not None}
    runs: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        moving = constant if fact.over == "block" else {fact.over}
        standing = tuple((name, value) for name, value in event.loops if name not in moving)
        runs[(event.block, standing) if fact.over == "block" else (event.block, event.thread, standing)].append(event)
    complete = 0
    for run_ in runs.values():
        values = truth.values(run_[0].block, run_[0].thread, run_[0].loops)
        if fact.elements is None or len(run_) != amount(fact.accesses, truth, values):
            continue  # a guard kept some of them out
        touched, elements = len({event.element for event in run_}), amount(fact.elements, truth, values)
        assert elements is not None
        assert touched == elements if fact.proof.standing is Standing.PROVEN else touched <= elements, fact
        complete += 1
    return complete


def check_all(truth: Truth) -> tuple[int, int, bool]:
    check_uniformity(truth)
    check_barriers(truth)
    check_reuse(truth)
    return check_forms(truth), check_strides(truth), check_work(truth)


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


@pytest.mark.parametrize("seed", range(4))
def test_forms_of_random_indices_are_addresses(seed: int) -> None:
    rng = random.Random(seed)
    forms = runs = 0
    while runs < 30:
        kernel = kernel_of(TEMPLATE.replace("@", random_index(rng, 3)), "f")
        scalars = {"n": rng.randrange(1, 7), "u": rng.randrange(1, 6)}
        try:
            truth = Truth(kernel, (2, 2), (4, 2), scalars)
        except OutOfBounds:
            continue  # an index outside the array says nothing
        runs += 1
        forms += check_forms(truth) > 0
        check_strides(truth)
    assert forms >= 8

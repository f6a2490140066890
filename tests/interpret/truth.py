"""Holds facts about a kernel against a run thread by thread: addresses, strides, agreement of threads, work, reuse."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from genome.analysis.access import Access, AccessMode, AffineForm, MemorySpace
from genome.analysis.analyse import analyse
from genome.analysis.casts import mark_rounding
from genome.analysis.count import Count, evaluate
from genome.analysis.facts import BranchKind, KernelFacts, Reuse, Uniformity
from genome.analysis.proof import Standing
from genome.analysis.scope import make_scope
from genome.analysis.uniformity import narrowest
from genome.ir.expr import Call, Const, Expr, Index, Var, accesses, names, walk
from genome.ir.kernel import Kernel
from genome.ir.poly import Poly, poly
from genome.ir.stmt import If, Loop, Repeat, flatten, leaves
from genome.ir.type_sizes import size_of
from genome.source.frontend import parse_kernel
from tests.interpret.code import Code
from tests.interpret.machine import run
from tests.interpret.trace import Access as Event
from tests.interpret.trace import Launch, Point, Thread, Trace

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
        self.scope = make_scope(kernel)
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

    def iteration(self, event: Event, values: Mapping[str, int]) -> tuple[int, ...] | None:
        """Position in each loop around an access; None where a loop begins at a value that changes or is loaded."""
        starts = [self.scope.resolve(self.scope.loops[name].lower) if name in self.scope.loops else Const("0")
                  for name, _ in event.loops]  # fmt: skip
        if any(name in self.scope.changing for start in starts for name in names(start)):
            return None
        if any(accesses(start) for start in starts):
            return None
        return tuple(value - value_of(start, self, values)
                     for start, (_, value) in zip(starts, event.loops, strict=True))  # fmt: skip

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


def _known(polynomial: Poly) -> bool:
    """True if no loaded value is in it, which the comparison does not look up."""
    return not any(isinstance(node, Index) for atom in polynomial.atoms for node in walk(atom))


def check_strides(truth: Truth) -> int:
    """Neighbouring threads in the same iteration lie a stride apart; the number of pairs."""
    fast = next((position for position in range(3) if truth.block[position] > 1), 0)
    rows: dict[Any, dict[int, tuple[int, Access, dict[str, int]]]] = defaultdict(dict)
    for event in truth.trace.accesses:
        access = truth.fact(event)
        assert access.coalescing is not None
        values = truth.values(event.block, event.thread, event.loops)
        iteration = truth.iteration(event, values)
        if access.coalescing.stride is not None and iteration is not None and _known(access.coalescing.stride):
            rest = tuple(value for position, value in enumerate(event.thread) if position != fast)
            key = (event.site, event.node, event.kind, event.block, rest, iteration)
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
    statements = tuple(flatten(truth.kernel.prologue + truth.kernel.body))
    positions = [position for position, stmt in enumerate(statements) if isinstance(stmt, If | Loop)]
    branches = [branch for branch in truth.facts.branches if branch.kind is not BranchKind.GUARD]
    assert len(positions) == len(branches)
    level = {position: branch.uniformity for position, branch in zip(positions, branches, strict=True)}
    for position, stmt in enumerate(statements):
        if isinstance(stmt, Repeat):
            inside = range(position + 1, position + 1 + len(tuple(flatten(stmt.body))))
            deciding = [level[at] for at in inside if isinstance(statements[at], If) and leaves(statements[at].inside)]
            level[position] = narrowest(deciding)
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
        if any(total(poly(limit.expr), truth, values) < limit.value for limit in work.valid):
            return False  # at these sizes the counts promise nothing
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
            groups[access.array, access.loops, access.uncounted, access.form.terms].append(access)
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

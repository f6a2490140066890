"""What is called free of order is: iterations, reductions and instances may be shuffled without another result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, event, example, given, settings

from genome.analysis.casts import mark_rounding
from genome.analysis.collect import collect
from genome.analysis.dependence import FissionError, Variation, fission
from genome.analysis.dependences import dependences
from genome.analysis.divergence import divergent_barrier
from genome.analysis.effects import effects
from genome.analysis.iterations import SharingError, independent
from genome.analysis.races import race
from genome.analysis.reductions import NotAReduction, Reduction, carried_scalars, find_reductions
from genome.analysis.scope import make_scope
from genome.analysis.touches import touches
from genome.analysis.uniformity import Levels
from genome.ir.expr import Const, Index, Var
from genome.ir.kernel import Kernel, Param
from genome.ir.print_source import name_types
from genome.ir.stmt import Assign, Decl, Loop, LoopRole, Opaque, flatten, written_names
from genome.source.frontend import parse_kernel
from tests.interpret import conflicts
from tests.interpret.c_values import Undefined, Unsupported, type_of
from tests.interpret.kernels import Taste, kernels, launches
from tests.interpret.machine import run
from tests.interpret.trace import Launch, OutOfBounds, Trace

# How often an analysis says yes is told by ``pytest --hypothesis-show-statistics``.


def parsed(text: str) -> Kernel:
    kernel = mark_rounding(parse_kernel(text, "k"))
    assume(not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body)))
    return kernel


def attempts(kernel: Kernel, **changes: object) -> list[Trace]:
    found = []
    for launch in launches():
        try:
            found.append(run(kernel, replace(launch, **changes)))  # type: ignore[arg-type]
        except (OutOfBounds, Undefined, Unsupported):
            continue
    return found


def pointers_of(kernel: Kernel) -> frozenset[str]:
    return frozenset(param.name for param in kernel.params if param.pointer)


def scalars_of(kernel: Kernel) -> frozenset[str]:
    return frozenset(param.name for param in kernel.params if not param.pointer)


@settings(max_examples=25, deadline=None)
@given(kernels())
def test_barriers_that_are_called_uniform_are_reached_by_all(text: str) -> None:
    kernel = parsed(text)
    if divergent_barrier(kernel) is None and not kernel.axes:
        assert not any(trace.diverged for trace in attempts(kernel)), text


@settings(max_examples=25, deadline=None)
@given(kernels(Taste(straight=True)))
def test_statements_that_are_called_free_of_races_have_none(text: str) -> None:
    kernel = parsed(text)
    runs = [trace for trace in attempts(kernel) if not trace.diverged]
    if race(kernel) is None:
        for trace in runs:
            assert all(found.first == found.second for found in conflicts.shared_races(trace)), text


READ_AND_UPDATED = """__global__ void k(const float* x, float* y, int* h, const int* p, int n, int m) {
    h[threadIdx.x] += n;
    atomicAdd(&h[threadIdx.x], 1);
}
"""


@settings(max_examples=25, deadline=None)
@given(kernels(Taste(barriers=False)))
@example(READ_AND_UPDATED)
def test_only_what_is_said_to_be_touched_is(text: str) -> None:
    kernel = parsed(text)
    everything = pointers_of(kernel) | {decl.name for decl in kernel.shared} | {
        stmt.name for stmt in flatten(kernel.body) if isinstance(stmt, Decl)}  # fmt: skip
    said, listed = touches(kernel.body, everything), effects(kernel.body)
    scalars = {decl.name for decl in kernel.shared if not decl.dims}  # no arrays, though threads share them
    for trace in attempts(kernel):
        for access in trace.accesses:
            if access.array in scalars:
                assert access.kind == "r" or access.array in written_names(kernel.body)
                continue
            if access.kind == "r":
                assert access.array in said.read and access.node in listed.reads, (access, text)
            else:
                assert access.array in said.written, (access, text)
            if access.kind == "w":
                assert access.node in listed.stores, (access, text)
            assert access.kind != "a" or listed.calls


@pytest.mark.parametrize("overlap", [(), (("x", "y", 0),), (("x", "y", 1),)], ids=["apart", "equal", "overlapping"])
@settings(max_examples=25, deadline=None)
@given(kernels(Taste(barriers=False, shared=False, stores=("y",))))
def test_iterations_that_are_called_independent_run_in_any_order(overlap: tuple[()], text: str) -> None:
    """In any order means with the same result; the data are small whole numbers and halves, whose sums are exact."""
    kernel = parsed(text)
    types, scalars = name_types(kernel), scalars_of(kernel)
    for loop in (stmt for stmt in flatten(kernel.body) if isinstance(stmt, Loop)):
        try:
            independent(loop, pointers_of(kernel), scalars, not overlap, types)
        except SharingError:
            event("ordered")
            continue
        event("independent")
        plain = attempts(kernel, **ALONE, overlap=overlap)
        mixed = attempts(kernel, **ALONE, overlap=overlap, shuffled=frozenset({loop.var}), seed=99)
        for one, other in zip(plain, mixed, strict=True):
            for name, array in one.arrays.items():
                np.testing.assert_array_equal(array, other.arrays[name], err_msg=f"{loop.var}\n{text}")


@settings(max_examples=25, deadline=None)
@given(kernels(Taste(barriers=False, shared=False, atomics=False, stores=("y",))))
def test_reductions_end_alike_in_any_order(text: str) -> None:
    kernel = parsed(text)
    types = name_types(kernel)
    for loop in (stmt for stmt in flatten(kernel.body) if isinstance(stmt, Loop)):
        carried = carried_scalars(loop.body)
        try:
            reductions = find_reductions(loop.body, carried, types)
        except (NotAReduction, KeyError):
            continue
        if carried:
            plain = attempts(kernel, **ALONE, watched=frozenset(carried))
            mixed = attempts(kernel, **ALONE, watched=frozenset(carried), shuffled=frozenset({loop.var}), seed=77)
            for one, other in zip(plain, mixed, strict=True):
                if conflicts.between_iterations(one, loop.var):
                    continue
                for reduction in reductions:
                    assert last_values(one, reduction.name) == last_values(other, reduction.name), (reduction, text)


@settings(max_examples=25, deadline=None)
@given(kernels(Taste(barriers=False, shared=False)))
def test_loops_without_a_dependence_run_in_any_order(text: str) -> None:
    kernel = parsed(text)
    scope = make_scope(kernel)
    told = {fact.loop for fact in dependences(scope, collect(Levels(scope)))}
    for loop in scope.loops.keys() - told:
        event("free of dependences")
        plain = attempts(kernel, **ALONE)
        mixed = attempts(kernel, **ALONE, shuffled=frozenset({loop}), seed=55)
        for one, other in zip(plain, mixed, strict=True):
            for name, array in one.arrays.items():
                np.testing.assert_array_equal(array, other.arrays[name], err_msg=f"{loop}\n{text}")


WAYS = [Reduction("s", op) for op in "+*&|^"] + [Reduction("s", "max", "max"), Reduction("s", "min")]


@pytest.mark.parametrize("ctype", ["int", "unsigned int", "long long", "float", "double"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.operator)
def test_parts_that_begin_with_the_identity_combine_to_the_whole(way: Reduction, ctype: str) -> None:
    """Two lanes take every other value, from the identity on; both are then combined into the scalar."""
    if ctype in ("float", "double") and way.operator in "&|^":
        return
    if ctype in ("float", "double") and way.function:
        way = replace(way, function="fmaxf")
    s, parts, value = Var("s"), (Var("even"), Var("odd")), Index("v", (Var("k"),))
    whole = (Loop("k", Const("0"), Const("8"), (way.combine(s, value),)),)
    lanes = tuple(Loop("k", Const(str(first)), Const("8"), (way.combine(part, value),), step=2)
                  for first, part in enumerate(parts))  # fmt: skip
    apart = (*(Decl(part.name, ctype, init=way.identity(ctype)) for part in parts), *lanes,
             *(way.combine(s, part) for part in parts))  # fmt: skip
    dtype = type_of(ctype)
    for start in (0, 1, 5, 12):
        seen = []
        for body in (whole, apart):
            begin = Decl("s", ctype, init=Const(str(start)))
            kernel = Kernel("k", (Param("v", ctype, pointer=True), Param("y", ctype, pointer=True)), (),
                            (begin, *body, Assign(Index("y", (Const("0"),)), s)))  # fmt: skip
            given = np.array([3, 1, 2, 7, 2, 1, 4, 2]).astype(dtype)
            seen.append(run(kernel, Launch((1,), (1,), {"v": given, "y": np.zeros(1, dtype)})).arrays["y"][0])
        assert seen[0] == seen[1], (start, seen)


ALONE = {"grid": (1,), "block": (1,)}
INSTANCES = 4


def instanced(kernel: Kernel) -> tuple[Kernel, tuple[Loop, ...]]:
    """The kernel of one thread that runs the instances of all axes, and their loops, outermost first."""
    loops = tuple(Loop(axis.name, Const("0"), Const(str(INSTANCES)), (), role=LoopRole.INSTANCE, unroll=0)
                  for axis in reversed(kernel.axes))  # fmt: skip
    body = kernel.body
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return replace(kernel, axes=(), body=body), loops


@settings(max_examples=30, deadline=None)
@given(kernels(Taste(barriers=False, shared=False, indexed=True)))
def test_instances_that_are_distributed_over_the_body_compute_the_same(text: str) -> None:
    kernel = parsed(text)
    assume(kernel.axes)
    together, loops = instanced(kernel)
    try:
        apart = replace(together, body=fission(kernel.body, loops, scalars_of(kernel)))
    except FissionError:
        event("fission refused")
        return
    event("fission")
    for one, other in zip(attempts(together, **ALONE), attempts(apart, **ALONE), strict=True):
        if any(conflicts.between_iterations(one, loop.var) for loop in loops):
            continue  # as threads they would race
        for name, array in one.arrays.items():
            np.testing.assert_array_equal(array, other.arrays[name], err_msg=text)


@settings(max_examples=25, deadline=None)
@given(kernels(Taste(barriers=False, shared=False, indexed=True)))
def test_locals_that_are_said_not_to_vary_do_not(text: str) -> None:
    kernel = parsed(text)
    assume(kernel.axes)
    together, loops = instanced(kernel)
    variation = Variation(kernel.body, [loop.var for loop in loops])
    for trace in attempts(together, **ALONE, watched=variation.locals):
        if any(conflicts.between_iterations(trace, loop.var) for loop in loops):
            continue
        for loop in loops:
            seen: dict[object, set[object]] = {}
            for value in trace.values:
                if loop.var not in variation.of_name(value.name):
                    turns = tuple(turn for turn in value.loops if turn[0] != loop.var)
                    seen.setdefault((value.site, value.name, turns), set()).add(value.value)
            assert all(len(values) == 1 for values in seen.values()), (loop.var, seen, text)


def last_values(trace: Trace, name: str) -> dict[object, object]:
    return {(seen.block, seen.thread): seen.value for seen in trace.values if seen.name == name}

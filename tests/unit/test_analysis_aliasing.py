"""Which pointers may overlap, and what happens to the arrays behind them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from genome.analysis.aliasing import NO_ALIAS, aliases
from genome.analysis.casts import mark_rounding
from genome.analysis.collect import collect
from genome.analysis.proof import Standing
from genome.analysis.scope import make_scope
from genome.analysis.uniformity import Levels
from genome.analysis.uses import Use, uses
from genome.source.frontend import parse_kernel
from tests.interpret.c_values import Undefined, Unsupported
from tests.interpret.kernels import kernels, launches
from tests.interpret.machine import run
from tests.interpret.trace import OutOfBounds

BODY = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) "


def facts(parameters: str, body: str, no_alias: bool = False):
    kernel = mark_rounding(parse_kernel(f"__global__ void k({parameters}, int n) {{ {BODY} {{ {body} }} }}", "k"))
    accesses = collect(Levels(make_scope(kernel)))
    return aliases(kernel, accesses, no_alias), {use.array: use for use in uses(kernel, accesses)}


@pytest.mark.parametrize(
    ("parameters", "body", "granted", "expected"),
    [
        ("const float* a, float* b", "b[i] = a[i];", False, {("a", "b"): Standing.DOUBTED}),
        ("const float* a, float* b", "b[i] = a[i];", True, {("a", "b"): Standing.ASSUMED}),
        ("const float* a, float* __restrict__ b", "b[i] = a[i];", False, {("a", "b"): Standing.PROVEN}),
        ("const float* a, const float* c, float* b", "b[i] = a[i] + c[i];", False,
         {("a", "b"): Standing.DOUBTED, ("c", "b"): Standing.DOUBTED}),
        ("const float* a, const float* c, float* b", "b[i] = a[i];", False, {("a", "b"): Standing.DOUBTED}),
        ("const int* a, int* b", "atomicAdd(&b[a[i]], 1);", False, {("a", "b"): Standing.DOUBTED}),
        ("const float* a, float* b, float* c", "b[i] = 1.0f; c[i] = 2.0f;", False, {("b", "c"): Standing.DOUBTED}),
    ],
)  # fmt: skip
def test_pairs_of_which_one_is_written(parameters: str, body: str, granted: bool, expected: dict) -> None:
    found, _ = facts(parameters, body, granted)
    assert {fact.arrays: fact.distinct.standing for fact in found} == expected
    assert all(fact.distinct.grant == NO_ALIAS for fact in found if fact.distinct.standing is not Standing.PROVEN)


@pytest.mark.parametrize(
    ("body", "read", "written"),
    [
        ("b[i] = 1.0f;", Use.NEVER, Use.SOMEWHERE),
        ("b[i] += 1.0f;", Use.SOMEWHERE, Use.SOMEWHERE),
        ("atomicAdd(&b[i], 1.0f);", Use.SOMEWHERE, Use.SOMEWHERE),
        ("a[i] = b[i];", Use.SOMEWHERE, Use.NEVER),
        ("a[i] = 0.0f;", Use.NEVER, Use.NEVER),
        ("asm(\"st.global.f32 [%0], 0f00000000;\" :: \"l\"(b + i));", Use.MAYBE, Use.MAYBE),
    ],
)  # fmt: skip
def test_what_happens_to_an_array(body: str, read: Use, written: Use) -> None:
    _, found = facts("float* a, float* b", body)
    assert (found["b"].read, found["b"].written) == (read, written)


@settings(max_examples=25, deadline=None)
@given(kernels())
def test_nothing_else_happens_in_a_run(text: str) -> None:
    kernel = mark_rounding(parse_kernel(text, "k"))
    told = {use.array: use for use in uses(kernel, collect(Levels(make_scope(kernel))))}
    for launch in launches():
        try:
            trace = run(kernel, launch)
        except (OutOfBounds, Undefined, Unsupported):
            continue
        for access in trace.accesses:
            if access.array in told:
                use = told[access.array]
                happened = {"r": use.read, "w": use.written, "a": use.updated}[access.kind]
                assert happened is Use.SOMEWHERE, (access, text)

"""Legality of the small steps: each refuses the near miss and says why, and what would grant it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

HEAD = """
__global__ void f(const float* x, float* y, const int* at, int* count, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
"""


def spec_of(body: str, **grants: bool) -> KernelSpec:
    size = SizeExpr("4096")
    args = (ArgSpec("x", "float32", Role.IN, (size,)), ArgSpec("y", "float32", Role.INOUT, (size,)),
            ArgSpec("at", "int32", Role.IN, (size,)), ArgSpec("count", "int32", Role.INOUT, (size,)),
            ArgSpec("n", "int32", value=SizeExpr("n")), ArgSpec("m", "int32", value=SizeExpr("m")))  # fmt: skip
    sizes = (ProblemSize((("n", 64), ("m", 8))),)
    launch = LaunchSpec((64, 1, 1), (SizeExpr("n"),))
    assumptions = replace(Assumptions(no_alias=True, reassociation=True), **grants)  # type: ignore[arg-type]
    return KernelSpec("f", HEAD + body + "\n  }\n}\n", "f", args, launch, sizes, assumptions=assumptions)


def gene(transform: str, label: str, **params: int | str) -> Gene:
    return Gene.of(transform, Site(label, label), **params)


def lowered(spec: KernelSpec, *genes: Gene) -> Variant:
    variant = lower(spec, Genome(genes), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant), variant
    return variant


def reason(spec: KernelSpec, *genes: Gene) -> str:
    """Why the last gene does not apply; empty if it does."""
    variant = lowered(spec, *genes)
    assert {item.gene for item in variant.skipped} <= {genes[-1]}
    return variant.skipped[0].reason if variant.skipped else ""


NEST = "for (int a = 0; a < m; a++) for (int b = 0; b < 8; b++) "
LOOP = "for (int k = 1; k < m; k++) "
NEAR_MISSES = {
    "interchange: a dependence that runs against the inner loop": (
        "for (int a = 1; a < 8; a++) for (int b = 0; b < 7; b++) y[a * 8 + b] = y[a * 8 + b - 7];",
        gene("interchange", "a"), "may need what another one does to y"),
    "interchange: an address from memory": (
        NEST + "y[at[a]] = x[b];", gene("interchange", "a"), "may need what another one does to y"),
    "interchange: a triangle": (
        "for (int a = 0; a < m; a++) for (int b = 0; b < a; b++) y[i * m + b] += x[a];",
        gene("interchange", "a"), "depends on the nest"),
    "interchange: a bound from memory": (
        "for (int a = 0; a < m; a++) for (int b = 0; b < at[i]; b++) y[i] += x[a];",
        gene("interchange", "a"), "may only be computed where its loop runs"),
    "interchange: a bound that divides": (
        "for (int a = 0; a < m; a++) for (int b = 0; b < n / m; b++) y[i] += x[a];",
        gene("interchange", "a"), "may only be computed where its loop runs"),
    "interchange: the last value wins": (
        "float last = 0.0f; " + NEST + "if (x[a * 8 + b] > 0.0f) last = x[a * 8 + b]; y[i] = last;",
        gene("interchange", "a"), "last is carried"),
    "interchange: an atomic": (
        NEST + "atomicAdd(&count[a], 1);", gene("interchange", "a"), "an atomic"),
    "interchange: a barrier": (
        "for (int a = 0; a < m; a++) for (int b = 0; b < 8; b++) { y[i] += x[b]; __syncthreads(); }",
        gene("interchange", "a"), "barrier"),
    "interchange: something between the loops": (
        "for (int a = 0; a < m; a++) { y[a] = 0.0f; for (int b = 0; b < 8; b++) y[a] += x[b]; }",
        gene("interchange", "a"), "no site a"),
    "fission: the second part feeds a later iteration": (
        LOOP + "{ y[k] = y[k - 1] + x[k]; y[k] = y[k] * 2.0f; }", gene("fission", "k", at=1),
        "may need what another one does to y"),
    "fission: a local of the first part": (
        LOOP + "{ float v = x[k]; y[k] = v; }", gene("fission", "k", at=1), "v ties the parts"),
    "fission: a sum that the second part reads": (
        "float s = 0.0f; " + LOOP + "{ s += x[k]; y[k] = s; }", gene("fission", "k", at=1), "s ties the parts"),
    "fission: a barrier": (
        LOOP + "{ y[k] = x[k]; __syncthreads(); y[k + m] = x[k]; }", gene("fission", "k", at=1), "barrier"),
    "unroll_jam: a sum over both loops": (
        "float s = 0.0f; " + NEST + "s += x[a * 8 + b]; y[i] = s;", gene("unroll_jam", "a", factor=2), "s is carried"),
    "unroll_jam: an iteration reads what the one before wrote": (
        "for (int a = 1; a < m; a++) for (int b = 0; b < 8; b++) y[a * 8 + b] = 0.5f * y[a * 8 + b - 8];",
        gene("unroll_jam", "a", factor=2), "may need what another one does to y"),
    "unroll_jam: one element for all iterations": (
        NEST + "y[b] += x[a];", gene("unroll_jam", "a", factor=2), "may need what another one does to y"),
    "unroll_jam: a barrier": (
        "for (int a = 0; a < m; a++) { for (int b = 0; b < 8; b++) y[a * 8 + b] = 0.0f; __syncthreads(); }",
        gene("unroll_jam", "a", factor=2), "barrier"),
    "unroll_jam: fewer iterations than copies": (
        "for (int a = 0; a < 3; a++) for (int b = 0; b < 8; b++) y[a * 8 + b] = 0.0f;",
        gene("unroll_jam", "a", factor=4), "only 3 iterations"),
    "single: a value that becomes an integer": (
        "count[i] = x[i] * 0.5;", gene("single", "doubles", places="exact"), "no site doubles"),
    "single: a variable of type double": (
        "double d = 0.5; y[i] = x[i] * d;", gene("single", "doubles", places="exact"), "no site doubles"),
    "single: a cast to double": (
        "y[i] = (double)x[i] * 0.5;", gene("single", "doubles", places="exact"), "no site doubles"),
    "single: two roundings would be one": (
        "y[i] = x[i] * 0.5 + 1.0;", gene("single", "doubles", places="exact"), "only with another result"),
    "single: a literal that no float holds": (
        "y[i] = x[i] > 0.1 ? 1.0f : 2.0f;", gene("single", "doubles", places="exact"), "only with another result"),
    "intrinsic: a division of integers": ("count[i] = at[i] / m;", gene("intrinsic", "division"), "no site division"),
    "intrinsic: a division of doubles": ("y[i] = x[i] / 3.0;", gene("intrinsic", "division"), "no site division"),
    "inverse_root: the root of a double": ("y[i] = 1.0f / sqrt(2.0);", gene("inverse_root", "roots"), "no site roots"),
    "hoist_loads: an array that the kernel writes": (
        "y[i] = x[0]; " + LOOP + "count[k] = y[i] > x[k] ? 1 : 0;", gene("hoist_loads", "k"), "y is written"),
    "hoist_loads: an array that the loop writes": (
        LOOP + "y[k + n] = y[i] + x[k];", gene("hoist_loads", "k"), "no site k"),
    "hoist_loads: a read under a condition": (
        LOOP + "if (x[k] > 0.0f) y[k] = x[i];", gene("hoist_loads", "k"), "no site k"),
    "hoist_loads: an address that the loop computes": (
        "int p = 0; " + LOOP + "{ p = at[k]; y[k] = x[p]; }", gene("hoist_loads", "k"), "no site k"),
    "hoist_loads: an index that the kernel changes": (
        "count[i] = m; " + LOOP + "y[k] = x[count[i]];", gene("hoist_loads", "k"), "count is written"),
    "hoist_loads: an array that an atomic updates": (
        "atomicAdd(&count[n], 1); " + LOOP + "y[k] = (float)count[i];", gene("hoist_loads", "k"), "count is written"),
    "early_loads: an array that the kernel writes": (
        "y[i] = x[0]; " + LOOP + "{ count[k] = k; count[k + n] = y[k] > 0.0f ? 1 : 0; }",
        gene("early_loads", "k"), "y is written"),
    "early_loads: an array that the iteration writes": (
        LOOP + "{ count[k] = k; y[k] = y[k - 1]; }", gene("early_loads", "k"), "no site k"),
    "early_loads: an address that the iteration computes": (
        LOOP + "{ int p = at[k]; y[k] = x[p]; }", gene("early_loads", "k"), "no site k"),
    "predicate: a value from memory": (
        "float s = 0.0f; if (at[i] > 0) s = x[at[i]]; y[i] = s;", gene("predicate", "s"), "only where the condition"),
    "predicate: a quotient": (
        "int s = 0; if (m > 0) s = i / m; count[i] = s;", gene("predicate", "s"), "is a quotient"),
    "predicate: a store": ("if (x[i] > 0.0f) y[i] = 1.0f;", gene("predicate", "y"), "no site y"),
    "predicate: a scalar of the block": (
        "__shared__ int any; if (x[i] > 0.0f) any = 1; __syncthreads(); count[i] = any;", gene("predicate", "any"),
        "no private variable"),
    "carried_quotient: a start below zero": (
        "for (int k = -3; k < m; k++) y[i] += x[k / n + 4];", gene("carried_quotient", "k"), "below zero"),
    "carried_quotient: wide steps": (
        "for (int k = 0; k < m; k += 2) y[i] += x[k / n];", gene("carried_quotient", "k"), "step by one"),
    "carried_quotient: a divisor that changes": (
        "int w = 1; for (int k = 0; k < m; k++) { y[i] += x[k / w]; w++; }", gene("carried_quotient", "k"),
        "or changes"),
    "shift_mask: a number that may be negative": (
        "y[i] = x[i] + (float)((i - 4) / 4);", gene("shift_mask", "powers"), "never to be negative"),
    "shift_mask: a number from memory": (
        "y[i] = x[i] + (float)(at[i] % 4);", gene("shift_mask", "powers"), "never to be negative"),
    "shift_mask: no power of two": ("y[i] = x[i / 12];", gene("shift_mask", "powers"), "no site powers"),
    "warp_aggregate: a value of each thread": (
        "atomicAdd(&count[at[i]], at[i]);", gene("warp_aggregate", "count"), "differs between threads"),
    "warp_aggregate: a result that is used": (
        "count[i] = atomicAdd(&count[at[i]], 1);", gene("warp_aggregate", "count"), "no site count"),
    "warp_aggregate: an exclusive or": (
        "atomicXor(&count[at[i]], m);", gene("warp_aggregate", "count"), "no form for several lanes"),
    "fusion: the second loop needs the end of the first": (
        LOOP + "y[k] = x[k]; for (int j = 1; j < m; j++) y[j + m] = y[j + 1];", gene("fusion", "k"),
        "may need what another one does to y"),
    "fusion: a sum that the second loop uses": (
        "float s = 0.0f; " + LOOP + "s += x[k]; for (int j = 1; j < m; j++) y[j] = s;", gene("fusion", "k"),
        "s ties the parts"),
    "fusion: another range": (
        LOOP + "y[k] = x[k]; for (int j = 1; j <= m; j++) y[j + m + 1] = x[j];", gene("fusion", "k"),
        "different ranges"),
    "fusion: a value between them": (
        LOOP + "y[k] = x[k]; float v = y[m - 1]; for (int j = 1; j < m; j++) y[j + m] = v;", gene("fusion", "k"),
        "v between the loops may depend on the first"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_refused(name: str) -> None:
    body, tried, said = NEAR_MISSES[name]
    assert said in reason(spec_of(body), tried)


UNGRANTED = {
    "interchange: overlapping arrays": (
        NEST + "y[a * 8 + b] = x[b * m + a];", gene("interchange", "a"), "no_alias"),
    "interchange: a sum in another order": (
        "float s = 0.0f; " + NEST + "s += x[a * 8 + b]; y[i] = s;", gene("interchange", "a"), "reassociation"),
    "fission: overlapping arrays": (
        LOOP + "{ y[k] = x[k]; count[k] = k; }", gene("fission", "k", at=1), "no_alias"),
    "unroll_jam: overlapping arrays": (
        NEST + "y[a * 8 + b] = x[b];", gene("unroll_jam", "a", factor=2), "no_alias"),
    "single: another rounding": (
        "y[i] = x[i] * 0.5 + 1.0;", gene("single", "doubles", places="all"), "fast_math"),
    "intrinsic: an approximation": ("y[i] = expf(x[i]);", gene("intrinsic", "expf"), "fast_math"),
    "inverse_root: an approximation": ("y[i] = 1.0f / sqrtf(x[i]);", gene("inverse_root", "roots"), "fast_math"),
    "hoist_loads: overlapping arrays": (LOOP + "y[k] = x[i];", gene("hoist_loads", "k"), "no_alias"),
    "early_loads: overlapping arrays": (
        LOOP + "{ y[k] = 1.0f; count[k] = at[k]; }", gene("early_loads", "k"), "no_alias"),
    "warp_aggregate: a sum in another order": (
        "atomicAdd(&y[at[i]], 0.1f);", gene("warp_aggregate", "y"), "reassociation"),
    "fusion: overlapping arrays": (
        LOOP + "y[k] = x[k]; for (int j = 1; j < m; j++) count[j] = at[j];", gene("fusion", "k"), "no_alias"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNGRANTED)
def test_what_is_not_granted_is_named_and_granted_it_applies(name: str) -> None:
    body, tried, grant = UNGRANTED[name]
    assert f"assume.{grant}" in reason(spec_of(body, **{grant: False}), tried)
    assert reason(spec_of(body, **{grant: True}), tried) == ""


PLANE = """
__device__ int where() {{ return {helper}; }}
__global__ void f(const float* x, float* y, int w, int h) {{
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < h && c < w) {{ y[r * w + c] = x[r * w + c]; {inside} }}
}}
"""


@pytest.mark.parametrize(("inside", "helper", "said"), [
    ("", "0", ""),
    ("asm volatile(\"mov.u32 %0, %ctaid.x;\" : \"=r\"(r));", "0", "may wait for a block"),
    ("while (y[c] < 1.0f) y[r * w + c] += 1.0f;", "0", "may wait for a block"),
    ("y[c] += where();", "(int)blockIdx.x", "asks for its block"),
])  # fmt: skip
def test_blocks_keep_their_order_where_it_may_be_seen(inside: str, helper: str, said: str) -> None:
    source = PLANE.format(inside=inside, helper=helper)
    args = (
        *spec_of("").args[:2],
        ArgSpec("w", "int32", value=SizeExpr("w")),
        ArgSpec("h", "int32", value=SizeExpr("h")),
    )
    launch = LaunchSpec((16, 16, 1), (SizeExpr("w"), SizeExpr("h")))
    spec = KernelSpec("f", source, "f", args, launch, (ProblemSize((("w", 64), ("h", 64))),))
    found = reason(spec, gene("rasterise", "blocks", group=4))
    assert said in found
    assert bool(found) == bool(said)


def test_a_grid_of_one_dimension_has_no_rows_of_blocks() -> None:
    assert "no site" in reason(spec_of("y[i] = x[i];"), gene("rasterise", "blocks", group=4))


def test_only_loads_that_are_certain_are_moved() -> None:
    body = LOOP + "{ y[k] = x[k]; if (at[k] > 0) y[k] += x[k + 1] * x[i]; }"
    source = lowered(spec_of(body), gene("early_loads", "k"), gene("hoist_loads", "k")).source
    assert "int at_early = at[k];" in source
    assert "x[k + 1] * x[i]" in source


def test_a_counted_divisor_must_be_positive() -> None:
    variant = lowered(spec_of(LOOP + "y[i] += x[k / n] * x[k % n];"), gene("carried_quotient", "k"))
    assert variant.guard.holds({"n": 1, "m": 4})
    assert not variant.guard.holds({"n": 0, "m": 4})


def test_a_branch_that_sets_no_scalar_first_stays() -> None:
    body = "float s = 0.0f; if (x[i] > 0.0f) { y[i] = 1.0f; s = 2.0f; } y[i] += s;"
    assert "no site s" in reason(spec_of(body), gene("predicate", "s"))


@pytest.mark.parametrize(("place", "free"), [("i", True), ("i - threadIdx.x % 4", False)])
def test_a_block_that_shows_in_the_result_keeps_its_shape(place: str, free: bool) -> None:
    """A place in the block is another number in another block, however the global index is computed."""
    source = f"""
    __global__ void f(const float* x, float* y) {{
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      for (int k = i; k < 4096; k += blockDim.x * gridDim.x) y[k] = x[{place}];
    }}"""
    spec = replace(spec_of(""), source=source, args=spec_of("").args[:2])
    assert (not reason(spec, gene("block_shape", "block.x", threads=32))) == free

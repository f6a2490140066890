"""Rewrites that would read or compute something else are refused; the twin of each, which would not, is taken."""

from __future__ import annotations

import pytest

from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

ROW = """
__global__ void f(const float* a, const float* b, float* y, int n, int m) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {{ {} }}
}}
"""


def row(body: str, no_alias: bool = True, reassociation: bool = False) -> KernelSpec:
    """A kernel of one thread a row."""
    args = (ArgSpec("a", "float32", Role.IN, (SizeExpr("n"), SizeExpr("m"))),
            ArgSpec("b", "float32", Role.IN, (SizeExpr("m"),)), ArgSpec("y", "float32", Role.INOUT, (SizeExpr("n"),)),
            ArgSpec("n", "int32", value=SizeExpr("n")), ArgSpec("m", "int32", value=SizeExpr("m")))  # fmt: skip
    return KernelSpec("f", ROW.format(body), "f", args, LaunchSpec((64, 1, 1), (SizeExpr("n"),)),
                      (ProblemSize((("n", 256), ("m", 64))),),
                      assumptions=Assumptions(no_alias=no_alias, reassociation=reassociation))  # fmt: skip


def gene(transform: str, label: str, **params: int) -> Gene:
    return Gene.of(transform, Site(label, label), **params)


def reason(spec: KernelSpec, *genes: Gene) -> str:
    """Why the last gene does not apply; empty if it does."""
    variant = lower(spec, Genome(genes), BUILTIN, Target.OPENCL, DeviceLimits())
    assert isinstance(variant, Variant), variant
    assert {item.gene for item in variant.skipped} <= {genes[-1]}
    return variant.skipped[0].reason if variant.skipped else ""


SUM = "for (int k = 0; k < m; k++) s += a[i * m + k]; y[i] = s;"
EXTREME = "for (int k = 0; k < m; k++) s = fmaxf(s, a[i * m + k]); y[i] = s;"


@pytest.mark.parametrize(("body", "said"), [
    ("y[i] = 1.0f; float s = y[i]; " + EXTREME, "stored in front"),  # parts of an extreme start from its own value
    ("y[i] = 1.0f; float s = y[i]; " + SUM, ""),  # those of a sum from zero
    ("y[i] = 1.0f; float s = 2.0f; " + EXTREME, ""),
    ("y[i] = 1.0f; float t = y[i]; float s = t; " + EXTREME, "stored in front"),
])  # fmt: skip
def test_parts_of_a_loop_do_not_read_what_only_the_second_launch_stores(body: str, said: str) -> None:
    found = reason(row(body, reassociation=True), gene("split_reduction", "k", parts=4))
    assert said in found if said else not found


@pytest.mark.parametrize(("turn", "taken"), [
    ("s = fmaxf(s, a[k]);", True),
    ("if (a[k] > s) s = a[k];", True),
    ("float t = a[k]; if (t > s) s = t;", True),
    ("if (b[k - 1] > 0.0f) s = fmaxf(s, a[k]);", False),
    ("float t = b[k - 1]; if (t > 0.0f) s = fmaxf(s, a[k]);", False),
    ("float t = b[k - 1]; s = fmaxf(s, a[k]);", False),
])  # fmt: skip
def test_the_iteration_that_a_loop_takes_in_reads_nothing_new(turn: str, taken: bool) -> None:
    spec = row("float s = a[0]; for (int k = 1; k < m; k++) { " + turn + " } y[i] = s;")
    assert (not reason(spec, gene("unpeel", "k"))) is taken


STRIPPED = "for (int k = 0; k < m; k++) s += a[i * m + k];"


@pytest.mark.parametrize(("before", "after", "taken"), [
    ("", "y[i] = s;", True),  # behind the last barrier
    ("y[i] = 1.0f;", "y[i] = s;", False),  # another thread may copy the element before its own one has stored it
    ("for (int t = 0; t < 4; t++) {", "y[i] = s; }", False),  # the copies come by again
    ("for (int t = 0; t < 4; t++) {", "} y[i] = s;", True),
])  # fmt: skip
def test_a_copy_waits_for_no_store_of_another_thread(before: str, after: str, taken: bool) -> None:
    body = f"float s = 0.0f; {before} {STRIPPED} {after}"
    genes = gene("strip", "k", factor=16), gene("shared_tile", "a", pad=0, transpose=0, width=1)
    assert ("may overlap a" not in reason(row(body, no_alias=False), *genes)) is taken
    assert reason(row(body), *genes) == ""


PLANE = """
__global__ void f(const float* a, float* y, int w, int h) {{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int z = blockIdx.y * blockDim.y + threadIdx.y;
  if ({}) y[z * w + x] = {};
}}
"""
STAR = "a[z * w + x - 1] + a[z * w + x + 1] + a[(z - 1) * w + x] + a[(z + 1) * w + x]"
SQUARE = STAR + " + a[(z - 1) * w + x - 1] + a[(z + 1) * w + x + 1]"


@pytest.mark.parametrize(("guard", "value", "extent", "taken"), [
    ("x > 0 && x < w - 1 && z > 0 && z < h - 1", STAR, "w * h", True),
    ("x >= 1 && x < w && z > 0 && z < h - 1", STAR, "w * h", False),  # one behind the last element
    ("x >= 1 && x < w && z > 0 && z < h - 1", STAR, "w * h + 1", True),
    ("x < w - 1 && z > 0 && z < h - 1", STAR, "w * h", False),  # one in front of the first
    ("x < w && z > 0 && z < h - 1", STAR, "w * h + 8", False),
    ("x < w && z > 0 && z < h - 1", SQUARE, "w * h + 1", True),  # these corners are read
])  # fmt: skip
def test_a_tile_around_a_star_stays_inside_of_its_array(guard: str, value: str, extent: str, taken: bool) -> None:
    args = (ArgSpec("a", "float32", Role.IN, (SizeExpr(extent),)),
            ArgSpec("y", "float32", Role.INOUT, (SizeExpr("w * h"),)),
            ArgSpec("w", "int32", value=SizeExpr("w")), ArgSpec("h", "int32", value=SizeExpr("h")))  # fmt: skip
    launch = LaunchSpec((16, 8, 1), (SizeExpr("w"), SizeExpr("h")))
    spec = KernelSpec("f", PLANE.format(guard, value), "f", args, launch, (ProblemSize((("w", 64), ("h", 48))),),
                      assumptions=Assumptions(no_alias=True))  # fmt: skip
    found = reason(spec, gene("shared_tile", "a", pad=0, transpose=0, width=1))
    assert (found == "") is taken
    assert taken or "corners" in found


@pytest.mark.parametrize(("update", "taken"), [
    ("s = fmaxf(s, a[i * m + k]);", True),
    ("if (a[i * m + k] > s) s = a[i * m + k];", True),
    ("s = a[i * m + k] < s ? a[i * m + k] : s;", True),
    ("s = a[i * m + k] < s ? s : a[i * m + k];", False),  # takes NaN, and the next value instead of it
    ("s = s > a[i * m + k] ? s : a[i * m + k];", False),
    ("s = s <= a[i * m + k] ? s : a[i * m + k];", False),
])  # fmt: skip
def test_an_extreme_that_takes_what_is_no_number_keeps_its_order(update: str, taken: bool) -> None:
    body = "float s = 0.0f; for (int k = 0; k < m; k++) { " + update + " } y[i] = s;"
    found = reason(row(body), gene("split_reduction", "k", parts=4))
    assert (found == "") is taken
    assert taken or "reordered" in found
    assert reason(row(body, reassociation=True), gene("split_reduction", "k", parts=4)) == ""


@pytest.mark.parametrize(("factor", "taken"), [("b[k]", True), ("y[i]", False), ("b[k] * y[i]", False)])
def test_a_masked_term_has_no_factor_that_the_kernel_still_writes(factor: str, taken: bool) -> None:
    turn = f"float s = 0.0f; for (int k = 0; k < m; k++) if (k < t) s += a[i * m + k] * {factor};"
    found = reason(row("for (int t = 0; t < 4; t++) { " + turn + " y[i] = s; }", reassociation=True),
                   gene("masked_reads", "a"))  # fmt: skip
    assert (found == "") is taken
    assert taken or "y is written by the kernel" in found

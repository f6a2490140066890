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

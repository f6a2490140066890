"""Loops that stride with the whole grid become axes, under launches that reach their bound and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from genome.genes import Gene, Genome, Site
from genome.ir.expr import names
from genome.ir.print_source import print_kernel
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.replay import spec_kernel
from genome.sizes import SizeExpr
from genome.source.frontend import parse_kernel
from genome.source.launched import Launched
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.unit.test_source_execution import nvrtc_log

SOURCE = (Path(__file__).parents[1] / "data" / "kernels" / "strides.cu").read_text()
GENOME = Genome((Gene.of("block_shape", Site("i", "parallel.x"), threads=128),))
LAUNCHED = Launched((64, 1, 1), frozenset("yz"))


def spec(domain: str) -> KernelSpec:
    n = SizeExpr("n")
    arguments = (ArgSpec("x", "float32", Role.IN, (n,)), ArgSpec("y", "float32", Role.OUT, (n,)),
                 ArgSpec("n", "int32", value=n))  # fmt: skip
    launch = LaunchSpec((64, 1, 1), (SizeExpr(domain),))
    return KernelSpec("scaled", SOURCE, "scaled", arguments, launch, (ProblemSize((("n", 1000),)),))


@pytest.mark.parametrize("entry", ["scaled", "smooth", "counted"])
def test_it_is_an_axis_where_the_launch_is_known(entry: str) -> None:
    (axis,) = parse_kernel(SOURCE, entry, launched=LAUNCHED).axes
    assert axis.strided and axis.upper is not None and "n" in names(axis.upper)
    assert parse_kernel(SOURCE, entry).axes == ()


def test_a_launch_that_reaches_the_bound_needs_no_guard() -> None:
    variant = lower(spec("n"), GENOME, BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant) and not variant.skipped
    assert variant.guard.holds({"n": 1000})


def test_under_a_launch_that_falls_short_it_stays_a_loop() -> None:
    assert spec_kernel(spec("n // 4")).axes == ()


def test_elsewhere_the_host_asks_whether_the_launch_reaches_the_bound() -> None:
    known = spec("2000")
    variant = lower(known, GENOME, BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant) and not variant.skipped
    assert variant.guard.holds({"n": 2000}) and not variant.guard.holds({"n": 2001})
    untouched = lower(known, Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(untouched, Variant) and untouched.guard.holds({"n": 2001})


def test_a_bound_that_is_no_size_stays_a_loop() -> None:
    known = spec("n")
    number = replace(known, args=(*known.args[:2], ArgSpec("n", "int32", value=3.0)))
    assert spec_kernel(number).axes == ()


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) y[i] = 1.0f;",
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * blockDim.x * gridDim.x) y[i] = 1.0f;",
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)"
        " { if (i > n / 2) break; y[i] = 1.0f; }",
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < m) for (int j = i; j < n; j += blockDim.x * gridDim.x)"
        " y[j] = 1.0f;",
    ],
)
def test_near_misses_stay_as_they_are(loop: str) -> None:
    source = f"__global__ void k(float* y, int n, int m) {{ {loop} }}"
    assert parse_kernel(source, "k", launched=LAUNCHED).axes == ()


@pytest.mark.parametrize(
    ("loops", "called"),
    [
        ("for (int i = {start}; i < n; i += {step}) y[i] = x[i];", "i"),
        ("for (unsigned e = {start}; e < n; e += {step}) {{ float v = x[e]; y[e] = v * v; }}", "e"),
        ("for (int i = {start}; i < n; i += {step}) {{ for (int k = 0; k < 3; k++) y[i] += x[(i + k) % n]; }}", "i"),
        ("int first = {start}; for (int i = first; i < n; i += {step}) y[i] = x[i];", "first"),
        ("for (int n = {start}; n < m; n += {step}) y[n] = x[n];", "n_2"),
    ],
)
def test_it_is_called_as_the_loop_calls_its_variable(loops: str, called: str) -> None:
    text = loops.format(start="blockIdx.x * blockDim.x + threadIdx.x", step="blockDim.x * gridDim.x")
    source = f"__global__ void k(const float* x, float* y, int n, int m) {{\n{text}\n}}"
    kernel = parse_kernel(source, "k", launched=LAUNCHED)
    assert [axis.name for axis in kernel.axes] == [called]
    printed = print_kernel(kernel, Target.CUDA)
    assert f"{called} = blockIdx.x * blockDim.x" in printed and f"(int){called}]" not in printed
    assert nvrtc_log(printed) is None

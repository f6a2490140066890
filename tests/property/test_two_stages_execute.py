"""Totals of blocks that a second launch adds up, in place of an atomic a block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Launch, Memset, Target, Variant

ROOT = Path(__file__).resolve().parents[2]
FILE = "tests/data/kernels/totals.cu"
Kernel = tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
KERNELS: dict[str, Kernel] = {
    "sum": ("examples/sum/kernel.cu", "sum", ("x:float32:in:n", "total:float32:inout:1", "n:int32=n"),
            ("n",), ("n=1021", "n=1", "n=7000")),
    "dot": (FILE, "dot", ("count:int32=count", "result:float32:inout:3", "right:float32:in:count",
                          "left:float32:in:count", "slot:int32=1"),
            ("count",), ("count=1021", "count=1", "count=7000")),
    "signs": (FILE, "signs", ("values:int32:in:w*h", "seen:uint32:inout:1", "w:int32=w", "h:int32=h"),
              ("w", "h"), ("w=67,h=93", "w=1,h=3", "w=128,h=64")),
    "highest": (FILE, "highest", ("values:int32:in:n", "most:int32:inout:1", "n:int32=n"), ("n",), ("n=1021",)),
}  # fmt: skip


def spec_of(name: str) -> KernelSpec:
    file, entry, texts, domain, sizes = KERNELS[name]
    args = []
    for text in texts:
        head, _, value = text.partition("=")
        parts = head.split(":")
        if value:
            args.append(ArgSpec(*parts, value=SizeExpr(value)))  # type: ignore[misc]
        else:
            args.append(ArgSpec(parts[0], parts[1], Role(parts[2]), (SizeExpr(parts[3]),)))
    block = (16, 4, 1) if len(domain) == 2 else (64, 1, 1)
    return KernelSpec(
        name=entry, entry=entry, source=(ROOT / file).read_text(), path=file, args=tuple(args),
        launch=LaunchSpec(block, tuple(SizeExpr(axis) for axis in domain)), sizes=(size_of(sizes[0]),),
        assumptions=Assumptions(no_alias=True, alignment=64, reassociation=True),
    )  # fmt: skip


def size_of(text: str) -> ProblemSize:
    return ProblemSize(tuple((part.split("=")[0], int(part.split("=")[1])) for part in text.split(",")))


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


def lowered(name: str, *genes: Gene, target: Target = Target.OPENCL) -> Variant:
    variant = lower(spec_of(name), Genome(genes), BUILTIN, target, DeviceLimits(max_threads=256, units=3))
    assert isinstance(variant, Variant), variant
    return variant


STAGED = {
    "a sum": ("sum", gene("grid_stride", "i", blocks=4), gene("cascade", "total"),
              gene("two_stages", "total", threads=64)),
    "a wide sum": ("sum", gene("grid_stride", "i", blocks=1), gene("coarsen_blocked", "i", factor=4),
                   gene("cascade", "total"), gene("two_stages", "total", threads=32),
                   gene("register_tile", "instances"), gene("vectorise", "x", width=4)),
    "a product into a slot": ("dot", gene("grid_stride", "at", blocks=2), gene("cascade", "result"),
                              gene("two_stages", "atomic.block[0]", threads=128)),
    "bits over a plane": ("signs", gene("grid_stride", "x", blocks=1), gene("grid_stride", "y", blocks=2),
                          gene("cascade", "seen"), gene("two_stages", "seen", threads=64)),
}  # fmt: skip


@pytest.mark.parametrize("name", STAGED)
def test_the_second_launch_completes_the_result(name: str, opencl_run) -> None:
    kernel, *genes = STAGED[name]
    spec, plain = spec_of(kernel), lowered(kernel)
    variant = lowered(kernel, *genes)
    assert not variant.skipped, variant.skipped
    assert [type(step) for step in variant.steps] == [Memset, Launch, Launch]
    assert "atomic" not in variant.source
    rng = np.random.default_rng(4)
    for text in KERNELS[kernel][4]:
        sizes = size_of(text).env
        arrays = [arg for arg in spec.args if not arg.is_scalar]
        given = {arg.name: rng.integers(-9, 10, arg.extent(sizes)) for arg in arrays}
        given |= {arg.name: np.abs(given[arg.name]) for arg in arrays if arg.dtype == "uint32"}
        expected, got = opencl_run(spec, plain, sizes, given), opencl_run(spec, variant, sizes, given)
        for array, values in expected.items():
            np.testing.assert_allclose(got[array], values, rtol=1e-6, err_msg=f"{text}\n{variant.source}")


STRIDE, CASCADE = gene("grid_stride", "parallel.x", blocks=2), gene("cascade", "atomic.uniform[0]")
REFUSED = {
    "an atomic a thread": ("sum", (STRIDE,), "no site"),
    "a grid without a bound": ("sum", (CASCADE,), "grid_stride"),
    "a maximum": ("highest", (STRIDE, CASCADE), "zero is not"),
    "a second time": ("sum", (STRIDE, CASCADE, gene("two_stages", "total", threads=64)), "no site"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_near_misses_keep_their_atomics(name: str) -> None:
    kernel, before, words = REFUSED[name]
    last = gene("two_stages", "atomic.block[0]", threads=32)
    reasons = {item.gene: item.reason for item in lowered(kernel, *before, last).skipped}
    assert words in reasons[last]

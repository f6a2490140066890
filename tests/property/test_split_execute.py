"""Reduction loops that blocks of a third dimension share: parts in a buffer, and a second launch that adds them up."""

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
from genome.variant import Target, Variant

ROOT = Path(__file__).resolve().parents[2]
Kernel = tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
KERNELS: dict[str, Kernel] = {
    "matmul": (
        "examples/matmul/kernel.cu", "matmul",
        ("A:float32:in:M*K", "B:float32:in:K*N", "C:float32:out:M*N", "M:int32=M", "N:int32=N", "K:int32=K"),
        ("N", "M"), ("M=5,N=37,K=300", "M=33,N=17,K=20", "M=1,N=1,K=1024")),
    "transposed": (
        "tests/data/kernels/matmul_ta.cu", "gemm_tn",
        ("out:float32:out:M*N", "rows:int32=M", "cols:int32=N", "depth:int32=K", "right:float32:in:K*N",
         "left_t:float32:in:K*M"), ("N", "M"), ("M=5,N=37,K=300", "M=33,N=17,K=20", "M=1,N=1,K=1024")),
    "gemv": (
        "examples/gemv/kernel.cu", "gemv",
        ("A:float32:in:M*N", "x:float32:in:N", "y:float32:out:M", "M:int32=M", "N:int32=N"),
        ("M",), ("M=7,N=1031", "M=33,N=64", "M=1,N=1")),
    "maximum": (
        "tests/data/kernels/long_sums.cu", "farthest",
        ("count:uint32=count", "from:float32:in:points*count", "distance:float32:out:points", "to:float32:in:count",
         "points:int32=points", "least:float32=0.01"), ("points",),
        ("points=7,count=1031", "points=33,count=64", "points=1,count=1")),
    "integers, added to": (
        "tests/data/kernels/long_sums.cu", "moments",
        ("values:int32:in:columns*last", "first:int32=first", "last:int32=last", "columns:int32=columns",
         "total:int64:inout:columns"), ("columns",),
        ("columns=7,first=3,last=1031", "columns=33,first=5,last=64", "columns=1,first=2,last=2")),
    "three scalars": (
        "tests/data/kernels/long_sums.cu", "pulls",
        ("where:float32:in:n+m", "weight:float32:in:m", "sums:float32:inout:n", "near:int32:out:n",
         "scaled:float32:out:n", "n:int32=n", "m:int32=m"), ("n",), ("n=7,m=1031", "n=131,m=64", "n=1,m=1")),
    "bodies": (
        "examples/nbody/kernel.cu", "nbody",
        ("px:float32:in:n", "py:float32:in:n", "pz:float32:in:n", "mass:float32:in:n", "ax:float32:out:n",
         "ay:float32:out:n", "az:float32:out:n", "n:int32=n", "soft2:float32=0.5"), ("n",), ("n=331", "n=64", "n=1")),
}  # fmt: skip


def spec_of(name: str, **grants: bool) -> KernelSpec:
    file, entry, texts, domain, sizes = KERNELS[name]
    args = []
    for text in texts:
        head, _, value = text.partition("=")
        parts = head.split(":")
        if value:
            args.append(ArgSpec(*parts, value=float(value) if "." in value else SizeExpr(value)))  # type: ignore[misc]
        else:
            args.append(ArgSpec(parts[0], parts[1], Role(parts[2]), (SizeExpr(parts[3]),)))
    block = (16, 4, 1) if len(domain) == 2 else (32, 1, 1)
    granted = {"no_alias": True, "reassociation": True, **grants}
    return KernelSpec(
        name=entry, entry=entry, source=(ROOT / file).read_text(), path=file, args=tuple(args),
        launch=LaunchSpec(block, tuple(SizeExpr(axis) for axis in domain)), sizes=(size_of(sizes[0]),),
        assumptions=Assumptions(alignment=64, **granted),
    )  # fmt: skip


def size_of(text: str) -> ProblemSize:
    return ProblemSize(tuple((part.split("=")[0], int(part.split("=")[1])) for part in text.split(",")))


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


def lowered(spec: KernelSpec, *genes: Gene, target: Target = Target.OPENCL) -> Variant:
    variant = lower(spec, Genome(genes), BUILTIN, target, DeviceLimits(max_threads=256))
    assert isinstance(variant, Variant), variant
    return variant


SPLIT = {
    "matmul, tiled and staged": (
        "matmul", gene("split_reduction", "k", parts=4), gene("coarsen_blocked", "r", factor=2),
        gene("register_tile", "instances"), gene("strip", "k", factor=16),
        gene("shared_tile", "A", pad=0, transpose=0, width=4), gene("vectorise", "A", width=4)),
    "a transposed factor": ("transposed", gene("promote", "out"), gene("split_reduction", "reduction.top[0]", parts=2)),
    "lanes of a row": (
        "gemv", gene("split_reduction", "j", parts=8), gene("cooperate", "r", threads=32, inner=4),
        gene("block_shape", "r", threads=4), gene("vectorise", "A", width=4)),
    "a maximum": ("maximum", gene("split_reduction", "q", parts=4), gene("unroll", "q", factor=4)),
    "three scalars": ("three scalars", gene("split_reduction", "j", parts=4), gene("unroll", "j", factor=4)),
    "bodies, two a thread": (
        "bodies", gene("split_reduction", "j", parts=8), gene("block_shape", "i", threads=64),
        gene("coarsen_strided", "i", factor=2), gene("register_tile", "instances"), gene("strip", "j", factor=8)),
    "integers": ("integers, added to", gene("split_reduction", "row", parts=16), gene("grid_stride", "c", blocks=1)),
}  # fmt: skip


@pytest.mark.parametrize("name", SPLIT)
def test_parts_add_up_to_the_whole(name: str, opencl_run) -> None:
    kernel, *genes = SPLIT[name]
    spec = spec_of(kernel)
    plain, variant = lowered(spec), lowered(spec, *genes)
    assert not variant.skipped, variant.skipped
    assert [launch.entry for launch in variant.launches] == [spec.entry, f"{spec.entry}_finish"]
    rng, ran = np.random.default_rng(2), 0
    for text in KERNELS[kernel][4]:
        sizes = size_of(text).env
        if not variant.guard.holds(sizes):
            continue
        arrays = [arg for arg in spec.args if not arg.is_scalar and arg.role is not Role.OUT]
        given = {arg.name: rng.integers(-9, 10, arg.extent(sizes)) for arg in arrays}
        expected, got = opencl_run(spec, plain, sizes, given), opencl_run(spec, variant, sizes, given)
        for array, values in expected.items():
            np.testing.assert_allclose(got[array], values, rtol=1e-5, atol=1e-4, err_msg=variant.source)
        ran += 1
    assert ran >= 2


def test_the_parts_are_added_in_order_and_counted_in_the_guard() -> None:
    variant = lowered(spec_of("matmul"), gene("split_reduction", "k", parts=4), target=Target.CUDA)
    (scratch,) = variant.scratch
    assert scratch.elements.evaluate({"M": 5, "N": 7, "K": 9}) == 4 * 5 * 7
    assert [axis.blocks({"M": 5, "N": 37, "K": 9}) for axis in variant.launches[0].grid] == [3, 2, 4]
    assert "atomic" not in variant.source
    assert not variant.guard.holds({"M": 40000, "N": 40000, "K": 9})


MATMUL = (ROOT / "examples" / "matmul" / "kernel.cu").read_text()
REFUSED = {
    "bounds of its own": (("k < K", "k < r"), "no expressions of scalar parameters"),
    "a store": (("sum += A", "C[r * N + c] = 1.0f, sum += A"), ""),
    "an atomic before": (
        ("float sum = 0.0f;", "float sum = 0.0f; atomicAdd(&C[r * N + c], sum);"),
        "more than compute values",
    ),
    "a store that it reads": (("float sum = 0.0f;", "float sum = 0.0f; B[r * N + c] = sum;"), "stored in front"),
    "two types": (("sum += A", "sum2 += k; sum += A"), "several types"),
    "a loop inside a loop": (("for (int k = 0", "for (int t = 0; t < 2; t++) for (int k = 0"), ""),
    "a loop behind it": (
        ("C[r * N + c] = sum;", "for (int t = 0; t < K; t++) sum *= 0.5f; C[r * N + c] = sum;"),
        "other loops",
    ),
    "no bound": (("r < M && c < N", "c < N"), "no bound"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_near_misses_are_not_split(name: str) -> None:
    (old, new), words = REFUSED[name]
    source = (
        MATMUL.replace("const float* B", "float* B").replace("float sum", "int sum2 = 0; float sum").replace(old, new)
    )
    spec = spec_of("matmul")
    changed = KernelSpec(**{**spec.__dict__, "source": source})
    variant = lowered(changed, gene("split_reduction", "k", parts=4))
    assert len(variant.skipped) == 1 and words in variant.skipped[0].reason


def test_splitting_names_its_grants() -> None:
    split = gene("split_reduction", "k", parts=4)
    assert "assume.reassociation" in lowered(spec_of("matmul", reassociation=False), split).skipped[0].reason
    rows = gene("split_reduction", "row", parts=4)
    assert "assume.no_alias" in lowered(spec_of("integers, added to", no_alias=False), rows).skipped[0].reason
    assert not lowered(spec_of("integers, added to", reassociation=False), rows).skipped

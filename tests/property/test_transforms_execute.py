"""Transformed kernels compute what the untransformed one computes, on sizes that do not divide."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Rejection, Target, Variant

ROOT = Path(__file__).resolve().parents[2]
LIMITS = DeviceLimits(max_threads=256, shared_bytes=64 * 1024, unrolled=256)


@dataclass(frozen=True)
class Case:
    """A kernel with its arguments ("name:dtype:role:shape" or "name:dtype=value") and awkward sizes; ``least`` moves
    are offered for it.
    """

    file: str
    entry: str
    args: tuple[str, ...]
    domain: tuple[str, ...]
    block: tuple[int, int, int]
    sizes: tuple[str, ...]
    least: int = 3

    @property
    def name(self) -> str:
        return self.entry


CASES = (
    Case("examples/matmul/kernel.cu", "matmul",
         ("A:float32:in:M*K", "B:float32:in:K*N", "C:float32:out:M*N", "M:int32=M", "N:int32=N", "K:int32=K"),
         ("N", "M"), (16, 16, 1), ("M=67,N=93,K=41", "M=17,N=130,K=3", "M=64,N=128,K=32")),
    Case("examples/transpose/kernel.cu", "transpose",
         ("in:float32:in:H*W", "out:float32:out:W*H", "W:int32=W", "H:int32=H"),
         ("W", "H"), (16, 16, 1), ("W=67,H=130", "W=5,H=129", "W=128,H=64")),
    Case("examples/stencil/kernel.cu", "stencil",
         ("in:float32:in:H*W", "out:float32:out:H*W", "W:int32=W", "H:int32=H"),
         ("W", "H"), (16, 16, 1), ("W=67,H=93", "W=131,H=6", "W=130,H=66")),
    Case("examples/nbody/kernel.cu", "nbody",
         ("px:float32:in:n", "py:float32:in:n", "pz:float32:in:n", "mass:float32:in:n", "ax:float32:out:n",
          "ay:float32:out:n", "az:float32:out:n", "n:int32=n", "soft2:float32=0.01"),
         ("n",), (64, 1, 1), ("n=131", "n=7", "n=256")),
    Case("examples/gelu/kernel.cu", "gelu", ("x:float32:in:n", "y:float32:out:n", "n:int32=n"),
         ("n",), (64, 1, 1), ("n=1021", "n=3", "n=2048")),
    Case("examples/softmax/kernel.cu", "softmax",
         ("x:float32:in:rows*cols", "y:float32:out:rows*cols", "rows:int32=rows", "cols:int32=cols"),
         ("rows",), (32, 1, 1), ("rows=67,cols=37", "rows=3,cols=129", "rows=128,cols=64", "rows=2,cols=1028")),
    Case("tests/data/kernels/matmul_ta.cu", "gemm_tn",
         ("out:float32:out:M*N", "rows:int32=M", "cols:int32=N", "depth:int32=K", "right:float32:in:K*N",
          "left_t:float32:in:K*M"), ("N", "M"), (8, 8, 1), ("M=67,N=93,K=41", "M=9,N=130,K=3", "M=64,N=128,K=32")),
    Case("tests/data/kernels/conv3.cu", "conv3",
         ("x:float32:in:IC*(H+2)*(W+2)", "wt:float32:in:OC*IC*9", "y:float32:out:OC*H*W", "IC:int32=IC", "OC:int32=OC",
          "H:int32=H", "W:int32=W"), ("W", "H", "OC"), (8, 4, 2),
         ("IC=3,OC=5,H=13,W=37", "IC=2,OC=8,H=32,W=32", "IC=1,OC=1,H=3,W=70")),
    Case("tests/data/kernels/rowsum.cu", "rowsum",
         ("x:float32:in:rows*cols", "total:float32:inout:rows", "rows:int32=rows", "cols:int32=cols",
          "floor_value:float32=0.1"),
         ("rows",), (32, 1, 1), ("rows=67,cols=37", "rows=3,cols=129", "rows=128,cols=64")),
    Case("tests/data/kernels/saxpy64.cu", "saxpy",
         ("n:uint64=n", "a:float32=1.5", "x:float32:in:n", "y:float32:inout:n"), ("n",), (64, 1, 1),
         ("n=1021", "n=3", "n=2048")),
    Case("tests/data/kernels/triangle.cu", "prefix",
         ("x:float32:in:rows*cols", "y:float32:out:rows*cols", "rows:int32=rows", "cols:int32=cols"),
         ("cols", "rows"), (16, 8, 1), ("rows=13,cols=67", "rows=33,cols=5", "rows=32,cols=64")),
    Case("examples/layernorm/kernel.cu", "layernorm",
         ("x:float32:in:rows*cols", "gamma:float32:in:cols", "beta:float32:in:cols", "y:float32:out:rows*cols",
          "rows:int32=rows", "cols:int32=cols", "eps:float32=0.001"),
         ("rows",), (32, 1, 1), ("rows=67,cols=37", "rows=3,cols=1059", "rows=128,cols=64", "rows=1,cols=1")),
    Case("examples/gemv/kernel.cu", "gemv",
         ("A:float32:in:M*N", "x:float32:in:N", "y:float32:out:M", "M:int32=M", "N:int32=N"),
         ("M",), (32, 1, 1), ("M=67,N=131", "M=3,N=1", "M=64,N=1024")),
    Case("tests/data/kernels/rows.cu", "softmax_in_place",
         ("logits:float32:in:n*width", "probabilities:float32:out:n*width", "n:int32=n", "width:int32=width"),
         ("n",), (32, 1, 1), ("n=67,width=37", "n=3,width=659", "n=1,width=128")),
    Case("tests/data/kernels/rows.cu", "statistics",
         ("values:int32:in:rows*cols", "smallest:int32:out:rows", "bits:uint32:out:rows", "spread:float32:out:rows",
          "rows:int32=rows", "cols:int32=cols"),
         ("rows",), (32, 1, 1), ("rows=67,cols=37", "rows=3,cols=517", "rows=64,cols=1")),
    Case("tests/data/kernels/rows.cu", "batched",
         ("A:float32:in:M*N", "x:float32:in:B*N", "y:float32:out:M", "B:int32=B", "M:int32=M", "N:uint32=N"),
         ("M",), (32, 1, 1), ("B=3,M=37,N=67", "B=1,M=3,N=1", "B=2,M=64,N=515")),
    Case("examples/sum/kernel.cu", "sum", ("x:float32:in:n", "total:float32:inout:1", "n:int32=n"),
         ("n",), (64, 1, 1), ("n=1021", "n=1", "n=2048")),
    Case("examples/conv3x3/kernel.cu", "conv3x3",
         ("in:float32:in:IC*H*W", "weight:float32:in:OC*IC*9", "out:float32:out:OC*H*W", "IC:int32=IC", "OC:int32=OC",
          "H:int32=H", "W:int32=W"), ("W", "H", "OC"), (8, 4, 2),
         ("IC=3,OC=5,H=13,W=37", "IC=2,OC=8,H=32,W=32", "IC=1,OC=1,H=1,W=70")),
    Case("tests/data/kernels/hist.cu", "hist", ("data:uint8:in:n", "bins:uint32:inout:256", "n:int32=n"),
         ("n",), (64, 1, 1), ("n=1021", "n=3", "n=2048")),
    Case("tests/data/kernels/untidy.cu", "taps",
         ("x:float32:in:n+3", "w:float32:in:n+8", "y:float32:out:n", "n:int32=n"),
         ("n",), (64, 1, 1), ("n=131", "n=7", "n=256")),
    Case("tests/data/kernels/untidy.cu", "fading",
         ("x:float32:in:n*K", "tab:float32:in:K", "y:float32:out:n", "n:int32=n", "K:int32=K", "flag:int32=1"),
         ("n",), (32, 1, 1), ("n=67,K=37", "n=64,K=160")),
    Case("tests/data/kernels/untidy.cu", "weights",
         ("x:float32:in:n*K", "tab:float32:in:K", "y:float32:out:n", "n:int32=n", "K:int32=K"),
         ("n",), (32, 1, 1), ("n=67,K=37", "n=64,K=160")),
    Case("tests/data/kernels/untidy.cu", "flip", ("x:float32:in:n", "y:float32:out:n", "n:int32=n"),
         ("n",), (64, 1, 1), ("n=256", "n=64"), least=1),
    Case("tests/data/kernels/untidy.cu", "turn",
         ("x:float32:in:W*H", "y:float32:out:W*H", "W:int32=W", "H:int32=H"),
         ("W", "H"), (8, 8, 1), ("W=64,H=32",), least=1),
    Case("tests/data/kernels/untidy.cu", "grouped", ("x:float32:in:n", "y:float32:out:n", "n:int32=n"),
         ("n",), (64, 1, 1), ("n=131", "n=256"), least=1),
    Case("tests/data/kernels/untidy.cu", "quarter",
         ("x:float32:in:n*K", "len:int32:in:n", "C:float32:inout:m+n", "n:int32=n", "m:int32=m", "K:int32=K"),
         ("n",), (32, 1, 1), ("n=67,m=3,K=5", "n=256,m=64,K=0", "n=64,m=0,K=3")),
    Case("tests/data/kernels/untidy.cu", "typed",
         ("x:float32:in:256", "y:float32:out:256", "z:uint32:out:256", "n:uint32=n", "ld:uint64=ld", "m:int32=m"),
         ("300",), (64, 1, 1), ("n=256,ld=536870912,m=300", "n=256,ld=1000003,m=300")),
    Case("tests/data/kernels/untidy.cu", "fraction",
         ("x:float32:in:n*C+8", "y:float32:out:n", "n:int32=n", "C:int32=C", "part:float32=0.5", "off:float32=2.7"),
         ("n",), (16, 1, 1), ("n=16,C=400", "n=67,C=130")),
    Case("tests/data/kernels/untidy.cu", "wrapped",
         ("x:float32:in:n*n", "y:float32:out:n*n", "n:int32=n", "N:uint64=n"),
         ("n", "n"), (8, 8, 1), ("n=32", "n=37")),
    Case("tests/data/kernels/untidy.cu", "truncated",
         ("x:float32:in:n*C", "y:int32:out:n", "n:int32=n", "C:int32=C"),
         ("n",), (16, 1, 1), ("n=16,C=400", "n=67,C=131")),
    Case("tests/data/kernels/untidy.cu", "shrinking",
         ("x:int32:in:n*C", "y:float32:out:n", "len:int32:inout:n", "n:int32=n", "C:int32=C"),
         ("n",), (16, 1, 1), ("n=16,C=400", "n=67,C=256")),
    Case("tests/data/kernels/untidy.cu", "tickets",
         ("x:int32:in:n", "y:int32:out:n", "count:int32:inout:2", "n:int32=n"),
         ("n",), (64, 1, 1), ("n=1021", "n=64")),
    Case("tests/data/kernels/untidy.cu", "tiled",
         ("A:float32:in:M*K", "B:float32:in:K*N", "C:float32:out:M*N", "M:int32=M", "N:int32=N", "K:int32=K"),
         ("N", "M"), (8, 8, 1), ("M=19,N=37,K=21", "M=64,N=64,K=64"), least=2),
    Case("tests/data/kernels/fixed_block.cu", "batched_scale",
         ("x:float32:in:b*n*m", "w:float32:in:n*n", "y:float32:out:b*n*m", "b:int32=b", "n:int32=n", "m:int32=m"),
         ("m", "n", "b"), (16, 4, 1), ("b=2,n=9,m=37", "b=1,n=3,m=129", "b=3,n=16,m=32")),
    Case("tests/data/kernels/strides.cu", "scaled", ("x:float32:in:n", "y:float32:out:n", "n:int32=n"),
         ("n",), (64, 1, 1), ("n=1021", "n=3", "n=2048")),
    Case("tests/data/kernels/strides.cu", "smooth",
         ("x:float32:in:n", "y:float32:inout:n", "n:int32=n", "width:int32=w"),
         ("n",), (32, 1, 1), ("n=131,w=3", "n=256,w=0", "n=5,w=2")),
    Case("tests/data/kernels/strides.cu", "counted", ("x:float32:in:n", "y:float32:out:n", "n:uint64=n"),
         ("n",), (64, 1, 1), ("n=1021", "n=7", "n=256")),
    Case("tests/data/kernels/untidy.cu", "strided",
         ("x:float32:in:n*K", "y:float32:inout:n*n", "h:int32:inout:8", "n:int32=n", "K:int32=K"),
         ("n", "n"), (8, 4, 1), ("n=37,K=13", "n=16,K=130")),
)  # fmt: skip


def size_of(text: str) -> ProblemSize:
    return ProblemSize(tuple((part.split("=")[0], int(part.split("=")[1])) for part in text.split(",")))


@lru_cache
def spec_of(case: Case) -> KernelSpec:
    args = []
    for text in case.args:
        if "=" in text:
            name, dtype = text.split("=")[0].split(":")
            value = text.split("=")[1]
            args.append(ArgSpec(name, dtype, value=float(value) if "." in value else SizeExpr(value)))
        else:
            name, dtype, role, shape = text.split(":")
            args.append(ArgSpec(name, dtype, Role(role), (SizeExpr(shape),)))
    return KernelSpec(
        name=case.name,
        source=(ROOT / case.file).read_text(),
        entry=case.entry,
        args=tuple(args),
        launch=LaunchSpec(case.block, tuple(SizeExpr(axis) for axis in case.domain)),
        sizes=(size_of(case.sizes[0]),),
        assumptions=Assumptions(no_alias=True, alignment=64, reassociation=True, fast_math=False),
        path=case.file,
    )


def inputs_of(spec: KernelSpec, sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = {}
    for arg in spec.args:
        if arg.is_scalar or arg.role is Role.OUT:
            continue
        shape = arg.extent(sizes)
        if np.dtype(arg.dtype).kind == "f":
            arrays[arg.name] = rng.uniform(-1, 1, shape)
        else:
            arrays[arg.name] = rng.integers(0, 256, shape)
    return arrays


BASELINES: dict[tuple[str, str, str], tuple[dict[str, np.ndarray], dict[str, np.ndarray]]] = {}


def baseline(case: Case, size: str, run) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """(inputs, outputs of the untransformed kernel) at a size."""
    key = (case.file, case.name, size)
    if key not in BASELINES:
        spec = spec_of(case)
        sizes = size_of(size).env
        variant = lower(spec, Genome(), BUILTIN, Target.OPENCL, LIMITS)
        assert isinstance(variant, Variant)
        inputs = inputs_of(spec, sizes, 7)
        BASELINES[key] = inputs, run(spec, variant, sizes, inputs)
    return BASELINES[key]


def assert_same(case: Case, variant: Variant, run) -> None:
    spec = spec_of(case)
    for size in case.sizes:
        sizes = size_of(size).env
        if not variant.guard.holds(sizes):
            continue
        inputs, expected = baseline(case, size, run)
        got = run(spec, variant, sizes, inputs)
        for arg in spec.args:
            if arg.is_scalar:
                continue
            where = f"{case.name} at {size}, {arg.name}: {variant.genome.canonical()}\n{variant.source}"
            if np.dtype(arg.dtype).kind == "f":
                np.testing.assert_allclose(got[arg.name], expected[arg.name], rtol=2e-4, atol=2e-4, err_msg=where)
            else:
                np.testing.assert_array_equal(got[arg.name], expected[arg.name], err_msg=where)


def random_genome(spec: KernelSpec, rng: np.random.Generator, length: int) -> Genome:
    genome = Genome()
    for _ in range(length):
        choices = [move for move in moves(spec, genome, BUILTIN, Target.OPENCL, LIMITS) if move.current is None]
        if not choices:
            break
        # By transform first, so that kernels with many loops do not only ever get loop genes.
        name = str(rng.choice(sorted({move.transform.name for move in choices})))
        named = [move for move in choices if move.transform.name == name]
        move = named[int(rng.integers(len(named)))]
        params = {key: values[int(rng.integers(len(values)))] for key, values in move.domain.items()}
        genome = genome.with_gene(Gene.of(name, move.site, **params))
    return genome


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_transform_alone_keeps_the_result(case: Case, opencl_run) -> None:
    spec = spec_of(case)
    tried = 0
    for move in moves(spec, Genome(), BUILTIN, Target.OPENCL, LIMITS):
        params = {name: values[len(values) // 2] for name, values in move.domain.items()}
        genome = Genome((Gene.of(move.transform.name, move.site, **params),))
        variant = lower(spec, genome, BUILTIN, Target.OPENCL, LIMITS)
        if isinstance(variant, Rejection):
            continue
        assert len(variant.genome.genes) == 1, variant.skipped
        assert_same(case, variant, opencl_run)
        tried += 1
    assert tried >= case.least


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


CHOSEN = {
    "several rows a block, a sum in place": (
        "rowsum", gene("cooperate", "r", threads=32, inner=1), gene("block_shape", "r", threads=2)),
    "several rows a block, strips, adjacent columns": (
        "rowsum", gene("cooperate", "r", threads=64, inner=2), gene("block_shape", "r", threads=2),
        gene("strip", "c_outer", factor=4)),
    "rows, wide and striding": (
        "softmax", gene("cooperate", "r", threads=64, inner=4), gene("grid_stride", "r", blocks=1),
        gene("vectorise", "x", width=4)),
    "rows of a matrix times a vector, wide": (
        "gemv", gene("cooperate", "r", threads=64, inner=8), gene("vectorise", "A", width=8),
        gene("vectorise", "x", width=8), gene("unroll", "j_outer", factor=2)),
    "a striding cascade of wide loads": (
        "sum", gene("grid_stride", "i", blocks=1), gene("coarsen_blocked", "i", factor=8), gene("cascade", "total"),
        gene("register_tile", "instances"), gene("vectorise", "x", width=8)),
    "striding bins of wide loads": (
        "hist", gene("grid_stride", "i", blocks=1), gene("coarsen_blocked", "i", factor=4),
        gene("register_tile", "instances"), gene("privatise", "bins", copies=2), gene("vectorise", "data", width=4)),
    "a turned store, wide both ways": (
        "transpose", gene("coarsen_blocked", "x", factor=4), gene("coarsen_strided", "y", factor=4),
        gene("transpose_tile", "out", pad=1, width=4), gene("vectorise", "in", width=4),
        gene("vectorise", "out", width=4)),
    "sixteen elements at once, both ways": (
        "gelu", gene("coarsen_blocked", "i", factor=16), gene("register_tile", "instances"),
        gene("vectorise", "x", width=16), gene("vectorise", "y", width=16)),
    "a turned store of fewer elements than threads": (
        "transpose", gene("transpose_tile", "out", pad=1, width=4)),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_a_chosen_composition_keeps_the_result(name: str, opencl_run) -> None:
    entry, *genes = CHOSEN[name]
    case = next(case for case in CASES if case.name == entry)
    variant = lower(spec_of(case), Genome(tuple(genes)), BUILTIN, Target.OPENCL, LIMITS)
    assert isinstance(variant, Variant), variant
    assert not variant.skipped
    assert_same(case, variant, opencl_run)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_random_compositions_keep_the_result(case: Case, opencl_run) -> None:
    spec = spec_of(case)
    rng = np.random.default_rng(sum(case.name.encode()))
    for _ in range(2):
        genome = random_genome(spec, rng, int(rng.integers(3, 9)))
        variant = lower(spec, genome, BUILTIN, Target.OPENCL, LIMITS)
        if isinstance(variant, Variant):
            with suppress(opencl_run.too_long):  # what takes minutes to compile is not tuned either
                assert_same(case, variant, opencl_run)

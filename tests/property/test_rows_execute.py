"""Rewrites of rows that several threads share: the same results as the kernel as it was, at sizes that do not divide.

Every rewrite runs on kernels that differ in names, order of arguments, layout and form of the reduction.
"""

from __future__ import annotations

from dataclasses import dataclass
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
LIMITS = DeviceLimits(max_threads=256)


@dataclass(frozen=True)
class Rows:
    """A kernel of rows: arrays as "name:dtype:role:shape", scalars as "name:dtype=value"; ``width`` is the scalar that
    counts the columns, and has one value.
    """

    file: str
    entry: str
    args: tuple[str, ...]
    axis: str
    rows: str
    width: str
    columns: int
    heights: tuple[int, ...] = (67, 3, 1)

    def spec(self, **grants: bool) -> KernelSpec:
        args = []
        for text in self.args:
            head, _, value = text.partition("=")
            parts = head.split(":")
            if value:
                args.append(ArgSpec(*parts, value=float(value) if "." in value else SizeExpr(value)))  # type: ignore[misc]
            else:
                args.append(ArgSpec(parts[0], parts[1], Role(parts[2]), (SizeExpr(parts[3]),)))
        granted = {"no_alias": True, "reassociation": True, **grants}
        return KernelSpec(
            name=self.entry, entry=self.entry, source=(ROOT / self.file).read_text(), path=self.file, args=tuple(args),
            launch=LaunchSpec((32, 1, 1), (SizeExpr(self.rows),)), sizes=(self.size(self.heights[0]),),
            assumptions=Assumptions(alignment=64, **granted),
        )  # fmt: skip

    def size(self, height: int) -> ProblemSize:
        return ProblemSize(((self.rows, height), (self.width, self.columns)))


SOFTMAX = Rows(
    "examples/softmax/kernel.cu", "softmax",
    ("x:float32:in:rows*cols", "y:float32:out:rows*cols", "rows:int32=rows", "cols:int32=cols"),
    "r", "rows", "cols", 1037)  # fmt: skip
LAYERNORM = Rows(
    "examples/layernorm/kernel.cu", "layernorm",
    ("x:float32:in:rows*cols", "gamma:float32:in:cols", "beta:float32:in:cols", "y:float32:out:rows*cols",
     "rows:int32=rows", "cols:int32=cols", "eps:float32=0.001"), "r", "rows", "cols", 515)  # fmt: skip
COLUMNS = Rows(
    "tests/data/kernels/rows.cu", "softmax_in_place",
    ("logits:float32:in:n*width", "probabilities:float32:out:n*width", "n:int32=n", "width:int32=width"),
    "row", "n", "width", 389)  # fmt: skip
NORMS = Rows(
    "tests/data/kernels/row_norms.cu", "norms",
    ("count:int32=count", "length:uint32=length", "low:float32:out:count", "out:float32:out:count*length",
     "values:float32:in:count*length"), "parallel.x", "count", "length", 512)  # fmt: skip

LOG_SUM = Rows(
    "tests/data/kernels/row_passes.cu", "log_sum",
    ("out:float32:out:n", "scores:float32:in:n*width", "weight:float32:in:width", "width:int32=width", "n:int32=n"),
    "column", "n", "width", 389)  # fmt: skip
CHANNELS = Rows(
    "tests/data/kernels/row_passes.cu", "channels",
    ("image:float32:in:count*pixels", "pixels:int32=pixels", "count:int32=count", "spread:float32:out:count",
     "middle:float32:out:count"), "c", "count", "pixels", 519)  # fmt: skip


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


def lowered(spec: KernelSpec, *genes: Gene, target: Target = Target.OPENCL) -> Variant:
    variant = lower(spec, Genome(genes), BUILTIN, target, LIMITS)
    assert isinstance(variant, Variant), variant
    return variant


def inputs_of(spec: KernelSpec, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    arrays = [arg for arg in spec.args if not arg.is_scalar and arg.role is not Role.OUT]
    return {arg.name: rng.normal(0.5, 2.0, arg.extent(sizes)) for arg in arrays}


def assert_same(rows: Rows, variant: Variant, run) -> None:
    """Every output is that of the kernel as it was, at every height."""
    spec = rows.spec()
    plain = lowered(spec)
    assert not variant.skipped, variant.skipped
    for height in rows.heights:
        sizes = rows.size(height).env
        assert variant.guard.holds(sizes)
        given = inputs_of(spec, sizes)
        expected, got = run(spec, plain, sizes, given), run(spec, variant, sizes, given)
        for name, values in expected.items():
            np.testing.assert_allclose(got[name], values, rtol=2e-4, atol=2e-5, err_msg=f"{name}\n{variant.source}")


def shared(rows: Rows, *more: Gene, threads: int = 64, inner: int = 4) -> tuple[Gene, ...]:
    """Genes that compile for one width and let so many threads share a row."""
    return (gene("specialise", rows.width, value=rows.columns),
            gene("cooperate", rows.axis, threads=threads, inner=inner), *more)  # fmt: skip


KEEP = {
    "softmax": (SOFTMAX, gene("unpeel", "j"), gene("keep", "x"), gene("vectorise", "x", width=4)),
    "softmax without its first element": (SOFTMAX, gene("keep", "x")),
    "layernorm, wide": (LAYERNORM, gene("keep", "x"), gene("vectorise", "x", width=4)),
    "columns": (COLUMNS, gene("keep", "logits")),
    "norms, several rows a block": (NORMS, gene("block_shape", "parallel.x", threads=2), gene("keep", "values")),
    "norms, unpeeled and in strips": (
        NORMS, gene("unpeel", "i"), gene("unroll", "i_outer", factor=2), gene("keep", "values")),
}  # fmt: skip


@pytest.mark.parametrize("name", KEEP)
def test_kept_values_are_those_of_memory(name: str, opencl_run) -> None:
    rows, *genes = KEEP[name]
    variant = lowered(rows.spec(), *shared(rows, *genes))
    assert not variant.skipped, variant.skipped
    assert "_kept[" in variant.source
    assert_same(rows, variant, opencl_run)


@pytest.mark.parametrize("rows", [SOFTMAX, NORMS], ids=lambda rows: rows.entry)
def test_a_loop_takes_its_first_iteration_back(rows: Rows, opencl_run) -> None:
    variant = lowered(rows.spec(), gene("unpeel", "loop.peeled[0]"))
    assert "= 1;" not in variant.source
    assert_same(rows, variant, opencl_run)


ONE_PASS = {
    "softmax by one thread": (SOFTMAX, gene("unpeel", "j"), gene("online", "sum")),
    "softmax by lanes": (
        SOFTMAX, gene("unpeel", "j"), gene("cooperate", "r", threads=64, inner=4), gene("online", "sum_part"),
        gene("keep", "x"), gene("vectorise", "x", width=4)),
    "softmax by more lanes than elements of a round": (
        SOFTMAX, gene("unpeel", "j"), gene("cooperate", "r", threads=256, inner=8), gene("online", "sum_part")),
    "columns by one thread": (LOG_SUM, gene("online", "total")),
    "columns by lanes": (
        LOG_SUM, gene("cooperate", "column", threads=32, inner=1), gene("block_shape", "column", threads=2),
        gene("online", "total_part"), gene("unroll", "k_outer", factor=2)),
    "layernorm by one thread": (LAYERNORM, gene("moments", "squares")),
    "layernorm by lanes": (
        LAYERNORM, gene("cooperate", "r", threads=64, inner=4), gene("moments", "squares_part"), gene("keep", "x")),
    "channels by lanes": (CHANNELS, gene("cooperate", "c", threads=32, inner=2), gene("moments", "far_part")),
    "channels by one thread": (CHANNELS, gene("moments", "far"), gene("unroll", "p", factor=4)),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_PASS)
def test_one_pass_gives_what_two_gave(name: str, opencl_run) -> None:
    rows, *genes = ONE_PASS[name]
    assert_same(rows, lowered(rows.spec(), *genes), opencl_run)


@pytest.mark.parametrize("lanes", [(), (gene("cooperate", "r", threads=64, inner=4),)], ids=["one thread", "lanes"])
def test_masked_scores_stay_without_weight(lanes: tuple[Gene, ...], opencl_run) -> None:
    """Minus infinity has no weight, wherever it stands: at the start of a row, in all that one lane sees."""
    spec, sizes = SOFTMAX.spec(), SOFTMAX.size(7).env
    label = "sum_part" if lanes else "sum"
    variant = lowered(spec, gene("unpeel", "j"), *lanes, gene("online", label))
    assert not variant.skipped
    scores = inputs_of(spec, sizes)["x"].reshape(7, -1)
    scores[:5, :300] = -np.inf
    scores[3, 301:] = -np.inf
    scores[4, :-1] = -np.inf
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    got = opencl_run(spec, variant, sizes, {"x": scores})["y"].reshape(7, -1)
    np.testing.assert_allclose(got, powers / powers.sum(axis=1, keepdims=True), rtol=2e-4, atol=1e-7)


def test_blocks_that_stride_over_a_known_number_of_rows_need_no_bound(opencl_run) -> None:
    """The rounds end with the rows. PoCL 3.0 with LLVM 14 was seen to crash on barriers under a constant bound."""
    spec, sizes = COLUMNS.spec(), COLUMNS.size(67).env
    fixed = (
        gene("specialise", "n", value=67),
        *shared(COLUMNS, gene("grid_stride", "row", blocks=1), threads=32, inner=1),
    )
    variant = lowered(spec, *fixed)
    assert not variant.skipped and "< 67)" not in variant.source
    given = inputs_of(spec, sizes)
    expected, got = opencl_run(spec, lowered(spec), sizes, given), opencl_run(spec, variant, sizes, given)
    np.testing.assert_allclose(got["probabilities"], expected["probabilities"], rtol=2e-4)

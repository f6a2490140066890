"""Feature vectors and digests: documented lengths, finite, and blind to names."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from evaluator.result import DeviceInfo
from genome.genes import Gene, Genome, Site
from genome.ir.expr import Binary, Const, Index, Var
from genome.ir.kernel import Axis, Kernel, Param
from genome.ir.stmt import Assign, Decl, Loop, Opaque, Stmt
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role, Tunable
from knowledge import features
from knowledge.genome_features import gene_columns
from knowledge.kernel_digest import kernel_digest
from knowledge.kernel_features import TYPE_WEIGHT
from knowledge.similarity import nearest_size, size_distance, vector_distance

N = SizeExpr("N")
SPEC = KernelSpec(
    "sum", "", "sum",
    (ArgSpec("a", "float32", Role.IN, (N, N)), ArgSpec("out", "float32", Role.OUT, (N,)),
     ArgSpec("N", "int32", value=N)),
    LaunchSpec((16, 1, 1), (N,)), (ProblemSize((("N", 512),)),), (ProblemSize((("N", 13),)),),
)  # fmt: skip


def kernel(subscript: str = "coalesced", **names: str) -> Kernel:
    """out[i] = sum over k of a[k * N + i] (or a[i * N + k]), with other names if asked for."""
    a, out, n, i, k, s = (names.get(name, name) for name in ("a", "out", "N", "i", "k", "s"))
    row, column = (k, i) if subscript == "coalesced" else (i, k)
    address = Binary("+", Binary("*", Var(row), Var(n)), Var(column))
    body: tuple[Stmt, ...] = (
        Decl(s, "float", init=Const("0.0f")),
        Loop(k, Const("0"), Var(n), (Assign(Var(s), Index(a, (address,)), "+="),)),
        Assign(Index(out, (Var(i),)), Var(s)),
    )
    params = (Param(a, "float", True, True), Param(out, "float", True), Param(n, "int"))
    return Kernel("sum", params, (Axis(i, "x", upper=Var(n)),), body)


def named(kernel_ir: Kernel | None, spec: KernelSpec = SPEC) -> dict[str, float]:
    return dict(zip(features.KERNEL_FEATURES, features.kernel_features(kernel_ir, spec), strict=True))


def test_access_classes_follow_the_layout() -> None:
    coalesced, strided = named(kernel()), named(kernel("row"))
    assert coalesced["loads_unit"] == 1.0 and coalesced["loads_strided"] == 0.0
    assert strided["loads_strided"] == 1.0 and strided["loads_unit"] == 0.0
    assert coalesced["stores_unit"] == 1.0
    assert coalesced["accumulations"] > 0.0 and coalesced["depth"] == 0.25


def test_an_unparsed_kernel_still_has_features_of_its_arguments() -> None:
    values = named(None)
    assert values["understood"] == 0.0 and values["float32"] == TYPE_WEIGHT and values["rank"] == 0.5


def test_names_do_not_change_digest_or_features() -> None:
    other = kernel(a="in", out="result", N="count", i="column", k="row", s="total")
    assert kernel_digest(kernel(), SPEC) == kernel_digest(other, SPEC)
    assert named(kernel()) == named(other)


@pytest.mark.parametrize(
    "changed",
    [
        kernel("row"),
        replace(kernel(), params=(Param("a", "double", True), *kernel().params[1:])),
        replace(kernel(), body=kernel().body[:2]),
        replace(kernel(), axes=(Axis("i", "y", upper=Var("N")),)),
        replace(kernel(), body=(*kernel().body, Opaque("asm(s);", reads=("s",)))),
    ],
    ids=["layout", "type", "statement", "axis", "opaque"],
)
def test_structure_changes_the_digest(changed: Kernel) -> None:
    assert kernel_digest(changed, SPEC) != kernel_digest(kernel(), SPEC)


def test_digest_without_ir_ignores_comments_and_layout_only() -> None:
    source = "__global__ void f(int* a) { a[0] = 1; }"
    loose = "// hello\n__global__  void f(int* a)\n{ a[0] = 1; /* one */ }"
    digests = [kernel_digest(None, replace(SPEC, source=text)) for text in (source, loose, source + ";")]
    assert digests[0] == digests[1] != digests[2]


def test_a_recorded_space_is_told_apart_by_its_tunables() -> None:
    spaces = [replace(SPEC, tunables=(Tunable(name, ("1", "2")),)) for name in ("X", "Y")]
    assert kernel_digest(None, spaces[0]) != kernel_digest(None, spaces[1])


def test_record_carries_the_vector_of_every_size() -> None:
    record = features.kernel_record(SPEC, kernel())
    sizes = dict(record.sizes)
    assert set(sizes) == {"N=512", "N=13"}
    big = dict(zip(features.SIZE_FEATURES, sizes["N=512"], strict=True))
    assert big["twos"] == 9.0 and big["powers"] == 1.0
    assert big["bytes"] == pytest.approx(math.log2(1 + 4 * (512 * 512 + 512)))
    assert big["threads"] == pytest.approx(math.log2(513))


def test_device_features_are_finite_even_if_nothing_is_known() -> None:
    bare = DeviceInfo("opencl:0", "x", "y", "z", "cpu", 1, 0)
    values = features.device_features(bare)
    assert len(values) == len(features.DEVICE_FEATURES) and all(math.isfinite(value) for value in values)
    h200 = DeviceInfo("cuda:0", "NVIDIA H200", "NVIDIA", "sm_90", "gpu", 132, 141 * 2**30, 50 * 2**20, 4800.0, 67000.0)
    found = dict(zip(features.DEVICE_FEATURES, features.device_features(h200), strict=True))
    assert found["gpu"] == found["nvidia"] == 1.0 and found["balance"] == pytest.approx(math.log2(1 + 67 / 4.8) / 8)


def test_genome_features_know_axes_factors_and_unknown_transforms() -> None:
    genome = Genome((
        Gene.of("block_shape", Site("col", "parallel.x"), threads=64),
        Gene.of("coarsen_blocked", Site("col", "parallel.x"), factor=4),
        Gene.of("unroll", Site("k", "reduction[0]"), factor=8),
        Gene.of("from_a_plugin", Site("k", "reduction[0]"), depth=2),
    ))  # fmt: skip
    values = dict(zip(features.GENOME_FEATURES, features.genome_features(genome), strict=True))
    assert values["threads"] == 6.0 and values["instances"] == 2.0 and values["tile"] == 8.0
    assert values["unroll.reduction"] == 3.0 and values["has.unroll.reduction"] == 1.0
    assert values["count.other"] == 1.0 and values["genes"] == 4.0


def test_gene_columns_tell_sites_and_words_apart() -> None:
    columns = gene_columns(Genome((
        Gene.of("macro", Site("TILE", "macro[0]"), value="32"),
        Gene.of("macro", Site("MODE", "macro[1]"), value="fast"),
        Gene.of("unroll", Site("k", "reduction[1]"), factor=4),
    )))  # fmt: skip
    assert columns["macro@TILE.value"] == 5.0 and columns["macro@MODE.value=fast"] == 1.0
    assert columns["unroll@reduction[1].factor"] == 2.0


def test_size_distance() -> None:
    assert size_distance({"N": 512}, {"N": 512}) == 0.0
    assert size_distance({"N": 512}, {"N": 2048}) == 2.0
    assert size_distance({"N": 512, "M": 512}, {"N": 2048, "M": 512}) == pytest.approx(math.sqrt(2.0))
    assert nearest_size({"N": 500}, [{"N": 4096}, {"N": 512}]) < 0.1
    assert vector_distance((1.0,), (1.0, 0.0, 0.0)) == 0.0


def test_an_element_type_sets_kernels_less_apart_than_a_layout() -> None:
    double = replace(SPEC, args=tuple(replace(arg, dtype="float64") for arg in SPEC.args if not arg.is_scalar))
    single = replace(SPEC, args=tuple(arg for arg in SPEC.args if not arg.is_scalar))
    types = vector_distance(features.kernel_features(kernel(), single), features.kernel_features(kernel(), double))
    assert types == pytest.approx(TYPE_WEIGHT * math.sqrt(2))
    assert types < vector_distance(
        features.kernel_features(kernel(), SPEC), features.kernel_features(kernel("row"), SPEC)
    )

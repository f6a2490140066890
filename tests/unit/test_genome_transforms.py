"""Legality: each structural transform refuses the near miss, says why, and what would grant it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from genome.analysis.effects import effects
from genome.analysis.races import race
from genome.genes import Gene, Genome, Site
from genome.ir.expr import Binary, Const, Index, Var
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Assign, Barrier, Decl, Loop, Space
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves, survey
from genome.replay import replay
from genome.sizes import SizeExpr
from genome.source.lines import lines_of
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role, Steering, Tunable
from genome.transforms.base import Context
from genome.transforms.builtin import BUILTIN
from genome.variant import Rejection, Target, Variant

MATMUL = """
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < M && c < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = sum;
  }
}
"""
LIMITS = DeviceLimits()
ROW, COL, DEPTH = Site("r", "parallel.y"), Site("c", "parallel.x"), Site("k", "reduction[0]")


def spec_of(source: str, entry: str, arrays: dict[str, Role], scalars: tuple[str, ...], domain: tuple[str, ...],
            block: tuple[int, int, int] = (16, 16, 1), **grants: object) -> KernelSpec:  # fmt: skip
    args = [ArgSpec(name, "float32", role, (SizeExpr("4096"),)) for name, role in arrays.items()]
    args += [ArgSpec(name, "int32", value=SizeExpr(name)) for name in scalars]
    return KernelSpec(
        entry, source, entry, tuple(args), LaunchSpec(block, tuple(SizeExpr(d) for d in domain)),
        (ProblemSize(tuple((name, 64) for name in scalars)),), assumptions=Assumptions(**grants),  # type: ignore[arg-type]
    )  # fmt: skip


def matmul(**grants: object) -> KernelSpec:
    arrays = {"A": Role.IN, "B": Role.IN, "C": Role.OUT}
    return spec_of(MATMUL, "matmul", arrays, ("M", "N", "K"), ("N", "M"), **grants)


def genes(*items: Gene) -> Genome:
    return Genome(items)


def lowered(spec: KernelSpec, genome: Genome, target: Target = Target.OPENCL) -> Variant:
    variant = lower(spec, genome, BUILTIN, target, LIMITS)
    assert isinstance(variant, Variant), variant
    return variant


def reason(spec: KernelSpec, gene: Gene, *before: Gene, target: Target = Target.OPENCL) -> str:
    skipped = lowered(spec, genes(*before, gene), target).skipped
    assert [item.gene for item in skipped] == [gene]
    return skipped[0].reason


def test_the_empty_genome_is_the_baseline_as_written() -> None:
    variant = lowered(matmul(), genes())
    assert variant.genome == Genome()
    assert "for (int k = 0; k < K; k++)" in variant.source
    assert variant.launches[0].block == (16, 16, 1)
    assert [axis.blocks({"M": 33, "N": 17, "K": 1}) for axis in variant.launches[0].grid] == [2, 3, 1]


def test_the_grid_follows_from_the_tile() -> None:
    genome = genes(Gene.of("block_shape", COL, threads=8), Gene.of("coarsen_blocked", COL, factor=4),
                   Gene.of("coarsen_strided", COL, factor=2))  # fmt: skip
    launch = lowered(matmul(), genome).launches[0]
    assert launch.block == (8, 16, 1)
    assert launch.grid[0].blocks({"M": 1, "N": 65, "K": 1}) == 2


def test_an_axis_swap_moves_the_domain_with_the_axis() -> None:
    launch = lowered(matmul(), genes(Gene.of("axis_swap", ROW), Gene.of("block_shape", ROW, threads=32))).launches[0]
    assert launch.block == (32, 16, 1)
    assert [axis.blocks({"M": 33, "N": 16, "K": 1}) for axis in launch.grid] == [2, 1, 1]


def test_genes_find_their_site_by_role_in_a_kernel_with_other_names() -> None:
    foreign = Gene.of("coarsen_blocked", Site("column", "parallel.x"), factor=4)
    variant = lowered(matmul(), genes(foreign))
    assert variant.genome.genes[0].site == COL


def test_unknown_transforms_and_sites_are_skipped_with_a_reason() -> None:
    assert "no transform named" in reason(matmul(), Gene.of("teleport", COL))
    assert "no site" in reason(matmul(), Gene.of("unroll", Site("zz", "loop[7]"), factor=2))


def test_register_tiling_needs_several_elements_a_thread() -> None:
    assert "no site" in reason(matmul(), Gene.of("register_tile", Site("instances", "instances")))


def test_staging_needs_a_constant_trip() -> None:
    stage = Gene.of("shared_tile", Site("A", "read.reused[0]"), pad=0, transpose=0)
    assert "strip-mine" in reason(matmul(no_alias=True), stage)


def test_staging_refuses_an_array_that_the_kernel_writes() -> None:
    source = MATMUL.replace("C[r * N + c] = sum;", "C[r * N + c] = sum; B[r * N + c] = sum;")
    source = source.replace("const float* B", "float* B")
    spec = replace(matmul(no_alias=True), source=source)
    strip = Gene.of("strip", DEPTH, factor=8)
    assert "written by the kernel" in reason(spec, Gene.of("shared_tile", Site("B"), pad=0, transpose=0), strip)


def test_staging_refuses_what_may_alias_and_names_the_grant() -> None:
    source = """
    __global__ void blur(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= 1 && i < n - 1) y[i] = x[i - 1] + x[i] + x[i + 1];
    }"""
    arrays = {"x": Role.IN, "y": Role.OUT}
    stage = Gene.of("shared_tile", Site("x"), pad=0, transpose=0)
    spec = spec_of(source, "blur", arrays, ("n",), ("n",), (64, 1, 1))
    assert "assume.no_alias" in reason(spec, stage)
    granted = replace(spec, assumptions=Assumptions(no_alias=True))
    variant = lowered(granted, genes(stage))
    assert not variant.skipped
    assert "x_tile[66]" in variant.source


def test_staging_refuses_an_address_that_differs_within_the_block() -> None:
    source = """
    __global__ void gather(const float* x, const int* at, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = x[at[i]];
    }"""
    arrays = {"x": Role.IN, "at": Role.IN, "y": Role.OUT}
    spec = spec_of(source, "gather", arrays, ("n",), ("n",), (64, 1, 1), no_alias=True)
    assert "not affine" in reason(spec, Gene.of("shared_tile", Site("x"), pad=0, transpose=0))


def test_staging_refuses_a_read_under_a_condition() -> None:
    source = """
    __global__ void edge(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = i + 1 < n ? x[i + 1] : 0.0f;
    }"""
    spec = spec_of(source, "edge", {"x": Role.IN, "y": Role.OUT}, ("n",), ("n",), (64, 1, 1), no_alias=True)
    assert "under a condition" in reason(spec, Gene.of("shared_tile", Site("x"), pad=0, transpose=0))


ACCUMULATE = """
__global__ void acc(float* y, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    for (int k = 0; k < m; k++) y[i] += x[k * n + i];
  }
}"""


def test_promotion_needs_the_no_alias_grant() -> None:
    spec = spec_of(ACCUMULATE, "acc", {"y": Role.INOUT, "x": Role.IN}, ("n", "m"), ("n",), (64, 1, 1))
    gene = Gene.of("promote", Site("y", "accumulator[0]"))
    assert "assume.no_alias" in reason(spec, gene)
    variant = lowered(replace(spec, assumptions=Assumptions(no_alias=True)), genes(gene))
    assert "y_acc += x[" in variant.source


def test_promotion_refuses_a_second_address_of_the_array() -> None:
    source = ACCUMULATE.replace("y[i] += x[k * n + i];", "y[i] += y[k] * x[k * n + i];")
    spec = spec_of(source, "acc", {"y": Role.INOUT, "x": Role.IN}, ("n", "m"), ("n",), (64, 1, 1), no_alias=True)
    assert "another address" in reason(spec, Gene.of("promote", Site("y", "accumulator[0]")))


def test_vectors_need_unit_stride() -> None:
    tile = (Gene.of("coarsen_blocked", ROW, factor=4), Gene.of("register_tile", Site("instances", "instances")))
    spec = matmul()
    names = [move.site.label for move in moves(spec, genes(*tile), BUILTIN, Target.OPENCL, LIMITS)
             if move.transform.name == "vectorise"]  # fmt: skip
    assert names == []


def test_cuda_vectors_put_their_alignment_into_the_guard() -> None:
    genome = genes(Gene.of("coarsen_blocked", COL, factor=4), Gene.of("register_tile", Site("instances", "instances")),
                   Gene.of("vectorise", Site("B"), width=4))  # fmt: skip
    guard = lowered(matmul(), genome, Target.CUDA).guard
    assert guard.holds({"M": 3, "N": 64, "K": 5})
    assert not guard.holds({"M": 3, "N": 62, "K": 5})
    assert guard.alignments == (("B", 16),)
    assert lowered(matmul(), genome).guard.conditions == ()


def test_granted_divisibility_drops_the_remainder_loop() -> None:
    strip = Gene.of("unroll", DEPTH, factor=4)
    assert "int k = K / 4 * 4;" in lowered(matmul(), genes(strip)).source
    granted = lowered(matmul(divisible=(("K", 4),)), genes(strip))
    assert "k_outer" in granted.source
    assert "int k = " not in granted.source
    assert granted.guard.holds({"M": 1, "N": 1, "K": 8})
    assert not granted.guard.holds({"M": 1, "N": 1, "K": 9}), "a grant is still guarded: the baseline runs elsewhere"


def test_a_specialised_kernel_is_guarded_by_its_size() -> None:
    variant = lowered(matmul(), genes(Gene.of("specialise", Site("K", "scalar[2]"), value=64)))
    assert variant.guard.holds({"M": 5, "N": 5, "K": 64})
    assert not variant.guard.holds({"M": 5, "N": 5, "K": 65})


def test_one_size_stays_free_to_be_checked() -> None:
    def fixed(name: str, number: int) -> Gene:
        return Gene.of("specialise", Site(name, f"scalar[{number}]"), value=matmul().sizes[0].env[name])

    spec = replace(matmul(), check_sizes=(ProblemSize((("M", 5), ("N", 7), ("K", 3))),))
    three = (fixed("M", 0), fixed("N", 1), fixed("K", 2))
    assert not lowered(spec, genes(*three[:2])).skipped
    assert "the tuned sizes alone" in reason(spec, three[2], *three[:2])
    assert not lowered(replace(spec, check_sizes=()), genes(*three)).skipped, "compiled for its one size"


def test_limits_reject_the_whole_variant() -> None:
    genome = genes(Gene.of("block_shape", COL, threads=1024))
    rejection = lower(matmul(), genome, BUILTIN, Target.OPENCL, LIMITS)
    assert isinstance(rejection, Rejection)
    assert "1024x16x1" in rejection.reason


def test_a_tile_without_its_barriers_is_a_race() -> None:
    genome = genes(Gene.of("strip", DEPTH, factor=8), Gene.of("shared_tile", Site("B"), pad=0, transpose=0))
    kernel = replay(matmul(), genome, BUILTIN, Context(matmul(), Target.OPENCL, LIMITS)).kernel
    assert race(kernel) is None
    for dropped in range(2):
        seen = -1

        def drop(stmt, number=dropped):  # type: ignore[no-untyped-def]
            nonlocal seen
            seen += isinstance(stmt, Barrier)
            return () if isinstance(stmt, Barrier) and seen == number else (stmt,)

        assert race(replace(kernel, body=map_stmts(kernel.body, drop))) == "B_tile"


TWO_LOOPS = """// first line
__global__ void rows(const float* x, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float top = -1e30f;
    for (int k = 0; k < m; k++)
      top = fmaxf(top, x[i * m + k]);
    float sum = 0.0f;
    for (int k = 0; k < m; k++)
      sum += x[i * m + k] - top;
    y[i] = sum;
  }
}
"""


def test_a_persons_veto_by_lines_of_the_file() -> None:
    spec = spec_of(TWO_LOOPS, "rows", {"x": Role.IN, "y": Role.OUT}, ("n", "m"), ("n",))

    def unrolled(**steering: tuple[str, ...]) -> set[str]:
        steered = replace(spec, steering=Steering(**steering))
        found = moves(steered, genes(), BUILTIN, Target.OPENCL, LIMITS)
        return {move.site.label for move in found if move.transform.name == "unroll"}

    assert unrolled() == {"k", "k_2"}
    assert unrolled(forbid=("unroll@6",)) == {"k_2"}
    assert unrolled(forbid=("@9-12",)) == {"k"}
    assert unrolled(focus=("unroll@8-10",)) == {"k_2"}
    assert unrolled(forbid=("strip@1-13",)) == {"k", "k_2"}
    split = genes(Gene.of("strip", Site("k_2", "loop[1]"), factor=4), Gene.of("unroll", Site("k_2_inner"), factor=4))
    assert [gene.transform for gene in lowered(spec, split).genome.genes] == ["strip", "unroll"]
    vetoed = lowered(replace(spec, steering=Steering(forbid=("unroll@9",))), split)
    assert [gene.transform for gene in vetoed.genome.genes] == ["strip"]
    assert lines_of(spec, "i") == {3, 4, 7, 10, 11}
    assert lines_of(spec, "instances") == frozenset()


def test_a_persons_veto_pins_forbids_and_focuses() -> None:
    spec = matmul()
    forbidden = replace(spec, steering=Steering(forbid=("unroll", "block_shape@c")))
    names = {(m.transform.name, m.site.label) for m in moves(forbidden, genes(), BUILTIN, Target.OPENCL, LIMITS)}
    assert not any(name == "unroll" for name, _ in names)
    assert ("block_shape", "r") in names
    assert ("block_shape", "c") not in names
    focused = replace(spec, steering=Steering(focus=("unroll",)))
    assert {m.transform.name for m in moves(focused, genes(), BUILTIN, Target.OPENCL, LIMITS)} == {"unroll"}
    pin = genes(Gene.of("coarsen_blocked", COL, factor=4)).canonical()[1:-1]
    pinned = lowered(replace(spec, steering=Steering(pin=(pin,))), genes())
    assert pinned.genome.find("coarsen_blocked", "c") is not None


def test_a_veto_holds_for_genomes_that_come_from_elsewhere() -> None:
    recalled = genes(Gene.of("unroll", DEPTH, factor=4), Gene.of("coarsen_blocked", COL, factor=4))
    forbidden = lowered(replace(matmul(), steering=Steering(forbid=("unroll",))), recalled)
    assert [gene.transform for gene in forbidden.genome.genes] == ["coarsen_blocked"]
    assert "forbids it" in forbidden.skipped[0].reason
    focused = lowered(replace(matmul(), steering=Steering(focus=("unroll@k",))), recalled)
    assert [gene.transform for gene in focused.genome.genes] == ["unroll"]
    pin = genes(recalled.genes[0]).canonical()[1:-1]
    both = lowered(replace(matmul(), steering=Steering(forbid=("unroll",), pin=(pin,))), genes())
    assert [gene.transform for gene in both.genome.genes] == ["unroll"], "what a person pins is theirs to pin"


def test_refusals_are_listed_with_their_grant() -> None:
    _, refused = survey(matmul(), genes(), BUILTIN, Target.OPENCL, LIMITS)
    grants = {move.transform.name: move.grant for move in refused}
    assert grants["restrict"] == "assume.no_alias"
    assert grants["fast_math"] == "assume.fast_math"


def test_restrictions_and_tunables_of_the_user_are_genes() -> None:
    source = "#ifndef U\n#define U 2\n#endif\n" + MATMUL.replace("for (int k", "#pragma unroll U\n    for (int k")
    tunables = (Tunable("U", ("2", "4", "8")),)
    spec = replace(matmul(), source=source, tunables=tunables, restrictions=(SizeExpr("U != 8"),))
    offered = [m for m in moves(spec, genes(), BUILTIN, Target.OPENCL, LIMITS) if m.transform.name == "macro"]
    assert [move.domain["value"] for move in offered] == [("4", "8")]
    assert "#pragma unroll 4" in lowered(spec, genes(Gene.of("macro", Site("U"), value="4"))).source
    broken = lower(spec, genes(Gene.of("macro", Site("U"), value="8")), BUILTIN, Target.OPENCL, LIMITS)
    assert isinstance(broken, Rejection)
    assert broken.kind == "restriction"


@pytest.mark.parametrize("target", list(Target))
def test_equal_genomes_print_the_same_text(target: Target) -> None:
    genome = genes(Gene.of("coarsen_blocked", COL, factor=4), Gene.of("strip", DEPTH, factor=8))
    assert lowered(matmul(), genome, target).digest() == lowered(matmul(), genome, target).digest()


def test_a_read_of_the_stored_element_counts_as_a_read() -> None:
    target = Index("y", (Var("i"),))
    body = (Assign(target, Binary("+", target, Index("x", (Var("i"),)))),)
    assert {access.array for access in effects(body).reads} == {"y", "x"}
    assert {access.array for access in effects((Assign(target, Const("0")),)).reads} == set()
    nested = (Assign(Index("y", (target,)), Const("0")),)
    assert effects(nested).reads == (target,)


SAXPY = """
__global__ __launch_bounds__(128) void saxpy(float* y, const float* x, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 2.0f * x[i];
}"""


def saxpy() -> KernelSpec:
    spec = spec_of(SAXPY, "saxpy", {"y": Role.INOUT, "x": Role.IN}, ("n",), ("n",), (128, 1, 1), no_alias=True)
    return replace(spec, args=(*spec.args[:2], replace(spec.args[2], dtype="uint64")))


@pytest.mark.parametrize("target", list(Target))
def test_a_block_starts_at_an_index_of_the_axis_own_width(target: Target) -> None:
    genome = genes(Gene.of("coarsen_blocked", Site("i", "parallel.x"), factor=32))
    block = {Target.CUDA: "blockIdx.x", Target.OPENCL: "get_group_id(0)"}[target]
    assert f"(size_t)((int){block}) * 4096" in lowered(saxpy(), genome, target).source


def test_the_users_launch_bound_follows_a_larger_block() -> None:
    site = Site("i", "parallel.x")
    assert "__launch_bounds__(128)" in lowered(saxpy(), genes(), Target.CUDA).source
    assert "__launch_bounds__(256)" in lowered(saxpy(), genes(Gene.of("block_shape", site, threads=256)),
                                               Target.CUDA).source  # fmt: skip
    assert "__launch_bounds__(128)" in lowered(saxpy(), genes(Gene.of("block_shape", site, threads=64)),
                                               Target.CUDA).source  # fmt: skip


def test_what_the_host_cannot_check_is_a_rejection() -> None:
    spec = matmul()
    spec = replace(spec, args=tuple(replace(arg, value=64.0) if arg.name == "N" else arg for arg in spec.args))
    genome = genes(Gene.of("coarsen_blocked", COL, factor=4), Gene.of("register_tile", Site("instances", "instances")),
                   Gene.of("vectorise", Site("B"), width=4))  # fmt: skip
    rejection = lower(spec, genome, BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(rejection, Rejection)
    assert "N is not given" in rejection.reason


def test_what_the_coefficient_proves_needs_no_guard() -> None:
    spec = replace(matmul(), source=MATMUL.replace("k < K", "k < 4 * (K >> 2)"))
    variant = lowered(spec, genes(Gene.of("unroll", DEPTH, factor=4)))
    assert variant.guard.conditions == ()
    assert "int k = " not in variant.source


def test_shared_arrays_beyond_constant_size_are_sized_by_the_launch() -> None:
    genome = genes(Gene.of("coarsen_blocked", COL, factor=16), Gene.of("strip", DEPTH, factor=64),
                   Gene.of("register_tile", Site("instances", "instances")),
                   Gene.of("shared_tile", Site("B"), pad=0, transpose=0))  # fmt: skip
    spec, limits = matmul(no_alias=True), replace(LIMITS, shared_bytes=227 * 1024)
    assert isinstance(lower(spec, genome, BUILTIN, Target.OPENCL, limits), Variant)
    variant = lower(spec, genome, BUILTIN, Target.CUDA, limits)
    assert isinstance(variant, Variant)
    (launch,) = variant.launches
    assert launch.shared_bytes.evaluate({}) > 48 * 1024
    assert launch.static_shared_bytes == 0


def test_strips_are_multiples_of_what_divides_their_start() -> None:
    for start, multiple in (("0", 8), ("1", 1), ("12", 4)):
        spec = replace(matmul(), source=MATMUL.replace("k = 0", f"k = {start}"))
        genome = genes(Gene.of("strip", DEPTH, factor=8))
        kernel = replay(spec, genome, BUILTIN, Context(spec, Target.OPENCL, LIMITS)).kernel
        assert dict(kernel.multiples)["k_outer"] == multiple


def test_a_bound_in_memory_must_not_change_under_the_loop() -> None:
    source = """
    __global__ void rows(const float* x, const int* last, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) for (int k = 0; k < last[i]; k++) y[i * 64 + k] = x[k];
    }"""
    spec = spec_of(source, "rows", {"x": Role.IN, "last": Role.IN, "y": Role.OUT}, ("n",), ("n",), (64, 1, 1))
    gene = Gene.of("strip", Site("k", "loop[0]"), factor=8)
    assert "assume.no_alias" in reason(spec, gene)
    assert not lowered(replace(spec, assumptions=Assumptions(no_alias=True)), genes(gene)).skipped


def test_promotion_needs_an_update_that_is_sure() -> None:
    gene = Gene.of("promote", Site("y", "accumulator[0]"))
    arrays, sizes = {"y": Role.INOUT, "x": Role.IN}, ("n", "m")
    sure = spec_of(ACCUMULATE, "acc", arrays, sizes, ("n",), (64, 1, 1), no_alias=True)
    guard = lowered(sure, genes(gene)).guard
    assert guard.holds({"n": 5, "m": 1}) and not guard.holds({"n": 5, "m": 0}), "no update, no load"
    some = replace(sure, source=ACCUMULATE.replace("y[i] +=", "if (k > 1) y[i] +="))
    assert "no site" in reason(some, gene)
    late = replace(sure, source=ACCUMULATE.replace("k = 0", "k = i"))
    text = lowered(late, genes(gene)).source
    assert re.search(r"if \(i(_block)? [^{]*< m\) {\s+float y_acc", text), text


def test_a_barrier_in_a_loop_that_may_not_run_keeps_nothing_apart() -> None:
    tile, at = Index("t", (Var("i"),)), Index("t", (Binary("+", Var("i"), Const("1")),))
    base = replay(matmul(), genes(Gene.of("block_shape", COL, threads=8)), BUILTIN,
                  Context(matmul(), Target.OPENCL, LIMITS)).kernel  # fmt: skip
    kernel = replace(base, shared=(Decl("t", "float", (64,), space=Space.SHARED),))
    put, get = Assign(tile, Const("1.0f")), Assign(Var("v"), at)
    for upper, found in ((Const("4"), None), (Var("n"), "t")):
        loop = Loop("j", Const("0"), upper, (Barrier(),))
        assert race(replace(kernel, body=(put, loop, get))) == found
    assert race(replace(kernel, body=(put, Assign(at, Const("2.0f"))))) == "t", "two threads write one element"
    assert race(replace(kernel, body=(put, Assign(at, Const("2.0f")))), frozenset({"t"})) is None
    other = replace(tile, subscripts=(Const("0"),)), replace(tile, subscripts=(Const("1"),))
    assert race(replace(kernel, body=tuple(Assign(t, Const("2.0f")) for t in other))) is None

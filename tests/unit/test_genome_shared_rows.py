"""A row a block, reduction cascade, privatised histogram, grid-stride: what they refuse, and their barriers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genome.analysis.races import race
from genome.genes import Gene, Genome, Site
from genome.ir.expr import Const
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Barrier, If, Loop, LoopRole, Stmt, flatten
from genome.limits import DeviceLimits
from genome.lower import lower, seal
from genome.replay import replay
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.base import Context
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

LIMITS = DeviceLimits()
HEAD = "__global__ void k(const float* x, float* y, float* z, int rows, int cols) {"
ROW = "int r = blockIdx.x * blockDim.x + threadIdx.x; if (r < rows) {"
SHARE = Gene.of("cooperate", Site("r", "parallel.x"), threads=128, inner=1)


def spec_of(body: str, head: str = HEAD, **grants: object) -> KernelSpec:
    given = {"no_alias": True, "reassociation": True, **grants}
    arrays = {"x": ("float32", Role.IN), "y": ("float32", Role.INOUT), "z": ("float32", Role.INOUT)}
    args = [ArgSpec(name, dtype, role, (SizeExpr("rows * cols"),)) for name, (dtype, role) in arrays.items()]
    args += [ArgSpec(name, "int32", value=SizeExpr(name)) for name in ("rows", "cols")]
    return KernelSpec(
        "k", f"{head} {body}", "k", tuple(args), LaunchSpec((64, 1, 1), (SizeExpr("rows"),)),
        (ProblemSize((("rows", 64), ("cols", 64))),), assumptions=Assumptions(**given),  # type: ignore[arg-type]
    )  # fmt: skip


def rows(body: str, **grants: object) -> KernelSpec:
    return spec_of(f"{ROW} {body} }} }}", **grants)


def elements(body: str, *args: ArgSpec, extra: str = "", **grants: object) -> KernelSpec:
    given = {"no_alias": True, "reassociation": True, **grants}
    index = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    source = f"__global__ void k(const float* x{extra}, int n) {{ {index} {body} }}"
    found = (ArgSpec("x", "float32", Role.IN, (SizeExpr("n"),)), *args, ArgSpec("n", "int32", value=SizeExpr("n")))
    return KernelSpec(
        "k", source, "k", found, LaunchSpec((64, 1, 1), (SizeExpr("n"),)), (ProblemSize((("n", 640),)),),
        assumptions=Assumptions(**given),  # type: ignore[arg-type]
    )  # fmt: skip


def reason(spec: KernelSpec, gene: Gene, *before: Gene, target: Target = Target.CUDA) -> str:
    variant = lower(spec, Genome((*before, gene)), BUILTIN, target, LIMITS)
    assert isinstance(variant, Variant), variant
    assert [item.gene for item in variant.skipped] == [gene], variant.source
    return variant.skipped[0].reason


def sealed(spec: KernelSpec, *genes: Gene, target: Target = Target.CUDA) -> Kernel:
    result = replay(spec, Genome(genes), BUILTIN, Context(spec, target, LIMITS))
    assert not result.skipped
    return seal(result.kernel)


SUM = "float s = 0.0f; for (int j = 0; j < cols; j++) s += x[r * cols + j]; y[r] = s;"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("y[r] = x[r];", "no loop"),
        ("float s = 0.0f; for (int j = 0; j < cols; j++) s = s * 0.5f + x[r * cols + j]; y[r] = s;", "carried"),
        ("float s = 0.0f; for (int j = 0; j < cols; j++) { s += x[r * cols + j]; y[r * cols + j] = s; }", "carried"),
        ("for (int j = 1; j < cols; j++) y[r * cols + j] = y[r * cols + j - 1];", "another writes"),
        ("for (int j = 0; j < cols; j++) y[r * cols + j / 2] = x[j];", "same element"),
        ("for (int j = 0; j < cols; j++) y[r * cols] = x[j];", "same element"),
        ("float s = 0.0f; for (int j = 0; j < cols; j++) { s += x[j]; s *= 2.0f; } y[r] = s;", "two different ways"),
        ("float a[4]; for (int j = 0; j < cols; j++) a[j % 4] = x[j]; y[r] = a[0];", "carried"),
        ("float s = 0.0f; for (int j = 0; j < 16; j++) s += x[r * 16 + j]; y[r] = s;", "only 16 iterations"),
        ("float s = 0.0f; for (int j = 0; j < cols; j += 2) s += x[r * cols + j]; y[r] = s;", "step by one"),
        (
            "int s = 9; for (int j = 0; j < cols; j++) s += 0.5f * x[r * cols + j]; y[r] = s;",
            "every iteration converts",
        ),
        ("int s = 9; for (int j = 0; j < cols; j++) s = max(s, j * 2u); y[r] = s;", "every iteration converts"),
        ("for (int j = 0; j < cols; j++) y[r * cols + j] = atomicAdd(&z[0], 1.0f);", "the result of an atomic"),
    ],
)
def test_a_row_that_cannot_be_shared(body: str, why: str) -> None:
    assert why in reason(rows(body), SHARE)


def test_sums_need_the_grant_to_reorder_and_extremes_do_not() -> None:
    assert "assume.reassociation" in reason(rows(SUM, reassociation=False), SHARE)
    largest = SUM.replace("s += x[r * cols + j]", "s = fmaxf(s, x[r * cols + j])")
    sealed(rows(largest, reassociation=False), SHARE)


def test_stores_that_may_overlap_need_the_grant() -> None:
    body = "for (int j = 0; j < cols; j++) y[r * cols + j] = x[r * cols + j];"
    assert "assume.no_alias" in reason(rows(body, no_alias=False), SHARE)
    sealed(rows(SUM, no_alias=False), SHARE)


def test_a_symbolic_stride_goes_to_the_guard() -> None:
    variant = lower(rows("for (int j = 0; j < cols; j++) y[j * rows + r] = x[j];"), Genome((SHARE,)), BUILTIN,
                    Target.CUDA, LIMITS)  # fmt: skip
    assert isinstance(variant, Variant)
    assert not variant.guard.holds({"rows": 0, "cols": 4})
    assert variant.guard.holds({"rows": 1, "cols": 4})


def test_the_grid_holds_a_block_a_row_or_a_warp_a_row() -> None:
    variant = lower(rows(SUM), Genome((SHARE,)), BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant)
    assert variant.launches[0].block == (128, 1, 1)
    assert variant.launches[0].grid[0].blocks({"rows": 37, "cols": 1}) == 37
    warp = replace(SHARE, params=(("inner", 1), ("threads", 32)))
    warps = Genome((warp, Gene.of("block_shape", SHARE.site, threads=4)))
    variant = lower(rows(SUM), warps, BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant)
    assert variant.launches[0].block == (128, 1, 1)
    assert variant.launches[0].grid[0].blocks({"rows": 37, "cols": 1}) == 10
    assert "__syncthreads" not in variant.source
    assert not variant.skipped


def test_sharing_and_coarsening_exclude_each_other() -> None:
    coarse = Gene.of("coarsen_blocked", SHARE.site, factor=4)
    assert "several instances" in reason(rows(SUM), SHARE, coarse)
    assert "share an instance" in reason(rows(SUM), coarse, SHARE)


def test_lanes_meet_at_a_barrier_where_they_exchange_elements() -> None:
    own = "for (int j = 0; j < cols; j++) y[r * cols + j] = 1.0f;"
    other = "for (int j = 0; j < cols; j++) z[r * cols + j] = y[r * cols + cols - 1 - j];"
    one_warp = replace(SHARE, params=(("inner", 1), ("threads", 32)))
    assert any(isinstance(s, Barrier) for s in flatten(sealed(rows(own + other), one_warp).body))
    apart = "for (int j = 0; j < cols; j++) z[r * cols + j] = x[r * cols + j];"
    assert not any(isinstance(s, Barrier) for s in flatten(sealed(rows(own + apart), one_warp).body))


def test_a_barrier_never_stands_under_a_condition_that_differs() -> None:
    body = "if (x[r] > 0.0f) { float s = 0.0f; for (int j = 0; j < cols; j++) s += x[r * cols + j]; y[r] = s; }"
    assert "no loop" in reason(rows(body), SHARE)


OUT = ArgSpec("out", "float32", Role.INOUT, (SizeExpr("1"),))
BINS = ArgSpec("bins", "uint32", Role.INOUT, (SizeExpr("64"),))
CASCADE, PRIVATE = Gene.of("cascade", Site("out")), Gene.of("privatise", Site("bins"), copies=2)
ADD = "if (i < n) atomicAdd(out, x[i]);"
COUNT = "if (i < n) atomicAdd(&bins[(int)x[i]], 1u);"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("if (i < n) { atomicAdd(out, x[i]); out[0] = 1.0f; }", "in another way"),
        (
            "if (i < n) { float old = atomicAdd(out, x[i]); if (old > 3.0f) atomicAdd(out, 1.0f); }",
            "used in another way",
        ),
        ("if (i < n) { atomicAdd(out, x[i]); atomicAdd(&out[i], 1.0f); }", "differs between threads"),
        ("if (i < n) atomicAdd(out, x[i] * out[1]);", "read as well"),
    ],
)
def test_an_atomic_that_cannot_cascade(body: str, why: str) -> None:
    assert why in reason(elements(body, OUT, extra=", float* out"), CASCADE)


def test_a_cascade_of_floats_needs_the_grant() -> None:
    spec = elements(ADD, OUT, extra=", float* out", reassociation=False)
    assert "assume.reassociation" in reason(spec, CASCADE)


def test_bins_must_be_known_and_fit() -> None:
    extra = ", unsigned int* bins"
    large = replace(BINS, shape=(SizeExpr("65536"),))
    assert "over the limit" in reason(elements(COUNT, large, extra=extra), PRIVATE)
    sized = elements(COUNT, replace(BINS, shape=(SizeExpr("n // 10"),)), extra=extra)
    variant = lower(sized, Genome((PRIVATE,)), BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant)
    assert "bins_private[2][64]" in variant.source
    assert variant.guard.holds({"n": 649})
    assert not variant.guard.holds({"n": 650})
    two = replace(sized, sizes=(ProblemSize((("n", 640),)), ProblemSize((("n", 1280),))))
    assert "differs between the tuned sizes" in reason(two, PRIVATE)
    assert "fewer warps" in reason(elements(COUNT, BINS, extra=extra), replace(PRIVATE, params=(("copies", 4),)))


def test_a_strided_grid_is_capped_and_covers_the_axis() -> None:
    spec = elements(ADD, OUT, extra=", float* out")
    stride = Gene.of("grid_stride", Site("i", "parallel.x"), blocks=2)
    variant = lower(spec, Genome((stride,)), BUILTIN, Target.CUDA, replace(LIMITS, units=10))
    assert isinstance(variant, Variant)
    assert variant.launches[0].grid[0].blocks({"n": 10**6}) == 20
    assert variant.launches[0].grid[0].blocks({"n": 65}) == 2
    assert variant.launches[0].grid[0].blocks({"n": 1}) == 1
    endless = elements("atomicAdd(out, x[i]);", OUT, extra=", float* out")
    assert "where i ends" in reason(endless, stride)


FORMS = {
    "row a block, shuffles": (rows(SUM), (SHARE,), Target.CUDA),
    "row a block, levels": (rows(SUM), (SHARE,), Target.OPENCL),
    "rows in a loop": (
        rows("float t = 0.0f; for (int b = 0; b < cols; b++) { float s = 0.0f; "
             "for (int j = 0; j < cols; j++) s += x[b * cols + j]; t = t * 0.5f + s; } z[r] = t;"),
        (SHARE,), Target.CUDA),
    "elements in a loop": (
        rows("for (int b = 0; b < cols; b++) { float s = 0.0f; for (int j = 0; j < cols; j++) s += x[b * cols + j]; "
             "z[r] = z[r] * 0.5f + s; }"), (SHARE,), Target.CUDA),
    "exchange of elements": (
        rows("for (int j = 0; j < cols; j++) y[r * cols + j] = x[j];"
             "for (int j = 0; j < cols; j++) z[r * cols + j] = y[r * cols + cols - 1 - j];"
             "float s = z[r]; for (int j = 0; j < cols; j++) y[r * cols + j] = s;"), (SHARE,), Target.CUDA),
    "exchange by one lane": (rows("y[r] = x[r]; for (int j = 0; j < cols; j++) z[r * cols + j] = y[r];"), (SHARE,),
                             Target.OPENCL),
    "rows, striding": (rows(SUM), (SHARE, Gene.of("grid_stride", Site("r"), blocks=1)), Target.CUDA),
    "cascade, shuffles": (elements(ADD, OUT, extra=", float* out"), (CASCADE,), Target.CUDA),
    "cascade, levels": (elements(ADD, OUT, extra=", float* out"), (CASCADE,), Target.OPENCL),
    "histogram": (elements(COUNT, BINS, extra=", unsigned int* bins"), (PRIVATE,), Target.CUDA),
    "histogram, striding": (
        elements(COUNT, BINS, extra=", unsigned int* bins"), (Gene.of("grid_stride", Site("i"), blocks=1), PRIVATE),
        Target.OPENCL),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_barrier_of_a_form_is_needed_and_its_loss_refused(form: str) -> None:
    spec, genes, target = FORMS[form]
    kernel = sealed(spec, *genes, target=target)
    assert race(kernel) is None
    count = sum(isinstance(stmt, Barrier) for stmt in flatten(kernel.body))
    assert count >= 1
    for dropped in range(count):
        seen = -1

        def drop(stmt: Stmt, number: int = dropped) -> tuple[Stmt, ...]:
            nonlocal seen
            seen += isinstance(stmt, Barrier)
            return () if isinstance(stmt, Barrier) and seen == number else (stmt,)

        assert race(replace(kernel, body=map_stmts(kernel.body, drop))), f"barrier {dropped} of {count}"


FLIP = """__global__ void k(const float* x, float* y, int W, int H) {
  int c = blockIdx.x * blockDim.x + threadIdx.x; int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < W && r < H) { BODY } }"""
TILE = Gene.of("transpose_tile", Site("y"), pad=1, width=1)


def flip(body: str) -> KernelSpec:
    area = (SizeExpr("W * H"),)
    args = (ArgSpec("x", "float32", Role.IN, area), ArgSpec("y", "float32", Role.OUT, area),
            ArgSpec("W", "int32", value=SizeExpr("W")), ArgSpec("H", "int32", value=SizeExpr("H")))  # fmt: skip
    launch = LaunchSpec((16, 16, 1), (SizeExpr("W"), SizeExpr("H")))
    sizes = (ProblemSize((("W", 64), ("H", 64))),)
    return KernelSpec("k", FLIP.replace("BODY", body), "k", args, launch, sizes)


@pytest.mark.parametrize(
    "body",
    [
        "y[r * W + c] = x[c * H + r];",  # the stores are coalesced already
        "y[c * H + r] += x[r * W + c];",
        "y[c * H + 2 * r] = x[r * W + c];",
        "y[c * H + r] = x[r * W + c]; y[0] = 1.0f;",
        "for (int k = 0; k < 2; k++) y[c * H + r + k] = x[r * W + c];",
    ],
)
def test_stores_that_a_tile_does_not_turn(body: str) -> None:
    assert "no site y" in reason(flip(body), TILE)


def test_a_turned_store_needs_its_barriers() -> None:
    spec = flip("float v = x[r * W + c]; y[c * H + r] = 2.0f * v;")
    for genes in ((TILE,), (Gene.of("grid_stride", Site("r"), blocks=1), TILE)):
        kernel = sealed(spec, *genes)
        assert race(kernel) is None
        assert race(replace(kernel, body=map_stmts(kernel.body, lambda s: () if isinstance(s, Barrier) else (s,))))
    again = sealed(spec, Gene.of("grid_stride", Site("r"), blocks=1), TILE)
    last = next(loop for loop in flatten(again.body) if isinstance(loop, Loop) and loop.role is LoopRole.GRID)
    assert isinstance(last.body[-1], Barrier), "the next round writes the tile anew"
    assert race(replace(again, body=(replace(last, body=last.body[:-1]),)))


def test_a_barrier_of_a_loop_that_may_not_run_is_put_behind_it_again() -> None:
    store = "for (int j = 0; j < cols; j++) {array}[r * cols + j] = {value};"
    again = f"for (int t = 0; t < rows; t++) {{ {store.format(array='z', value='x[j] + t')} }}"
    last = store.format(array="z", value="y[r * cols + cols - 1 - j]")
    kernel = sealed(rows(f"{store.format(array='y', value='x[j]')} {again} {last}"), SHARE)
    assert race(kernel) is None
    inside = next(stmt for stmt in kernel.body if isinstance(stmt, If)).then
    outer = next(number for number, stmt in enumerate(inside) if isinstance(stmt, Loop) and stmt.var == "t")
    assert isinstance(inside[outer + 1], Barrier)
    bare = If(Const("1"), tuple(stmt for number, stmt in enumerate(inside) if number != outer + 1))
    assert race(replace(kernel, body=(bare,))) in ("y", "z")

"""Warp tiles, copies in vectors and pipelines: what they refuse, and that the race check knows their barriers."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

from genome.analysis.buffers import Place, may_meet, place_of
from genome.analysis.races import race
from genome.genes import Gene, Genome, Site
from genome.ir.expr import Binary, Const, Expr, Index, Var, integer
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Assign, Barrier, Body, Decl, Loop, Stmt, VectorStore, flatten
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.replay import replay
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.base import Context
from genome.transforms.builtin import BUILTIN
from genome.transforms.warp_tile import WARP
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
LIMITS = DeviceLimits(unrolled=8192)


def spec(source: str = MATMUL, **grants: object) -> KernelSpec:
    arrays = [("A", Role.IN), ("B", Role.IN), ("C", Role.OUT)]
    args = [ArgSpec(name, "float32", role, (SizeExpr("4096"),)) for name, role in arrays]
    args += [ArgSpec(name, "int32", value=SizeExpr(name)) for name in "MNK"]
    size = ProblemSize((("M", 64), ("N", 64), ("K", 64)))
    given = Assumptions(**({"no_alias": True} | grants))  # type: ignore[arg-type]
    launch = LaunchSpec((16, 16, 1), (SizeExpr("N"), SizeExpr("M")))
    return KernelSpec("matmul", source, "matmul", tuple(args), launch, (size,), assumptions=given)


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


STAGED = (gene("strip", "k", factor=8), gene("shared_tile", "A", pad=0, transpose=1),
          gene("shared_tile", "B", pad=0, transpose=0))  # fmt: skip
PIPELINE = gene("pipeline", "k_outer", buffers=2)


def kernel(*genes: Gene) -> Kernel:
    context = Context(spec(), Target.CUDA, LIMITS)
    found = replay(spec(), Genome(genes), BUILTIN, context)
    assert not found.skipped
    return found.kernel


def reason(*genes: Gene, target: Target = Target.CUDA, of: KernelSpec | None = None) -> str:
    variant = lower(of or spec(), Genome(genes), BUILTIN, target, LIMITS)
    assert isinstance(variant, Variant), variant
    assert [item.gene for item in variant.skipped] == [genes[-1]]
    return variant.skipped[0].reason


# ---- warp tiles


@pytest.mark.parametrize(("across", "down", "width"), [(16, 8, 8), (16, 8, 4), (8, 32, 2), (32, 32, 1), (4, 16, 4)])
def test_a_warp_tile_is_a_permutation_whose_warps_are_rectangles(across: int, down: int, width: int) -> None:
    shape = gene("block_shape", "c", threads=across), gene("block_shape", "r", threads=down)
    tiled = kernel(*shape, gene("warp_tile", "warp", width=width))
    values = {stmt.name: stmt.init for stmt in tiled.prologue if isinstance(stmt, Decl)}

    def number(expr: Expr | None, x: int, y: int) -> int:
        match expr:
            case Const():
                assert expr.value is not None
                return expr.value
            case Binary(op, left, right):
                a, b = number(left, x, y), number(right, x, y)
                return {"+": a + b, "*": a * b, "/": a // max(b, 1), "%": a % max(b, 1)}[op]
            case Var("threadIdx.x"):
                return x
            case Var("threadIdx.y"):
                return y
            case Var(name):
                return number(values[name], x, y)
        raise AssertionError(expr)

    places = {(x, y): (number(Var("c_thread"), x, y), number(Var("r_thread"), x, y))
              for x, y in product(range(across), range(down))}  # fmt: skip
    assert set(places.values()) == set(product(range(across), range(down)))
    for warp in range(across * down // WARP):
        mine = {place for (x, y), place in places.items() if (x + y * across) // WARP == warp}
        columns, rows = {c for c, _ in mine}, {r for _, r in mine}
        assert (len(columns), len(rows)) == (width, WARP // width)
        assert max(columns) - min(columns) < width and max(rows) - min(rows) < WARP // width


def test_a_warp_tile_must_fit_the_block() -> None:
    assert "do not tile a block of 16 x 16" in reason(gene("warp_tile", "warp", width=1))
    offered = [
        move for move in moves(spec(), Genome(), BUILTIN, Target.CUDA, LIMITS) if move.transform.name == "warp_tile"
    ]
    assert [move.domain for move in offered] == [{"width": (2, 4, 8)}]


def test_a_block_of_one_dimension_has_no_warp_tile() -> None:
    flat = gene("block_shape", "r", threads=1)
    assert "no site" in reason(flat, gene("warp_tile", "warp", width=8))


def test_a_turned_store_has_an_order_of_threads_of_its_own() -> None:
    source = MATMUL.replace("C[r * N + c] = sum;", "C[c * M + r] = sum;").replace(
        "float sum = 0.0f;\n    for (int k = 0; k < K; k++) sum += A[r * K + k] * B[k * N + c];",
        "float sum = A[r * N + c];",
    )
    turned = gene("transpose_tile", "C", pad=1, width=1)
    assert "order of their own" in reason(turned, gene("warp_tile", "warp", width=8), of=spec(source))


# ---- copies in vectors


def test_a_copy_takes_whole_groups_of_a_row() -> None:
    narrow = gene("strip", "k", factor=6)
    assert "groups of 4" in reason(narrow, gene("shared_tile", "A", pad=0, transpose=0, width=4))
    assert "no copies of 3" in reason(narrow, gene("shared_tile", "A", pad=0, transpose=0, width=3))


def test_wide_accesses_of_a_tile_need_aligned_rows() -> None:
    tile = gene("strip", "k", factor=8), gene("shared_tile", "B", pad=1, transpose=0, width=4)
    assert "17 elements: they are not aligned to 4" in reason(*tile, gene("vectorise", "B_tile", width=4))


def test_a_transposed_copy_reads_wide_and_stores_single_elements() -> None:
    genes = (*STAGED[:1], gene("shared_tile", "A", pad=1, transpose=1, width=4), gene("vectorise", "A", width=4))
    variant = lower(spec(), Genome(genes), BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant) and not variant.skipped
    assert re.search(r"\*\(const float4\*\)&A\[", variant.source)
    assert "float4*)&A_tile" not in variant.source
    assert not variant.guard.holds({"M": 64, "N": 64, "K": 66}) and variant.guard.holds({"M": 64, "N": 64, "K": 68})


# ---- pipelines


def test_a_pipeline_needs_copies_between_barriers() -> None:
    assert "no site" in reason(STAGED[0], PIPELINE)


def test_a_pipeline_keeps_few_elements_in_registers() -> None:
    tile = gene("coarsen_strided", "r", factor=8), gene("coarsen_strided", "c", factor=8)
    deep = *tile, gene("register_tile", "instances"), gene("strip", "k", factor=64)
    shape = gene("block_shape", "c", threads=4), gene("block_shape", "r", threads=8)
    staged = gene("shared_tile", "A", pad=0, transpose=0)
    assert "more than 64 elements" in reason(*shape, *deep, staged, PIPELINE)


def test_two_buffers_need_one_barrier_an_iteration() -> None:
    for buffers, barriers in ((1, 2), (2, 1)):
        body = kernel(*STAGED, replace(PIPELINE, params=(("buffers", buffers),))).body
        loop = next(stmt for stmt in flatten(body) if isinstance(stmt, Loop) and stmt.var == "k_outer")
        assert sum(isinstance(stmt, Barrier) for stmt in flatten(loop.body)) == barriers


@pytest.mark.parametrize("buffers", [1, 2])
def test_every_barrier_of_a_pipeline_is_needed(buffers: int) -> None:
    whole = kernel(*STAGED, replace(PIPELINE, params=(("buffers", buffers),)))
    assert race(whole) is None
    count = sum(isinstance(stmt, Barrier) for stmt in flatten(whole.body))
    for dropped in range(count):
        numbers = iter(range(count))

        def drop(stmt: Stmt, dropped: int = dropped, numbers=numbers) -> Body:
            return () if isinstance(stmt, Barrier) and next(numbers) == dropped else (stmt,)

        assert race(replace(whole, body=map_stmts(whole.body, drop))) is not None, dropped


def test_storing_into_the_buffer_that_is_read_is_a_race() -> None:
    whole = kernel(*STAGED, PIPELINE)
    stage = Var("k_outer_stage")

    def same(stmt: Stmt) -> Body:
        if isinstance(stmt, Assign) and isinstance(stmt.target, Index) and stmt.target.array == "A_tile":
            first, *rest = stmt.target.subscripts
            return (replace(stmt, target=Index("A_tile", (stage if first != Const("0") else first, *rest))),)
        return (stmt,)

    assert race(replace(whole, body=map_stmts(whole.body, same))) == "A_tile"


def test_buffers_that_threads_do_not_agree_on_are_no_buffers() -> None:
    whole = kernel(*STAGED, PIPELINE)

    def by_thread(stmt: Stmt) -> Body:
        if isinstance(stmt, Decl) and stmt.name == "k_outer_stage":
            return (replace(stmt, init=Binary("%", Var("c_thread"), integer(2))),)
        return (stmt,)

    assert race(replace(whole, body=map_stmts(whole.body, by_thread))) is not None


def test_two_subscripts_are_apart_where_no_integer_makes_them_equal() -> None:
    s, n = Var("s"), Var("n")
    cases = {
        (s, Binary("-", Const("1"), s)): False,
        (s, s): True,
        (s, Binary("+", s, Const("1"))): False,
        (s, n): True,
        (Binary("*", s, Const("2")), Binary("+", Binary("*", n, Const("4")), Const("1"))): False,
        (Binary("*", s, Const("2")), Binary("+", Binary("*", n, Const("4")), Const("6"))): True,
    }
    for (one, other), meet in cases.items():
        assert may_meet(Place("t", one), Place("t", other)) is meet
        assert not may_meet(Place("t", one), Place("u", one))
    assert place_of(Index("t", (s,))) == Place("t")
    assert Place("t", s).forget({"s"}) == Place("t") and Place("t", s).forget({"n"}) == Place("t", s)


def test_a_wide_store_is_one_access() -> None:
    wide = (*STAGED[:1], gene("shared_tile", "B", pad=0, transpose=0, width=4), gene("vectorise", "B_tile", width=4))
    tiled = kernel(*wide)
    assert any(isinstance(stmt, VectorStore) and stmt.target.array == "B_tile" for stmt in flatten(tiled.body))
    assert race(tiled) is None


def test_the_pipeline_asks_for_arguments_that_do_not_overlap() -> None:
    source = MATMUL.replace("sum += A[r * K + k] * B[k * N + c];", "{ sum += B[k * N + c]; C[r * N + c] = sum; }")
    tile = (gene("strip", "k", factor=8), gene("shared_tile", "B", pad=0, transpose=0), PIPELINE)
    assert not isinstance(lower(spec(source), Genome(tile), BUILTIN, Target.CUDA, LIMITS), Rejection)
    alias = lower(spec(source, no_alias=False), Genome(tile), BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(alias, Variant) and len(alias.skipped) == 2

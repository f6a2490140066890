"""Statements know the line on which the user wrote them, and are told apart by what they say alone."""

from __future__ import annotations

from genome.ir.expr import Expr
from genome.ir.rewrite_stmt import map_exprs, map_stmts
from genome.ir.stmt import flatten
from genome.source.frontend import parse_kernel

SOURCE = """
__global__ void mixed(const float* a, float* b, int* h, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0.0f;
  for (int k = 0; k < n; k++) {
    if (a[k] > 0.0f) {
      s += a[k];
    } else
      s -= 1.0f;
  }
  tile[threadIdx.x] = s;
  __syncthreads();
  atomicAdd(&h[0], 1);
  while (s > 1.0f) {
    s *= 0.5f;
  }
  b[i] = s;
}
"""


def _lines(source: str) -> list[tuple[str, int]]:
    body = parse_kernel(source, "mixed").body
    return [(type(stmt).__name__, stmt.line) for stmt in flatten(body)]


def test_every_statement_has_its_line_of_the_file() -> None:
    assert _lines(SOURCE) == [
        ("Decl", 4), ("If", 5), ("Decl", 7), ("Loop", 8), ("If", 9), ("Assign", 10), ("Assign", 12), ("Assign", 14),
        ("Barrier", 15), ("ExprStmt", 16), ("Repeat", 17), ("If", 17), ("Assign", 18), ("Break", 17),
        ("Assign", 20),
    ]  # fmt: skip


def test_the_guard_that_bounds_an_axis_has_its_line() -> None:
    source = """__global__ void f(float* y, int n, int m) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      int j = blockIdx.y * blockDim.y + threadIdx.y;
      if (i < n) {
        if (j < m)
          y[j * n + i] = 0.0f;
      }
    }"""
    assert [(axis.name, axis.line) for axis in parse_kernel(source, "f").axes] == [("i", 4), ("j", 5)]


def test_lines_survive_rewrites_and_tell_no_kernels_apart() -> None:
    kernel, moved = parse_kernel(SOURCE, "mixed"), parse_kernel("\n\n" + SOURCE, "mixed")
    assert kernel == moved and repr(kernel) == repr(moved) and hash(kernel) == hash(moved)

    def same(expr: Expr) -> Expr:
        return expr

    mapped = tuple(map_exprs(stmt, same) for stmt in kernel.body)
    rebuilt = map_stmts(mapped, lambda stmt: (stmt,))
    assert [stmt.line for stmt in flatten(rebuilt)] == [stmt.line for stmt in flatten(kernel.body)]

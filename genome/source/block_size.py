"""Launches whose block is known: constants that stand for its extent, and block numbers that are a global index."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from genome.ir.expr import Binary, Cast, Const, Expr, Var, names, rewrite
from genome.ir.stmt import Body, Opaque, expressions, flatten, map_body
from genome.ir.types import infer
from genome.source.axes import strip_casts

Block = tuple[int, int, int]


def name_block(body: Body, block: Block | None) -> Body:
    """The body with its global indices spelt out, as they are under a launch with that block.

    ``blockIdx.x * 32`` -> ``blockIdx.x * blockDim.x`` where a block has 32 threads along x, and
    ``blockIdx.y`` -> ``blockIdx.y * blockDim.y + threadIdx.y`` where it has one and the body uses nothing else of y.

    Args:
        body: Of the kernel as it was read.
        block: Threads of a block along x, y, z; None if they are not known.
    """
    if block is None:
        return body
    sides = dict(zip("xyz", block, strict=True))
    for dim, threads in sides.items():
        if threads == 1 and _only_numbered(body, dim):
            body = _rewritten(body, partial(_spelt_out, dim=dim))
    return _rewritten(body, partial(_named, sides=sides))


def _rewritten(body: Body, function: Callable[[Expr], Expr]) -> Body:
    return map_body(body, lambda expr: rewrite(expr, function))


def _only_numbered(body: Body, dim: str) -> bool:
    """True if the body uses the block's number along the dimension, but neither thread nor extent."""
    used: set[str] = set()
    for stmt in flatten(body):
        used.update(name for expr in expressions(stmt) for name in names(expr))
        if isinstance(stmt, Opaque):
            used.update(stmt.reads)
            if any(base in stmt.text for base in ("threadIdx", "blockIdx", "blockDim")):
                return False
    return f"blockIdx.{dim}" in used and not used & {f"threadIdx.{dim}", f"blockDim.{dim}"}


def _spelt_out(node: Expr, dim: str) -> Expr:
    if not isinstance(node, Var) or node.name != f"blockIdx.{dim}":
        return node
    return Binary("+", Binary("*", node, Var(f"blockDim.{dim}")), Var(f"threadIdx.{dim}"))


def _named(node: Expr, sides: dict[str, int]) -> Expr:
    if not isinstance(node, Binary) or node.op != "*":
        return node
    for index, factor in ((node.left, node.right), (node.right, node.left)):
        inner = strip_casts(index)
        if not isinstance(inner, Var) or not inner.name.startswith("blockIdx."):
            continue
        dim = inner.name[-1]
        if isinstance(factor, Const) and factor.value == sides[dim]:
            extent = Cast(infer(factor, {}), Var(f"blockDim.{dim}"))
            return Binary("*", index, extent) if index is node.left else Binary("*", extent, index)
    return node

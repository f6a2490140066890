"""What the launch tells of a kernel's text: constants that stand for the block's extent, indices that are zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from genome.ir.expr import Binary, Cast, Const, Expr, Var, names, rewrite
from genome.ir.rewrite_stmt import map_body
from genome.ir.stmt import Body, Opaque, expressions, flatten
from genome.ir.types import infer
from genome.source.axes import strip_casts

_ZERO, _ONE = Const("0u"), Const("1u")
_BASES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


@dataclass(frozen=True)
class Launched:
    """How a kernel is launched.

    Attributes:
        block: Threads of a block along x, y, z.
        flat: Dimensions along which the grid has one block.
    """

    block: tuple[int, int, int]
    flat: frozenset[str] = frozenset()


def spell_out(body: Body, launched: Launched | None) -> Body:
    """The body with its global indices as ``blockIdx.d * blockDim.d + threadIdx.d``, the same when launched so.

    ``blockIdx.x * 32`` -> ``blockIdx.x * blockDim.x`` where a block has 32 threads along x; ``blockIdx.y`` ->
    ``blockIdx.y * blockDim.y + threadIdx.y`` where it has one and the body uses nothing else of y; indices of a
    dimension with one block of one thread -> 0.

    Args:
        body: Of the kernel as it was read.
        launched: How it is launched; None if that is not known.
    """
    if launched is None:
        return body
    sides = dict(zip("xyz", launched.block, strict=True))
    for dim, threads in sides.items():
        if threads == 1 and dim in launched.flat:
            body = _rewritten(body, partial(_without, dim=dim))
        elif threads == 1 and _only_numbered(body, dim):
            body = _rewritten(body, partial(_spelt_out, dim=dim))
    return _rewritten(body, partial(_named, sides=sides))


def _rewritten(body: Body, function: Callable[[Expr], Expr]) -> Body:
    return map_body(body, lambda expr: rewrite(expr, function))


def _without(node: Expr, dim: str) -> Expr:
    """Indices of the dimension as the numbers that they are, and sums and products of those folded."""
    if isinstance(node, Var):
        base, _, axis = node.name.partition(".")
        if axis == dim and base in _BASES:
            return _ZERO if base.endswith("Idx") else _ONE
    if isinstance(node, Binary) and node.op in "+*":
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if one == (_ZERO if node.op == "+" else _ONE) and _is_unsigned(other):
                return other
            if node.op == "*" and one == _ZERO and infer(other, {}) in ("int", "unsigned int"):
                return one
    return node


def _is_unsigned(expr: Expr) -> bool:
    """Sums and products of launch indices and extents: a 0u or 1u beside them changes no type."""
    if isinstance(expr, Binary) and expr.op in "+*":
        return _is_unsigned(expr.left) and _is_unsigned(expr.right)
    return expr in (_ZERO, _ONE) or (isinstance(expr, Var) and expr.name.partition(".")[0] in _BASES)


def _only_numbered(body: Body, dim: str) -> bool:
    """True if the body uses the block's number along the dimension, but neither thread nor extent."""
    used: set[str] = set()
    for stmt in flatten(body):
        used.update(name for expr in expressions(stmt) for name in names(expr))
        if isinstance(stmt, Opaque):
            used.update(stmt.reads)
            if any(base in stmt.text for base in _BASES):
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

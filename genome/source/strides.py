"""Grid-stride loops: ``for (i = global; i < n; i += blockDim.x * gridDim.x)`` under a launch that reaches n at once."""

from __future__ import annotations

from collections.abc import Mapping

from genome.ir.expr import Binary, Const, Expr, Select, Var, integer, rewrite, substitute
from genome.ir.kernel import Axis
from genome.ir.rewrite_stmt import map_body, map_stmts
from genome.ir.stmt import Body, If, Loop, Stmt
from genome.source.axes import strip_casts


def fold_strides(body: Body, axes: Mapping[str, Axis]) -> tuple[Body, dict[str, Expr]]:
    """The body with each such loop as ``if (i < n)``: no thread turns twice where there is one for every element.

    Args:
        body: With its axes in place.
        axes: The axes found so far, by dimension.

    Returns:
        The body, and what the launch must now reach, by dimension.
    """
    reached: dict[str, Expr] = {}

    def visit(stmt: Stmt) -> Body:
        found = _strides_over(stmt, axes)
        if found is None or not isinstance(stmt, Loop):
            return (stmt,)
        axis, condition = found
        if reached.setdefault(axis.dim, condition.right) != condition.right:
            return (stmt,)
        once = map_body(stmt.body, lambda expr: rewrite(substitute(expr, {stmt.var: integer(0)}), _folded))
        return (If(condition, once, line=stmt.line),)

    return map_stmts(body, visit), reached


def _strides_over(stmt: Stmt, axes: Mapping[str, Axis]) -> tuple[Axis, Binary] | None:
    """The axis along which the loop turns with the whole grid, and when it has a first turn; else None."""
    if not isinstance(stmt, Loop) or stmt.lower != integer(0) or stmt.step != 1:
        return None
    match stmt.upper:
        case Select(Binary("<", index, _) as condition, Binary("+", Binary("/", _, stride), Const("1")), Const("0")):
            variable = strip_casts(index)
            for axis in axes.values():
                if variable == Var(axis.name) and _is_whole_grid(stride, axis.dim):
                    return axis, condition
    return None


def _is_whole_grid(stride: Expr, dim: str) -> bool:
    inner = strip_casts(stride)
    if not isinstance(inner, Binary) or inner.op != "*":
        return False
    factors = (strip_casts(inner.left), strip_casts(inner.right))
    wanted = (Var(f"blockDim.{dim}"), Var(f"gridDim.{dim}"))
    return factors in (wanted, wanted[::-1])


def _folded(node: Expr) -> Expr:
    """``a + 0 * stride`` -> ``a``."""
    if isinstance(node, Binary) and node.op == "+":
        for kept, term in ((node.left, node.right), (node.right, node.left)):
            inner = strip_casts(term)
            factors = (inner.left, inner.right) if isinstance(inner, Binary) and inner.op == "*" else ()
            if integer(0) in map(strip_casts, factors):
                return kept
    return node

"""Grid-stride loops: ``for (i = global; i < n; i += blockDim.x * gridDim.x)`` under a launch that reaches n at once."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial

from genome.ir.expr import Binary, Cast, Const, Expr, Select, Var, integer, rewrite, substitute
from genome.ir.kernel import Axis
from genome.ir.rewrite_stmt import map_body, map_stmts
from genome.ir.stmt import Body, If, Loop, Stmt, used_names
from genome.source.axes import strip_casts
from genome.source.loops import FIRST, TURN


@dataclass(frozen=True)
class Folded:
    """A body without loops that stride with the whole grid.

    Attributes:
        body: The body.
        reached: What the launch must now reach, by dimension.
        called: Names of axes that the front end made up for first values -> what the source calls the loop's variable.
    """

    body: Body
    reached: Mapping[str, Expr] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)


def fold_strides(body: Body, axes: Mapping[str, Axis]) -> Folded:
    """The body with each such loop as ``if (i < n)``: no thread turns twice where there is one for every element.

    Args:
        body: With its axes in place.
        axes: The axes found so far, by dimension.
    """
    reached: dict[str, Expr] = {}
    called: dict[str, str] = {}

    def visit(stmt: Stmt) -> Body:
        found = _strides_over(stmt, axes)
        if found is None or not isinstance(stmt, Loop):
            return (stmt,)
        axis, condition = found
        if reached.setdefault(axis.dim, condition.right) != condition.right:
            return (stmt,)
        variable = stmt.var.removesuffix(TURN)
        if axis.name == f"{variable}{FIRST}":
            called[axis.name] = variable
        once = map_body(
            stmt.body, lambda expr: rewrite(substitute(expr, {stmt.var: integer(0)}), partial(_folded, axis))
        )
        return (If(condition, once, line=stmt.line),)

    return Folded(map_stmts(body, visit), reached, called)


def after_loops(folded: Folded, axes: Mapping[str, Axis], taken: Set[str]) -> tuple[Body, tuple[Axis, ...]]:
    """The body with axes called as the source calls the loops' variables, where nothing else has these names.

    Args:
        folded: The body, its loops folded.
        axes: By dimension.
        taken: Names that the kernel has outside of its body.
    """
    used = used_names(folded.body) | taken
    free = {old: new for old, new in folded.called.items() if new not in used}
    free = {old: new for old, new in free.items() if list(free.values()).count(new) == 1}
    variables = {old: Var(new) for old, new in free.items()}
    body = map_body(folded.body, lambda expr: substitute(expr, variables)) if free else folded.body
    return body, tuple(replace(axis, name=free.get(axis.name, axis.name)) for axis in axes.values())


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


def _folded(axis: Axis, node: Expr) -> Expr:
    """``a + 0 * stride`` -> ``a``, and no cast of the axis to its own type."""
    if node == Cast(axis.ctype, Var(axis.name)):
        return node.operand if isinstance(node, Cast) else node
    if isinstance(node, Binary) and node.op == "+":
        for kept, term in ((node.left, node.right), (node.right, node.left)):
            inner = strip_casts(term)
            factors = (inner.left, inner.right) if isinstance(inner, Binary) and inner.op == "*" else ()
            if integer(0) in map(strip_casts, factors):
                return kept
    return node

"""Pointers that are set again, but lead into one array: the offset there is a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from genome.ir.expr import Binary, Expr, Var
from genome.ir.stmt import Assign
from genome.source.names import Names, Unsupported

if TYPE_CHECKING:
    from genome.source.parse_expr import ExprReader

_BETWEEN = frozenset({"<", ">", "<=", ">=", "==", "!=", "-"})


def walk_of(node: c_ast.Node, names: Names) -> tuple[str, str] | None:
    """(array, variable with the offset) of a pointer that moves; the array is empty before it is known."""
    name = names.find(node.name) if isinstance(node, c_ast.ID) else None
    return None if name is None else names.walks.get(name)


def led(node: c_ast.Assignment, walk: tuple[str, str], expr: ExprReader) -> Assign:
    """``p = q + 1;`` where both lead into one array.

    Raises:
        Unsupported: If they do not.
    """
    pointer = expr.pointer(node.rvalue)
    name = expr.names.find(node.lvalue.name)
    if pointer is None or name is None or walk[0] not in ("", pointer[0]):
        raise Unsupported("pointer")
    expr.names.walks[name] = pointer[0], walk[1]
    return Assign(Var(walk[1]), pointer[1])


def between(node: c_ast.BinaryOp, expr: ExprReader) -> Expr | None:
    """A comparison or difference of pointers into one array, of which one moves; None for other operands.

    Raises:
        Unsupported: If they lead into different arrays.
    """
    sides = (node.left, node.right)
    if node.op not in _BETWEEN or all(walk_of(side, expr.names) is None for side in sides):
        return None
    left, right = expr.pointer(node.left), expr.pointer(node.right)
    if left is None or right is None or left[0] != right[0]:
        raise Unsupported("pointer")
    return Binary(node.op, left[1], right[1])

"""Values of integer constant expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pycparser import c_ast

from genome.ir.expr import Const
from genome.ir.type_sizes import size_of as bytes_of
from genome.source.names import Unsupported, type_name


def constant(node: c_ast.Node | None, constants: Mapping[str, int]) -> int | None:
    """Value of an integer constant expression, or None."""
    match node:
        case c_ast.Constant():
            return Const(node.value).value
        case c_ast.ID():
            return constants.get(node.name)
        case c_ast.UnaryOp(op="-"):
            inner = constant(node.expr, constants)
            return None if inner is None else -inner
        case c_ast.Cast():
            return constant(node.expr, constants)
        case c_ast.UnaryOp(op="sizeof"):
            return size_of(node.expr)
        case c_ast.TernaryOp():
            condition = constant(node.cond, constants)
            return None if condition is None else constant(node.iftrue if condition else node.iffalse, constants)
        case c_ast.BinaryOp():
            left, right = constant(node.left, constants), constant(node.right, constants)
            if left is None or right is None:
                return None
            return _fold(node.op, left, right)
    return None


def _fold(op: str, a: int, b: int) -> int | None:
    if op in ("/", "%"):
        if b == 0:
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if op == "/" else a - b * quotient
    table: dict[str, Callable[[], int]] = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "<<": lambda: a << b if 0 <= b < 64 else 0,
        ">>": lambda: a >> b if b >= 0 else 0, "&": lambda: a & b, "|": lambda: a | b, "^": lambda: a ^ b,
        "<": lambda: int(a < b), ">": lambda: int(a > b), "<=": lambda: int(a <= b), ">=": lambda: int(a >= b),
        "==": lambda: int(a == b), "!=": lambda: int(a != b), "&&": lambda: int(bool(a and b)),
        "||": lambda: int(bool(a or b)),
    }  # fmt: skip
    return table[op]() if op in table else None


def size_of(node: c_ast.Node) -> int | None:
    """Bytes of a type, or None if they are not known."""
    try:
        name = type_name(node, {})
    except Unsupported:
        return None
    return bytes_of(name) or None

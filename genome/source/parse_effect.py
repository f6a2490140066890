"""Assignments and increments inside of expressions, as statements that run before the value is asked for.

``x = (i /= 2) % 6;`` becomes ``i /= 2; i_value = i; x = i_value % 6;``. A statement that names the variable once more
is left alone: what it means there C leaves open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from genome.ir.expr import Call, Cast, Const, Expr, Var, base_name, calls
from genome.ir.print_functions import PURE
from genome.ir.stmt import Assign, Decl, ExprStmt
from genome.ir.types import PLAIN_TYPES, infer
from genome.source.names import Unsupported

if TYPE_CHECKING:
    from genome.source.parse_expr import ExprReader


def assigned(node: c_ast.Assignment, expr: ExprReader) -> Expr:
    """The value of an assignment, which is put in front.

    Raises:
        Unsupported: If nothing may run ahead of the expression, or the target is no variable of a plain type.
    """
    if expr.put_in is not None and not isinstance(node.lvalue, c_ast.ID):
        return _stored(node, expr)
    target = _variable(node.lvalue, expr)
    expr.pending.append(Assign(target, expr.read(node.rvalue), node.op))
    return _kept(target, f"{target.name}_value", expr)


def stepped(node: c_ast.UnaryOp, expr: ExprReader) -> Expr:
    """The value of ``++i``, ``i++`` and the like, which are put in front.

    Raises:
        Unsupported: As ``assigned``.
    """
    target = _variable(node.expr, expr)
    step = Assign(target, Const("1"), "+=" if "+" in node.op else "-=")
    if not node.op.startswith("p"):
        expr.pending.append(step)
        return _kept(target, f"{target.name}_value", expr)
    before = _kept(target, f"{target.name}_before", expr)
    expr.pending.append(step)
    return before


def unasked(node: c_ast.Node, expr: ExprReader) -> None:
    """Reads what is evaluated for its effect alone, which is put in front: ``(void)f(x);``, ``(f(x), y)``.

    Raises:
        Unsupported: As ``assigned``, or if the effect is a part of the expression.
    """
    value = expr.read(node)
    value = value.operand if isinstance(value, Cast) else value
    if all(call.function in PURE for call in calls(value)):
        return
    if expr.put_in is None or not isinstance(value, Call):
        raise Unsupported("call whose value is dropped")
    expr.pending.append(ExprStmt(value))


def _stored(node: c_ast.Assignment, expr: ExprReader) -> Expr:
    """The value that an element or a member is set to, which is kept beside it."""
    target = expr.target(node.lvalue)
    ctype = infer(target, expr.names.types)
    if node.op != "=" or ctype not in PLAIN_TYPES:
        raise Unsupported("assignment in an expression")
    kept = expr.names.fresh(f"{base_name(target)}_value", ctype)
    value = Decl(kept, ctype, init=expr.read(node.rvalue), const=True)
    expr.pending += [value, Assign(target, Var(kept))]
    return Var(kept)


def _variable(node: c_ast.Node, expr: ExprReader) -> Var:
    if expr.put_in is None:
        raise Unsupported("assignment where it may not run")
    target = expr.target(node)
    if not isinstance(target, Var) or expr.names.types.get(target.name) not in PLAIN_TYPES:
        raise Unsupported("assignment in an expression")
    return target


def _kept(target: Var, name: str, expr: ExprReader) -> Var:
    ctype = expr.names.types[target.name]
    kept = expr.names.fresh(name, ctype)
    expr.pending.append(Decl(kept, ctype, init=target, const=True))
    return Var(kept)

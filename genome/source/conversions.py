"""Conversions of 16-bit floats written out: C++ makes them without a word where a value is assigned.

Transforms move expressions to places where nothing converts them. ``h += f`` with a half ``h`` is ``h = h + (half)f``;
written as ``h + f`` it would not compile, as no operator of these types takes a float.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.ir.expr import Call, Cast, Expr, rewrite
from genome.ir.halves import HALVES
from genome.ir.rewrite_stmt import map_body, map_stmts
from genome.ir.stmt import Assign, Body, Decl, Stmt
from genome.ir.types import canonical, infer


def convert_halves(body: Body, types: Mapping[str, str], helpers: Mapping[str, tuple[str, ...]]) -> Body:
    """The body with a cast around every value that is converted to or from such a type where it is assigned, or handed
    to a helper.

    Args:
        body: The body.
        types: Canonical type of every variable; of each element for an array.
        helpers: See ``genome.ir.print_helpers.helper_signatures``.
    """
    types = {**types, **{f"{name}()": signature[0] for name, signature in helpers.items()}}

    def converted(value: Expr, wanted: str) -> Expr:
        kind = infer(value, types)
        mixed = kind and wanted and kind != wanted and HALVES & {kind, wanted}
        return Cast(wanted, value, True) if mixed and not wanted.endswith("*") else value

    def handed(node: Expr) -> Expr:
        if not isinstance(node, Call) or len(helpers.get(node.function, ())) != 1 + len(node.args):
            return node
        wanted = helpers[node.function][1:]
        return replace(node, args=tuple(converted(arg, kind) for arg, kind in zip(node.args, wanted, strict=True)))

    def visit(stmt: Stmt) -> Body:
        match stmt:
            case Assign(target, value):
                return (replace(stmt, value=converted(value, infer(target, types))),)
            case Decl(init=Expr() as init, dims=()):
                return (replace(stmt, init=converted(init, canonical(stmt.ctype))),)
        return (stmt,)

    if helpers:
        body = map_body(body, lambda expr: rewrite(expr, handed))
    return map_stmts(body, visit)

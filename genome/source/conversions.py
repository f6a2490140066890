"""Conversions of 16-bit floats written out: C++ makes them without a word where a value is assigned.

Transforms move expressions to places where nothing converts them. ``h += f`` with a half ``h`` is ``h = h + (half)f``;
written as ``h + f`` it would not compile, as no operator of these types takes a float.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.ir.expr import Cast, Expr
from genome.ir.halves import HALVES
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Assign, Body, Decl, Stmt
from genome.ir.types import canonical, infer


def convert_halves(body: Body, types: Mapping[str, str]) -> Body:
    """The body with a cast around every value that an assignment or a declaration converts to or from such a type.

    Args:
        body: The body.
        types: Canonical type of every variable; of each element for an array.
    """

    def converted(value: Expr, wanted: str) -> Expr:
        kind = infer(value, types)
        mixed = kind and wanted and kind != wanted and HALVES & {kind, wanted}
        return Cast(wanted, value, True) if mixed and not wanted.endswith("*") else value

    def visit(stmt: Stmt) -> Body:
        match stmt:
            case Assign(target, value):
                return (replace(stmt, value=converted(value, infer(target, types))),)
            case Decl(init=Expr() as init, dims=()):
                return (replace(stmt, init=converted(init, canonical(stmt.ctype))),)
        return (stmt,)

    return map_stmts(body, visit)

"""Pointers that change type: the elements of an array read and written as values of another type.

``float4 v = ((float4*)x)[i];`` becomes a wide access of ``x[4 * i]``, whose lanes are elements of ``x``, so that every
analysis sees what it touches. A cast to a type of the same size moves bits: ``((int*)x)[i]`` becomes
``__float_as_int(x[i])``. Casts to a type of smaller elements are left alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Member, Var, integer
from genome.ir.stmt import Assign, Body, Decl, VectorLoad, VectorStore
from genome.ir.type_sizes import size_of
from genome.ir.types import INTEGER_TYPES, VECTOR_TYPES, canonical, infer
from genome.source.names import Place, Unsupported, type_name

if TYPE_CHECKING:
    from genome.source.parse_expr import ExprReader

_BITS = {
    ("float", "int"): "__float_as_int", ("float", "unsigned int"): "__float_as_uint",
    ("int", "float"): "__int_as_float", ("unsigned int", "float"): "__uint_as_float",
}  # fmt: skip
_WIDTHS = (2, 4)
_SHORT = frozenset({"int", "unsigned int", "short", "unsigned short", "char", "signed char", "unsigned char", "bool"})


class ViewReader:
    """Reads accesses through pointers that changed type."""

    def __init__(self, expr: ExprReader) -> None:
        self.expr, self.names = expr, expr.names

    # ---- places

    def changes(self, node: c_ast.Node | None) -> bool:
        """True if a pointer that changed its type is followed in the expression of an access or a pointer."""
        match node:
            case c_ast.Cast():
                return isinstance(node.to_type.type, c_ast.PtrDecl)
            case c_ast.ID():
                return self.names.find(node.name) in self.names.views
            case c_ast.ArrayRef():
                return self.changes(node.name)
            case c_ast.UnaryOp(op="&" | "*"):
                return self.changes(node.expr)
            case c_ast.BinaryOp(op="+" | "-"):
                return self.changes(node.left)
        return False

    def seen(self, node: c_ast.Node) -> Place | None:
        """Where ``p[i]`` or ``*p`` goes through a pointer that changed its type; None for other expressions.

        Raises:
            Unsupported: If such a pointer is not followed.
        """
        if not self.names.sees or not self.changes(node):
            return None
        found = self._element(node)
        if found is None:
            raise Unsupported("pointer cast")
        return found

    def _element(self, node: c_ast.Node) -> Place | None:
        match node:
            case c_ast.ArrayRef():
                pointer = self.pointer(node.name)
                return None if pointer is None else self._moved(pointer, node.subscript, "+")
            case c_ast.UnaryOp(op="*"):
                return self.pointer(node.expr)
        return None

    def pointer(self, node: c_ast.Node) -> Place | None:
        """Where a pointer points to, casts and all; None where that is not followed."""
        match node:
            case c_ast.Cast():
                ctype = type_name(node.to_type, self.names.mangled)
                inner = self.pointer(node.expr) if ctype.endswith("*") and ctype.count("*") == 1 else None
                return None if inner is None else self._seen_as(inner, canonical(ctype)[:-1])
            case c_ast.ID() if (self.names.find(node.name) or "") in self.names.views:
                return self.names.views[self.names.find(node.name) or ""]
            case c_ast.UnaryOp(op="&"):
                return self._element(node.expr) if self.changes(node.expr) else self._address(node.expr)
            case c_ast.BinaryOp(op="+" | "-") if self.changes(node.left):
                left = self.pointer(node.left)
                return None if left is None else self._moved(left, node.right, node.op)
        found = self.expr.pointer(node)
        return None if found is None or self.names.rank(found[0]) > 1 else Place(found[0], (), found[1])

    def _address(self, node: c_ast.Node) -> Place | None:
        """``&a[i][j]`` of a whole element."""
        if not isinstance(node, c_ast.ArrayRef):
            return None
        inner = self.expr.read(node)
        if not isinstance(inner, Index) or len(inner.subscripts) != self.names.rank(inner.array):
            return None
        return Place(inner.array, inner.subscripts[:-1], inner.subscripts[-1])

    def _moved(self, place: Place, by: c_ast.Node, op: str) -> Place:
        count = self._lanes(place)
        step = self.expr.read(by)
        value = step.value if isinstance(step, Const) else None
        if value is None and count > 1 and infer(step, self.names.types) in _SHORT:
            step = Cast("long long", step)  # addresses have 64 bits: a product of 32 could wrap round where they do not
        scaled = step if count == 1 else Binary("*", step, integer(count)) if value is None else integer(value * count)
        if scaled == Const("0"):
            return place
        if place.offset == Const("0") and op == "+":
            return replace(place, offset=scaled)
        return replace(place, offset=Binary(op, place.offset, scaled))

    def _seen_as(self, place: Place, ctype: str) -> Place:
        return replace(place, view="" if ctype == self.names.types.get(place.array) else ctype)

    def _lanes(self, place: Place) -> int:
        """Elements of the array in one of the view."""
        if not place.view:
            return 1
        wide, own = size_of(place.view), size_of(self.names.types.get(place.array, ""))
        if not wide or not own or wide % own:
            raise Unsupported("pointer to smaller elements")
        return wide // own

    # ---- values

    def value(self, place: Place) -> Expr:
        """What stands there; a vector is loaded ahead of the expression.

        Raises:
            Unsupported: If nothing may run ahead, or the bits of an element are no element of the view.
        """
        count = self._lanes(place)
        own = self.names.types[place.array]
        if count == 1:
            return _converted(place.at(0), own, place.view or own)
        lane = self._lane_type(place, count)
        if self.expr.put_in is None:
            raise Unsupported("wide access where it may not run")
        parts = tuple(Var(self.names.fresh(f"{place.array}_{number}", own)) for number in range(count))
        self.expr.pending += [Decl(part.name, own) for part in parts]
        self.expr.pending.append(VectorLoad(parts, place.at(0)))
        return Call(f"make_{place.view}", tuple(_converted(part, own, lane) for part in parts))

    def part(self, place: Place, field: str) -> Expr:
        """One element of the vector that stands there."""
        if not place.view:
            return Member(place.at(0), field)
        lane = self._lane_type(place, self._lanes(place))
        if field not in "xyzw":
            raise Unsupported("member")
        return _converted(place.at("xyzw".index(field)), self.names.types[place.array], lane)

    def store(self, place: Place, value: Expr) -> Body:
        """The statements that set what stands there.

        Raises:
            Unsupported: As ``value``.
        """
        count = self._lanes(place)
        own = self.names.types[place.array]
        if not place.view:
            return (Assign(place.at(0), value),)
        if count == 1:
            if infer(value, self.names.types) != place.view:
                value = Cast(place.view, value)
            return (Assign(place.at(0), _converted(value, place.view, own)),)
        lane = self._lane_type(place, count)
        before: Body = ()
        if isinstance(value, Call) and value.function == f"make_{place.view}":
            same = (infer(part, self.names.types) == lane for part in value.args)
            given = [part if plain else Cast(lane, part) for part, plain in zip(value.args, same, strict=True)]
            return (VectorStore(place.at(0), tuple(_converted(part, lane, own) for part in given)),)
        if not isinstance(value, Var):
            kept = self.names.fresh(f"{place.array}_wide", place.view)
            before, value = (Decl(kept, place.view, init=value, const=True),), Var(kept)
        parts = tuple(_converted(Member(value, field), lane, own) for field in "xyzw"[:count])
        return (*before, VectorStore(place.at(0), parts))

    def _lane_type(self, place: Place, count: int) -> str:
        """Type of an element of the vector as which the place is seen."""
        lane = infer(Member(Var("?"), "x"), {"?": place.view}) if place.view in VECTOR_TYPES else ""
        if count not in _WIDTHS or not lane or size_of(place.view) != count * size_of(lane):
            raise Unsupported("pointer to other elements")
        return lane


def _converted(value: Expr, old: str, new: str) -> Expr:
    """The bits of a value as a value of another type of that size."""
    if old == new:
        return value
    if (old, new) in _BITS:
        return Call(_BITS[old, new], (value,))
    if {old, new} <= INTEGER_TYPES - {"bool"}:
        return Cast(new, value)
    raise Unsupported("bits of another type")

"""Single precision: double literals and functions in a kernel of floats become float."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Call, Const, Expr, Select, Unary, rewrite
from genome.ir.kernel import Kernel
from genome.ir.print_functions import MATH
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_body, map_stmts, with_fields
from genome.ir.stmt import Assign, Body, Decl, Stmt
from genome.ir.types import CONSTANTS, INTEGER_TYPES, infer
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal

_ARITHMETIC = ("+", "-", "*", "/")
_COMPARISONS = ("<", ">", "<=", ">=", "==", "!=")
_EXACT, _ALL = "exact", "all"


class Single:
    """``y = 0.5 * x + 1.0`` -> ``y = 0.5f * x + 1.0f`` where ``x`` and ``y`` are floats.

    An unsuffixed literal makes C compute in double, which most GPUs do at 1/32 to 1/64 of the rate. Variables, casts
    and memory of type double stay: they were asked for. Parameters: ``places``. ``exact`` takes those whose value stays
    the same: a comparison of a float with a literal that a float holds, and one sum, difference or product of the two
    that is rounded to float at once (53 >= 2 * 24 + 2 digits: rounding twice is rounding once). What the compiler
    contracts afterwards is its own choice, as before. ``all`` takes the others too, and needs ``assume.fast_math``.
    Source: Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30, 1995.
    """

    name = "single"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """The whole kernel, where something is computed in double between floats."""
        return (Site("doubles", "doubles"),) if _narrows(kernel, _ALL) else ()

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Both, where both change something."""
        places = (_EXACT, _ALL) if _narrows(kernel, _EXACT) else (_ALL,)
        return {"places": places}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        places = params.get("places")
        if places not in (_EXACT, _ALL):
            return Refusal(f"places are '{_EXACT}' or '{_ALL}', not {places}")
        if places == _ALL and not context.assumptions.fast_math:
            return Refusal("arithmetic in float changes results in the last digits", "assume.fast_math")
        if not _narrows(kernel, str(places)):
            return Refusal("nothing is computed in double between floats, or only with another result in float")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Gives the literals their suffix."""
        return replace(kernel, body=_narrowed(kernel, str(params["places"])))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        where = "where that gives the same values" if params["places"] == _EXACT else "everywhere between floats"
        return f"double literals and functions are float {where}"


@lru_cache(maxsize=16)
def _narrows(kernel: Kernel, places: str) -> bool:
    """True if there is something to make float."""
    return _narrowed(kernel, places) != kernel.body


def _narrowed(kernel: Kernel, places: str) -> Body:
    narrow = _Narrow(name_types(kernel), places == _EXACT)
    return map_stmts(map_body(kernel.body, narrow.inside), lambda stmt: (narrow.statement(stmt),))


@dataclass(frozen=True)
class _Narrow:
    types: Mapping[str, str]
    exact: bool

    def inside(self, expr: Expr) -> Expr:
        """Comparisons, and arguments that a function takes as floats."""

        def visit(node: Expr) -> Expr:
            if isinstance(node, Call) and node.function in MATH:
                return Call(node.function, tuple(self._rounded(arg) for arg in node.args))
            if isinstance(node, Binary) and node.op in _COMPARISONS:
                return self._compared(node)
            return node

        return rewrite(expr, visit)

    def statement(self, stmt: Stmt) -> Stmt:
        """What the statement itself rounds to a float."""
        match stmt:
            case Assign(target, value, op) if infer(target, self.types) == "float":
                lone = op == "=" or (op in ("+=", "-=", "*=") and _is_exact(value))
                return with_fields(stmt, value=self._rounded(value)) if lone or not self.exact else stmt
            case Decl(ctype="float", init=Expr() as init):
                return with_fields(stmt, init=self._rounded(init))
        return stmt

    def _compared(self, node: Binary) -> Expr:
        kinds = {infer(side, self.types) for side in (node.left, node.right)}
        if "double" not in kinds:
            return node
        if self.exact and not (kinds == {"float", "double"} and any(_is_exact(s) for s in (node.left, node.right))):
            return node
        left, right = (self._float(side) for side in (node.left, node.right))
        return node if left is None or right is None else Binary(node.op, left, right)

    def _rounded(self, expr: Expr) -> Expr:
        """An expression whose value becomes a float."""
        if infer(expr, self.types) != "double" or (self.exact and not self._rounds_once(expr)):
            return expr
        return self._float(expr) or expr

    def _rounds_once(self, expr: Expr) -> bool:
        """True for an operation of a float and a literal that a float holds, or the literal alone."""
        if not (isinstance(expr, Binary) and expr.op in ("+", "-", "*")):
            return _is_exact(expr)
        sides = (expr.left, expr.right)
        return any(_is_exact(one) and infer(two, self.types) == "float" for one, two in (sides, sides[::-1]))

    def _float(self, expr: Expr) -> Expr | None:
        """The expression computed in float; None if something in it is a double for another reason."""
        kind = infer(expr, self.types)
        if kind == "float" or kind in INTEGER_TYPES:
            return expr
        match expr:
            case Const(text):
                return _float_literal(text)
            case Unary("-" | "+" as op, operand):
                inner = self._float(operand)
                return None if inner is None else Unary(op, inner)
            case Binary(op, left, right) if op in _ARITHMETIC:
                sides = self._float(left), self._float(right)
                return None if sides[0] is None or sides[1] is None else Binary(op, sides[0], sides[1])
            case Select(condition, then, other):
                parts = self._float(then), self._float(other)
                return None if parts[0] is None or parts[1] is None else Select(condition, parts[0], parts[1])
            case Call(function, args) if function + "f" in MATH:
                given = [found for arg in args if (found := self._float(arg)) is not None]
                return Call(function + "f", tuple(given)) if len(given) == len(args) else None
        return None


def _number(text: str) -> float | None:
    try:
        return float(CONSTANTS[text][1] if text in CONSTANTS else text)
    except ValueError:
        return None


def _float_literal(text: str) -> Const | None:
    """The literal with a suffix; None where it is no plain number, or none that a float comes near to."""
    number = _number(text)
    rounded = None if number is None else _as_float(number)
    if number is None or rounded is None or (number != 0.0 and rounded == 0.0):
        return None
    return Const((CONSTANTS[text][1] if text in CONSTANTS else text) + "f")


def _is_exact(expr: Expr) -> bool:
    """True for a double literal, signed or not, whose value a float has as well."""
    if isinstance(expr, Unary) and expr.op in "+-":
        return _is_exact(expr.operand)
    number = _number(expr.text) if isinstance(expr, Const) else None
    return number is not None and infer(expr, {}) == "double" and _as_float(number) == number


def _as_float(number: float) -> float | None:
    """The nearest float; None beyond the largest one."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return None

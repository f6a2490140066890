"""Loops whose variable changes by a fixed step, as loops over the number of the turn.

``for (i = first; i < bound; i += by)`` turns ``(bound - first - 1) / by + 1`` times where ``first < bound``, and i is
``first + t * by`` in turn t. Halving and doubling turn as often as a quotient has bits. All of it holds for loops that
come to an end without overflow: no other loop means anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Select, Unary, integer
from genome.ir.types import infer, join
from genome.source.names import Unsupported

_MAX_SIMULATED = 4096
_HALF = frozenset({"int", "unsigned int"})
_NEVER_BELOW = frozenset({"unsigned int", "unsigned long", "unsigned long long", "size_t"})
_HOLDS = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "!=": int.__ne__}
_FOLDED = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__}
_NEXT = {"+": int.__add__, "-": int.__sub__, "<<": int.__lshift__, ">>": int.__rshift__}


def literal(expr: Expr) -> int | None:
    """Value of an expression of integer literals; None for any other expression, and for what int does not hold."""
    if isinstance(expr, Unary) and expr.op == "-":
        inner = literal(expr.operand)
        return None if inner is None else -inner
    if isinstance(expr, Binary) and expr.op in _FOLDED:
        left, right = literal(expr.left), literal(expr.right)
        if left is None or right is None or left < 0 or right < 0 or (expr.op == "/" and right == 0):
            return None
        value = _FOLDED[expr.op](left, right)
        return value if 0 <= value < 2**31 else None
    return expr.value if isinstance(expr, Const) else None


def turns(first: Expr, op: str, bound: Expr, step: str, by: Expr, ctype: str, types: Mapping[str, str]) -> Expr:
    """How often ``for (i = first; i op bound; i = i step by)`` turns.

    Args:
        first: First value.
        op: One of ``< <= > >= !=``.
        bound: Invariant.
        step: One of ``+ - << >>``.
        by: Invariant; the number of bits of a shift.
        ctype: Canonical type of i.
        types: Type of each name.

    Raises:
        Unsupported: If there is no formula.
    """
    compared = join(ctype, infer(bound, types))
    least = 0 if compared in _NEVER_BELOW else -(2**31)
    if any(value is not None and value < least for value in (literal(first), literal(bound))):
        raise Unsupported("loop")
    known = _simulated(literal(first), op, literal(bound), step, literal(by), least)
    if known is not None:
        return integer(known)
    if compared != join(infer(first, types), infer(bound, types)):
        first = Cast(ctype, first)  # as a literal of another type than i it would compare otherwise
    amount = literal(by)
    if amount is not None and amount <= 0:
        raise Unsupported("loop")
    if step in "+-":
        return _sums(first, op, bound, step, by, types)
    if {infer(first, types), join(infer(first, types), infer(bound, types))} <= _HALF and amount is not None:
        return _shifts(first, op, bound, step, amount, types)
    raise Unsupported("loop")


def at_turn(first: Expr, step: str, by: Expr, turn: Expr) -> Expr:
    """Value of the variable in that turn."""
    change = turn if by == Const("1") else Binary("*", turn, by)
    return change if step == "+" and first == Const("0") else Binary(step, first, change)


def _simulated(first: int | None, op: str, bound: int | None, step: str, by: int | None, least: int) -> int | None:
    """The number of turns where all of it is constant, they are not many, and nothing goes round below ``least``."""
    if first is None or bound is None or by is None or by <= 0:
        return None
    value, count = first, 0
    while _HOLDS[op](value, bound):
        value, count = _NEXT[step](value, by), count + 1
        if count > _MAX_SIMULATED or not least <= value < 2**31:
            return None
    return count


def _sums(first: Expr, op: str, bound: Expr, step: str, by: Expr, types: Mapping[str, str]) -> Expr:
    upwards = step == "+"
    if op == "!=" and by == Const("1") and join(infer(first, types), infer(bound, types)) == "int":
        return minus(bound, first) if upwards else minus(first, bound)
    if op not in (("<", "<=") if upwards else (">", ">=")):
        raise Unsupported("loop")
    if not upwards and by != Const("1") and join(infer(first, types), infer(bound, types)) not in ("int", "long"):
        raise Unsupported("loop")  # an unsigned variable may go round below zero
    gap = minus(bound, first) if upwards else minus(first, bound)
    if by == Const("1"):
        count = gap if len(op) == 1 else Binary("+", gap, Const("1"))
    else:
        count = Binary("+", Binary("/", minus(gap, Const("1")) if len(op) == 1 else gap, by), Const("1"))
    return Select(Binary(op, first, bound), count, Const("0"))


def _shifts(first: Expr, op: str, bound: Expr, step: str, bits: int, types: Mapping[str, str]) -> Expr:
    if step == "<<" and op in ("<", "<="):
        condition: Expr = Binary(op, first, bound)
        most = minus(bound, Const("1")) if op == "<" else bound
        quotient = most if first == Const("1") else Binary("/", most, first)
    elif step == ">>" and op in (">", ">=", "!="):
        limit = literal(bound)
        least = 1 if op == "!=" and limit == 0 else None if limit is None or op == "!=" else limit + (op == ">")
        if least is None or least < 1 or (op == "!=" and infer(first, types) != "unsigned int"):
            raise Unsupported("loop")
        condition = Binary(">=", first, integer(least))
        quotient = first if least == 1 else Binary("/", first, integer(least))
    else:
        raise Unsupported("loop")
    count: Expr = Binary("-", Const("32"), Call("__clz", (quotient,)))
    if bits > 1:
        count = Binary("/", Binary("+", count, integer(bits - 1)), integer(bits))
    return Select(condition, count, Const("0"))


def minus(left: Expr, right: Expr) -> Expr:
    """``left - right`` without subtracting a zero."""
    return left if right == Const("0") else Binary("-", left, right)

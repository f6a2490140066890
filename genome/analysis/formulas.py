"""Integer expressions as functions of their variables, for the many values at which a trial asks for them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Select, Unary, Var

Values = Mapping[str, int]
Formula = Callable[[Values], int]


class Unknown(Exception):
    """A part of the expression has no known value."""


_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "/": lambda a, b: _quotient(a, b), "%": lambda a, b: a - b * _quotient(a, b),
    "<<": lambda a, b: a << _shift(b), ">>": lambda a, b: a >> _shift(b),
}  # fmt: skip


def formula(expr: Expr) -> Formula:
    """The value of an integer expression under C's rules, overflow aside.

    The function raises ``Unknown`` where a variable is missing or C leaves the value open.
    """
    match expr:
        case Const() if expr.value is not None:
            number = expr.value
            return lambda values: number
        case Var(name):
            return lambda values: _variable(name, values)
        case Cast(_, operand, False) | Unary("+", operand):
            return formula(operand)
        case Unary("-", operand):
            inner = formula(operand)
            return lambda values: -inner(values)
        case Unary("!", operand):
            inner = formula(operand)
            return lambda values: int(not inner(values))
        case Binary("&&", left, right):
            one, other = formula(left), formula(right)
            return lambda values: int(bool(one(values)) and bool(other(values)))
        case Binary("||", left, right):
            one, other = formula(left), formula(right)
            return lambda values: int(bool(one(values)) or bool(other(values)))
        case Binary(op, left, right) if op in _OPERATORS:
            one, other, apply = formula(left), formula(right), _OPERATORS[op]
            return lambda values: int(apply(one(values), other(values)))
        case Call("min" | "max" as function, (left, right)):
            one, other, pick = formula(left), formula(right), min if function == "min" else max
            return lambda values: pick(one(values), other(values))
        case Call("__clz", (operand,)):
            inner = formula(operand)
            return lambda values: 32 - _natural(inner(values)).bit_length()
        case Select(condition, then, other_value):
            chosen, yes, no = formula(condition), formula(then), formula(other_value)
            return lambda values: (yes if chosen(values) else no)(values)
    return _no_value


def _no_value(values: Values) -> int:
    raise Unknown


def _variable(name: str, values: Values) -> int:
    found = values.get(name)
    if found is None:
        raise Unknown
    return found


def _quotient(a: int, b: int) -> int:
    if not b:
        raise Unknown
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shift(by: int) -> int:
    if not 0 <= by < 64:
        raise Unknown
    return by


def _natural(number: int) -> int:
    if not 0 <= number < 1 << 32:
        raise Unknown
    return number

"""C's arithmetic on Python numbers: types are numpy dtypes, integers wrap, quotients truncate.

Written apart from ``genome.ir.types``, which it judges; only the spelling of type names is shared.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np

from genome.ir.types import canonical

Number = int | float
Type = np.dtype

BOOL, INT, UINT, LONG, ULONG = (np.dtype(name) for name in ("bool", "int32", "uint32", "int64", "uint64"))
FLOAT, DOUBLE = np.dtype("float32"), np.dtype("float64")
_NAMES = {
    "bool": "bool", "char": "int8", "signed char": "int8", "unsigned char": "uint8", "short": "int16",
    "unsigned short": "uint16", "int": "int32", "unsigned int": "uint32", "long": "int64", "unsigned long": "uint64",
    "size_t": "uint64", "long long": "int64", "unsigned long long": "uint64", "half": "float16", "float": "float32",
    "double": "float64",
}  # fmt: skip


class Undefined(Exception):
    """The program does what C leaves undefined: it divides by zero, or shifts too far."""


class Unsupported(Exception):
    """The interpreter does not know the construct."""


def type_of(name: str) -> Type:
    """The type of that C name."""
    spelled = _NAMES.get(canonical(name))
    if spelled is None:
        raise Unsupported(f"type {name}")
    return np.dtype(spelled)


def convert(value: Number, to: Type) -> Number:
    """The value in another type: integers wrap, floats are truncated or rounded."""
    if to.kind == "b":
        return int(value != 0)
    if to.kind == "f":
        if to == DOUBLE or value != value:
            return float(value)
        try:
            return struct.unpack("f", struct.pack("f", value))[0] if to == FLOAT else float(to.type(value))
        except OverflowError:
            return math.copysign(math.inf, value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Undefined("a float that is not finite becomes an integer")
        value = int(value)
    bits = to.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if to.kind == "i" and value >> (bits - 1) else value


def promoted(kind: Type) -> Type:
    """The integer promotions."""
    return INT if kind.kind in "biu" and kind.itemsize < 4 else kind


def common(a: Type, b: Type) -> Type:
    """The usual arithmetic conversions."""
    a, b = promoted(a), promoted(b)
    if a.kind == "f" or b.kind == "f":
        return max((kind for kind in (a, b) if kind.kind == "f"), key=lambda kind: kind.itemsize)
    if a.itemsize != b.itemsize:
        return a if a.itemsize > b.itemsize else b
    return a if a.kind == "u" else b


def literal(text: str) -> tuple[Number, Type]:
    """Value and type of a literal by C's table: the first type in which it fits."""
    lower = text.lower()
    if lower in ("true", "false"):
        return int(lower == "true"), BOOL
    if text == "(-2147483647 - 1)":
        return -(2**31), INT  # no literal says it
    if lower.startswith("'"):
        return ord(text[1:-1].encode().decode("unicode_escape")), np.dtype("int8")
    hexadecimal = lower.startswith("0x")
    if not hexadecimal and any(mark in lower for mark in ".ef"):
        kind = FLOAT if lower.endswith("f") else DOUBLE
        return convert(float(lower.rstrip("fl")), kind), kind
    digits = lower.rstrip("ul")
    suffix = lower[len(digits) :]
    octal = len(digits) > 1 and digits[0] == "0" and not hexadecimal
    try:
        value = int(digits, 8 if octal else 0)
    except ValueError as error:
        raise Unsupported(f"literal {text}") from error
    kinds = [UINT, ULONG] if "u" in suffix else [INT, UINT, LONG, ULONG] if hexadecimal or octal else [INT, LONG]
    if "l" in suffix:
        kinds = [kind for kind in kinds if kind.itemsize == 8]
    for kind in kinds:
        if value == convert(value, kind):
            return value, kind
    raise Unsupported(f"literal {text}")


def _divide(a: Number, b: Number, kind: Type) -> Number:
    if kind.kind == "f":
        return math.nan if b == 0 and (a == 0 or a != a) else math.copysign(math.inf, a) if b == 0 else a / b
    if b == 0:
        raise Undefined("division by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _shift(a: Number, b: Number, kind: Type) -> int:
    if isinstance(a, float) or isinstance(b, float):
        raise Unsupported("a shift of a float")
    if not 0 <= b < kind.itemsize * 8:
        raise Undefined("shift too far")
    return b


_ARITHMETIC: dict[str, Callable[..., Number]] = {
    "+": lambda a, b, kind: a + b,
    "-": lambda a, b, kind: a - b,
    "*": lambda a, b, kind: a * b,
    "/": _divide,
    "%": lambda a, b, kind: a - b * _divide(a, b, kind),
    "&": lambda a, b, kind: a & b,
    "|": lambda a, b, kind: a | b,
    "^": lambda a, b, kind: a ^ b,
    "<<": lambda a, b, kind: a << _shift(a, b, kind),
    ">>": lambda a, b, kind: a >> _shift(a, b, kind),
}
_COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip


def binary(op: str, a: Type, b: Type) -> tuple[Callable[[Number, Number], Number], Type]:
    """What ``x op y`` computes for operands of these types, and its type."""
    if op in _COMPARISONS:
        kind, compare = common(a, b), _COMPARISONS[op]
        return (lambda x, y: int(compare(convert(x, kind), convert(y, kind)))), INT
    kind = promoted(a) if op in ("<<", ">>") else common(a, b)
    function = _ARITHMETIC.get(op)
    if function is None:
        raise Unsupported(f"operator {op}")
    if op in ("<<", ">>"):
        return (lambda x, y: convert(function(convert(x, kind), y, kind), kind)), kind
    return (lambda x, y: convert(function(convert(x, kind), convert(y, kind), kind), kind)), kind


_UNARY_MATH: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "tanh": math.tanh, "erf": math.erf, "fabs": abs, "floor": math.floor, "ceil": math.ceil, "log2": math.log2,
    "rsqrt": lambda x: 1.0 / math.sqrt(x), "exp2": lambda x: 2.0**x, "trunc": math.trunc,
    "rint": lambda x: float(round(x)),
}  # fmt: skip


def math_function(name: str) -> Callable[..., float] | None:
    """The float64 function behind a device function's name, or None."""
    single = name.removeprefix("__").removesuffix("f") if name.endswith("f") else name
    if single in _UNARY_MATH:
        function = _UNARY_MATH[single]

        def guarded(x: float) -> float:
            try:
                return function(x)
            except (ValueError, ZeroDivisionError, OverflowError):
                return float("nan")

        return guarded
    return {"fma": lambda a, b, c: a * b + c, "fmax": max, "fmin": min, "pow": math.pow}.get(single)

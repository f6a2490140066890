"""C types of expressions: canonical names, ranks, and the type that C's usual conversions give."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Member, Select, Unary, Var
from genome.ir.halves import HALVES, result_type

_ALIASES = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long long", "uint64_t": "unsigned long long",
    "uint": "unsigned int", "uchar": "unsigned char", "ushort": "unsigned short", "ulong": "unsigned long",
    "ptrdiff_t": "long", "ssize_t": "long", "intptr_t": "long", "uintptr_t": "unsigned long", "_Bool": "bool",
    "__half": "half", "__half2": "half2", "nv_bfloat16": "__nv_bfloat16", "nv_bfloat162": "__nv_bfloat162",
}  # fmt: skip
_WORDS = {"unsigned", "signed", "int", "long", "short", "char", "float", "double"}
_RANK = {
    "int": 1, "unsigned int": 2, "long": 3, "unsigned long": 4, "size_t": 4, "long long": 5, "unsigned long long": 6,
    "half": 7, "__nv_bfloat16": 7, "float": 8, "double": 9,
}  # fmt: skip
_SMALL = {"bool", "char", "signed char", "unsigned char", "short", "unsigned short"}

INTEGER_TYPES = frozenset({"bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int",
                           "unsigned int", "long", "unsigned long", "size_t", "long long",
                           "unsigned long long"})  # fmt: skip
"""Canonical names of the integer types."""

FLOAT_TYPES = HALVES | {"float", "double"}
"""Canonical names of the floating-point types."""

_VECTOR_BASES = "char uchar short ushort int uint long ulong longlong ulonglong float double"
VECTOR_TYPES = frozenset(f"{base}{width}" for base in _VECTOR_BASES.split() for width in (1, 2, 3, 4)) | {
    "half2",
    "__nv_bfloat162",
    "dim3",
}
"""CUDA's vector types."""

PLAIN_TYPES = INTEGER_TYPES | FLOAT_TYPES | VECTOR_TYPES
"""Canonical names of types whose values lead to no memory."""

BUILTIN_INDICES = tuple(f"{base}.{dim}" for base in ("threadIdx", "blockIdx", "blockDim", "gridDim") for dim in "xyz")
"""Names of the launch-index variables; all are unsigned in CUDA."""

CONSTANTS: Mapping[str, tuple[str, str]] = {
    "INFINITY": ("float", "__int_as_float(0x7f800000)"), "NAN": ("float", "__int_as_float(0x7fffffff)"),
    "CUDART_INF_F": ("float", "__int_as_float(0x7f800000)"), "HUGE_VALF": ("float", "__int_as_float(0x7f800000)"),
    "FLT_MAX": ("float", "3.402823466e+38f"), "FLT_MIN": ("float", "1.175494351e-38f"),
    "FLT_EPSILON": ("float", "1.192092896e-07f"), "DBL_MAX": ("double", "1.7976931348623158e+308"),
    "DBL_MIN": ("double", "2.2250738585072014e-308"), "DBL_EPSILON": ("double", "2.2204460492503131e-16"),
    "INT_MAX": ("int", "2147483647"), "INT_MIN": ("int", "(-2147483647 - 1)"),
    "UINT_MAX": ("unsigned int", "4294967295u"), "LLONG_MAX": ("long long", "9223372036854775807ll"),
    "M_PI": ("double", "3.14159265358979323846"), "M_PI_2": ("double", "1.57079632679489661923"),
    "M_PI_4": ("double", "0.78539816339744830962"), "M_E": ("double", "2.7182818284590452354"),
    "M_SQRT2": ("double", "1.41421356237309504880"), "M_SQRT1_2": ("double", "0.70710678118654752440"),
    "M_2_SQRTPI": ("double", "1.12837916709551257390"), "M_1_PI": ("double", "0.31830988618379067154"),
    "M_LN2": ("double", "0.69314718055994530942"), "M_LOG2E": ("double", "1.4426950408889634074"),
}  # fmt: skip
"""Macro constants of the standard headers: name -> (type, CUDA text that needs no header)."""


@lru_cache(maxsize=1024)
def canonical(ctype: str) -> str:
    """One spelling a type: ``uint32_t``, ``unsigned`` and ``int unsigned`` give ``unsigned int``; others stay.

    Qualifiers are dropped; a pointer keeps its stars (``const float *`` gives ``float*``).
    """
    stars = ctype.count("*")
    words = [word for word in ctype.replace("*", " ").split() if word not in ("const", "restrict", "__restrict__")]
    base = " ".join(words)
    base = _ALIASES.get(base, base)
    if words and set(words) <= _WORDS and base not in INTEGER_TYPES:
        base = _arithmetic(words)
    return base + "*" * stars


def _arithmetic(words: list[str]) -> str:
    unsigned = "unsigned" in words
    if "char" in words:
        return "unsigned char" if unsigned else "signed char" if "signed" in words else "char"
    if "double" in words or "float" in words:
        return "double" if "double" in words else "float"
    size = {0: "int", 1: "long", 2: "long long"}[min(words.count("long"), 2)]
    size = "short" if "short" in words else size
    return f"unsigned {size}" if unsigned else size


@lru_cache(maxsize=1024)
def literal_type(text: str) -> str:
    """Type of a literal: ``2`` int, ``2u`` unsigned int, ``2.0`` double, ``2.0f`` float; "" when unknown.

    An integer has the first type of C's list that holds it: ``0xffffffff`` is unsigned, ``4294967295`` a long.
    """
    if text in CONSTANTS:
        return CONSTANTS[text][0]
    lower = text.lower()
    if lower in ("true", "false"):
        return "bool"
    if lower.startswith(("'", "sizeof")):
        return "char" if lower.startswith("'") else "size_t"
    if not lower[:1].isdigit() and not lower.startswith("."):
        return ""
    is_hex = lower.startswith("0x")
    if not is_hex and (any(mark in lower for mark in ".ef")):
        return "float" if lower.endswith("f") else "double"
    digits = lower.rstrip("ul")
    suffix = lower[len(digits) :]
    is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        bits = int(digits, 8 if is_octal else 0).bit_length()
    except ValueError:
        return ""
    signed, unsigned = "u" not in suffix, "u" in suffix or is_hex or is_octal
    if "l" not in suffix and (bits <= 31 or (unsigned and bits == 32)):
        return "int" if signed and bits <= 31 else "unsigned int"
    name = "long long" if suffix.count("l") == 2 else "long"
    return name if signed and (bits <= 63 or not unsigned) else f"unsigned {name}"


def join(left: str, right: str) -> str:
    """Type of ``left + right``; "" when one is unknown."""
    if left.endswith("*"):
        return left
    if right.endswith("*"):
        return right
    a = "int" if left in _SMALL else left
    b = "int" if right in _SMALL else right
    if a not in _RANK or b not in _RANK:
        return a if a == b else ""
    higher, lower = (a, b) if _RANK[a] >= _RANK[b] else (b, a)
    # No signed type holds all of an unsigned one of the same width: the result is unsigned.
    return "unsigned long long" if higher == "long long" and lower in ("unsigned long", "size_t") else higher


def infer(expr: Expr, types: Mapping[str, str]) -> str:
    """Type of an expression, or "" when it is not known.

    Args:
        expr: The expression.
        types: Canonical type of each variable; of each element for an array; of ``helper()`` for a helper function.
    """
    match expr:
        case Const(text=text):
            return literal_type(text)
        case Var(name=name):
            return "unsigned int" if name in BUILTIN_INDICES else types.get(name, "")
        case Index(array=array):
            element = types.get(array, "")
            return element[:-1] if element.endswith("*") else element
        case Cast(ctype=ctype):
            return canonical(ctype)
        case Unary(op="!") | Binary(op="<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||"):
            return "bool"
        case Unary(op="&", operand=operand):
            inner = infer(operand, types)
            return inner + "*" if inner else ""
        case Unary(op="*", operand=operand):
            inner = infer(operand, types)
            return inner[:-1] if inner.endswith("*") else ""
        case Unary(operand=operand) | Binary(op="<<" | ">>", left=operand):
            inner = infer(operand, types)
            return "int" if inner in _SMALL else inner
        case Binary(left=left, right=right):
            return join(infer(left, types), infer(right, types))
        case Select(then=then, other=other):
            return join(infer(then, types), infer(other, types))
        case Call(function=function, args=args):
            return _call_type(function, [infer(arg, types) for arg in args]) or types.get(f"{function}()", "")
        case Member(base=base, field=field):
            return _member_type(infer(base, types), field)
    return ""


_SINGLE = frozenset({"__expf", "__logf", "__sinf", "__cosf", "__powf", "__fdividef", "__frcp_rn", "__fsqrt_rn",
                     "__int_as_float", "__uint_as_float", "__int2float_rn", "__saturatef",
                     "__fmaf_rn", "__fadd_rn", "__fmul_rn", "__tanf", "__log2f"})  # fmt: skip
_WHOLE = frozenset({"__float2int_rn", "__float2int_rd", "__float2int_rz", "__popc", "__clz", "__float_as_int",
                    "__mul24", "isnan", "isinf", "isfinite", "__ffs", "__any_sync", "__all_sync"})  # fmt: skip


def _call_type(function: str, args: list[str]) -> str:
    if function in ("min", "max", "abs", "__ldg", "clamp"):
        kind = args[0] if args else ""
        for other in args[1:]:
            kind = join(kind, other)
        return kind[:-1] if function == "__ldg" and kind.endswith("*") else kind
    of_halves = result_type(function, args)
    if of_halves is not None:
        return of_halves
    if function in _WHOLE:
        return "int"
    if function.rstrip("f") in ("lround", "lrint"):
        return "long"
    if function.startswith(("atomic", "__shfl")):
        given = args[1 if function.startswith("__shfl") and function.endswith("_sync") else 0] if args[1:] else ""
        return given.removesuffix("*") if function.startswith("atomic") else given
    if function in ("__ballot_sync", "__activemask", "__match_any_sync"):
        return "unsigned int"
    if function in _SINGLE:
        return "float"
    if function.startswith("make_"):
        return function[len("make_") :]
    from genome.ir.print_functions import MATH

    if function in MATH:
        return "float"
    if function + "f" in MATH:
        return "float" if args and all(kind == "float" for kind in args) else "double" if all(args) else ""
    return ""


def _member_type(base: str, field: str) -> str:
    element = base.rstrip("1234")
    if base and base[-1:].isdigit() and field in ("x", "y", "z", "w"):
        return {"uint": "unsigned int", "uchar": "unsigned char", "ushort": "unsigned short", "longlong": "long long",
                "ulonglong": "unsigned long long", "ulong": "unsigned long"}.get(element, element)  # fmt: skip
    return ""

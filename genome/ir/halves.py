"""CUDA's floating-point types of 16 bits, and the functions on them that are understood. Pure tables.

C++ converts these types without a word where they are assigned, and refuses arithmetic that mixes them with others: an
operator's two sides have the same type, and every operation rounds its result to it.
"""

from __future__ import annotations

from collections.abc import Mapping

HALF, BFLOAT16 = "half", "__nv_bfloat16"
HALVES = frozenset({HALF, BFLOAT16})
"""Canonical names."""

HEADERS: Mapping[str, str] = {HALF: "cuda_fp16.h", BFLOAT16: "cuda_bf16.h"}
"""Where CUDA declares each."""

ARITHMETIC: Mapping[str, str] = {
    "__hadd": "+", "__hsub": "-", "__hmul": "*", "__hdiv": "/", "__hadd_rn": "+", "__hsub_rn": "-", "__hmul_rn": "*",
}  # fmt: skip
"""Functions of two values that are an operator."""

COMPARISONS: Mapping[str, str] = {
    "__heq": "==", "__hne": "!=", "__hlt": "<", "__hle": "<=", "__hgt": ">", "__hge": ">=",
}  # fmt: skip
"""Functions that compare two values."""

ROUNDED: Mapping[str, str] = {
    "hexp": "exp", "hexp2": "exp2", "hexp10": "exp10", "hlog": "log", "hlog2": "log2", "hlog10": "log10",
    "hsqrt": "sqrt", "hrsqrt": "rsqrt", "hsin": "sin", "hcos": "cos", "htanh": "tanh", "hfloor": "floor",
    "hceil": "ceil", "htrunc": "trunc", "hrint": "rint", "hrcp": "1.0f / ", "__hmax": "fmax", "__hmin": "fmin",
}  # fmt: skip
"""Functions whose result is that of a single-precision one, rounded."""

_SAME = frozenset({*ARITHMETIC, *ROUNDED, "__hfma", "__hneg", "__habs"})
_TRUTH = frozenset({*COMPARISONS, "__hisnan", "__hisinf"})
_MODES = ("rn", "rz", "rd", "ru")
SHORT: Mapping[str, str] = {HALF: "half", BFLOAT16: "bfloat16"}
"""What the names of functions call each."""

RESULTS: Mapping[str, str] = {
    **{f"__{short}2float": "float" for short in SHORT.values()},
    **{f"__{source}2{short}{suffix}": name for name, short in SHORT.items()
       for source, suffix in (("float", ""), ("float", "_rn"), ("double", ""), ("int", "_rn"), ("uint", "_rn"))},
    **{f"__{short}2{whole}_{mode}": ctype for short in SHORT.values() for mode in _MODES
       for whole, ctype in (("int", "int"), ("uint", "unsigned int"))},
    **{f"__{bits}_as_{short}": name for name, short in SHORT.items() for bits in ("short", "ushort")},
    **{f"__{short}_as_{bits}": ctype for short in SHORT.values()
       for bits, ctype in (("short", "short"), ("ushort", "unsigned short"))},
}  # fmt: skip
"""Conversions -> the type of their result."""

FUNCTIONS = frozenset({*_SAME, *_TRUTH, *RESULTS})
"""All of them; none has an effect."""


def result_type(function: str, args: list[str]) -> str | None:
    """Type of a call, given the types of its arguments; None for functions that are not of these headers."""
    if function in RESULTS:
        return RESULTS[function]
    if function == "make_bfloat162":
        return f"{BFLOAT16}2"
    if function in _TRUTH:
        return "bool"
    if function in _SAME:
        return next((kind for kind in args if kind in HALVES), "")
    return None

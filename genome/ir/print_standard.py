"""What the system's headers would declare: NVRTC compiles without any."""

from __future__ import annotations

import re

from genome.ir.print_tokens import words
from genome.ir.types import CONSTANTS

STANDARD_TYPES = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long long", "uint64_t": "unsigned long long",
    "intptr_t": "long long", "uintptr_t": "unsigned long long", "uint": "unsigned int", "ushort": "unsigned short",
    "ulong": "unsigned long", "ssize_t": "long",
}  # fmt: skip
"""Types as CUDA's own headers spell them, so that both may stand in one text."""

_GLOBAL = """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor fma fmax fmin
    fmod frexp hypot isfinite isinf isnan ldexp lgamma log log10 log1p log2 lround memcpy memset modf nearbyint pow
    printf remainder rint round signbit sin sinh sqrt tan tanh tgamma trunc ptrdiff_t size_t
"""
"""Names of namespace std that a CUDA compiler has outside of it."""

_TEMPLATES = {
    "max": "template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b)"
    " { return a < b ? b : a; }",
    "min": "template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b)"
    " { return b < a ? b : a; }",
    "is_same": "template <class A, class B> struct is_same { static constexpr bool value = false; };"
    " template <class A> struct is_same<A, A> { static constexpr bool value = true; };",
    "is_same_v": "template <class A, class B> inline constexpr bool is_same_v = false;"
    " template <class A> inline constexpr bool is_same_v<A, A> = true;",
    "conditional": "template <bool C, class A, class B> struct conditional { using type = A; };"
    " template <class A, class B> struct conditional<false, A, B> { using type = B; };",
    "enable_if": "template <bool C, class T = void> struct enable_if {};"
    " template <class T> struct enable_if<true, T> { using type = T; };",
}
"""Templates that are short; the library's headers take long to read."""

_LIBRARY = {
    "limits": "numeric_limits",
    "utility": "pair make_pair swap exchange declval index_sequence make_index_sequence integer_sequence",
    "array": "array",
    "tuple": "tuple make_tuple tie",
    "type_traits": """conditional_t enable_if_t true_type false_type
        integral_constant bool_constant is_integral is_integral_v is_floating_point is_floating_point_v is_arithmetic
        is_arithmetic_v is_signed is_signed_v is_unsigned is_unsigned_v is_pointer is_void is_convertible is_base_of
        remove_reference remove_reference_t remove_const remove_const_t remove_cv remove_cv_t remove_pointer decay
        decay_t make_signed make_signed_t make_unsigned make_unsigned_t underlying_type underlying_type_t void_t
        common_type common_type_t""",
}
"""Headers of CUDA's own standard library, and the names that are taken from each."""


def standard_definitions(text: str) -> str:
    """CUDA definitions of the standard types, functions and constants that the text uses and does not declare itself.

    A compiler with headers (nvcc) includes them instead.
    """
    used = words(text)
    types = [name for name in STANDARD_TYPES if name in used and not _declares(text, name)]
    scoped = sorted(set(re.findall(r"\bstd\s*::\s*(\w+)", text))) if "std" in used else []
    constants = [name for name in CONSTANTS if name in used]
    lines = [f"typedef {STANDARD_TYPES[name]} {name};" for name in types] + _in_std(scoped)
    headers = ["cstdint"] if types else []
    headers += ["algorithm", "cmath", "cstdint", "limits", "type_traits", "utility"] if scoped else []
    if lines:
        included = [f"#include <{header}>" for header in dict.fromkeys(headers)]
        lines = ["#ifdef __CUDACC_RTC__", *lines, "#else", *included, "#endif"]
    for name in constants:
        lines += [f"#ifndef {name}", f"#define {name} {CONSTANTS[name][1]}", "#endif"]
    return "".join(f"{line}\n" for line in lines)


def _in_std(scoped: list[str]) -> list[str]:
    """Includes and declarations that bring the names into namespace std."""
    inside = [f"using ::{name};" for name in scoped if name in _GLOBAL.split() or name in STANDARD_TYPES]
    inside += [_TEMPLATES[name] for name in scoped if name in _TEMPLATES]
    lines = []
    for header, names in _LIBRARY.items():
        found = [name for name in scoped if name in names.split()]
        if found:
            lines.append(f"#include <cuda/std/{header}>")
            inside += [f"using cuda::std::{name};" for name in found]
    return [*lines, "namespace std {", *inside, "}"] if inside else []


def _declares(text: str, name: str) -> bool:
    return re.search(rf"\btypedef\b[^;{{}}]*\b{name}\s*;|\busing\s+{name}\s*=", text) is not None

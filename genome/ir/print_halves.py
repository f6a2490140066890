"""16-bit floats in OpenCL C, which has none without an extension: structs of their bits, and float arithmetic.

An operation is the single-precision one, rounded to nearest even: 24 bits of significand are at least 2 p + 2 for the
11 of half and the 8 of bfloat16, so that rounding twice gives what rounding once does (Figueroa, "When is double
rounding innocuous?", SIGNUM 30, 1995). A struct has no operators: what is not written with these functions does not
compile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from genome.ir.halves import ARITHMETIC, BFLOAT16, COMPARISONS, FUNCTIONS, HALF, HALVES, ROUNDED, SHORT
from genome.ir.print_errors import PrintError
from genome.ir.print_names import HALF_STRUCTS, opencl_type

_SMALL = frozenset({"float", "bool", "char", "signed char", "unsigned char", "short", "unsigned short"})
_WIDER = frozenset({"double", "int", "unsigned int"})
_OVERLOAD = "__attribute__((overloadable))"


def converted(text: str, kind: str, wanted: str) -> str:
    """OpenCL C that converts a value to another type, where one of the two has 16 bits.

    Args:
        text: The value, which can be an argument of a function.
        kind: Its canonical type; empty if that is not known: the text is kept, and a wrong guess does not compile.
        wanted: The canonical type that is asked for.

    Raises:
        PrintError: For 64-bit integers, which neither float nor double holds.
    """
    if kind == wanted or not kind or not wanted or not {kind, wanted} & HALVES:
        return text
    if wanted not in HALVES:
        if wanted in ("float", "double", "bool"):
            return f"evo_float({text})" if wanted != "bool" else f"(evo_float({text}) != 0.0f)"
        return f"convert_{opencl_type(wanted)}_sat_rtz(evo_float({text}))"
    if kind in HALVES:
        return f"evo_float2{SHORT[wanted]}(evo_float({text}))"
    if kind in _SMALL or re.fullmatch(r"\d{1,7}", text):
        return f"evo_float2{SHORT[wanted]}({text})"
    if kind in _WIDER:
        return f"evo_double2{SHORT[wanted]}({text})"
    raise PrintError(f"a conversion of {kind} to {wanted} has no exact counterpart in OpenCL C")


def _name(function: str) -> str:
    plain = function.lstrip("_")
    if plain in ("half2float", "bfloat162float"):
        return "evo_float"
    if function in ARITHMETIC or plain.startswith("float2"):
        plain = plain.removesuffix("_rn")
    return f"evo_{plain}"


NAMES: Mapping[str, str] = {function: _name(function) for function in FUNCTIONS}
"""A function of CUDA's headers -> the one of the printed text; the same for both types where CUDA's is."""


def half_definitions(used: frozenset[str]) -> str:
    """Definitions of the types and functions of this page among the words of an OpenCL text."""
    kinds = [kind for kind in (HALF, BFLOAT16) if any(SHORT[kind] in word for word in used if word.startswith("evo_"))]
    wanted = {*NAMES.values()} & used
    if "evo_hfma" in wanted:
        wanted |= {f"evo_double2{SHORT[kind]}" for kind in kinds}
    if any(name.startswith(("evo_int2", "evo_uint2")) for name in wanted):
        wanted |= {f"evo_double2{SHORT[kind]}" for kind in kinds}
    return "\n".join(part for kind in kinds for part in _of_type(kind, wanted))


def _of_type(kind: str, wanted: set[str]) -> list[str]:
    short, struct = SHORT[kind], HALF_STRUCTS[kind]
    parts = [f"typedef struct {{ ushort bits; }} {struct};", _BASE[kind]]
    later = []
    for name in sorted(wanted):
        plain = name.removeprefix("evo_")
        if plain == f"double2{short}":
            parts.append(_DOUBLE.format(short=short, struct=struct))
        elif plain in _PLAIN:
            later.append(_PLAIN[plain].format(short=short, struct=struct, infinity=hex(_INFINITY[kind])))
        elif plain in _OPERATORS:
            value = f"evo_float2{short}(evo_float(a) {_OPERATORS[plain]} evo_float(b))"
            later.append(f"{_OVERLOAD} {struct} {name}({struct} a, {struct} b) {{ return {value}; }}")
        elif plain in _COMPARED:
            value = f"evo_float(a) {_COMPARED[plain]} evo_float(b)"
            later.append(f"{_OVERLOAD} int {name}({struct} a, {struct} b) {{ return {value}; }}")
        elif plain in _CALLED:
            later.append(_call(name, _CALLED[plain], short, struct))
        elif short in plain:
            later.append(_conversion(name, plain, short, struct))
    return parts + [part for part in later if part]


def _call(name: str, function: str, short: str, struct: str) -> str:
    two = function in ("fmax", "fmin")
    params, args = (f"{struct} a, {struct} b", "evo_float(a), evo_float(b)") if two else (f"{struct} a", "evo_float(a)")
    return f"{_OVERLOAD} {struct} {name}({params}) {{ return evo_float2{short}({function}({args})); }}"


def _conversion(name: str, plain: str, short: str, struct: str) -> str:
    """A function between one of the types and integers: by value, or by its bits."""
    if (found := re.fullmatch(rf"(u?short)_as_{short}", plain)) is not None:
        return f"{struct} {name}({found[1]} bits) {{ {struct} result = {{(ushort)bits}}; return result; }}"
    if (found := re.fullmatch(rf"{short}_as_(u?short)", plain)) is not None:
        return f"{found[1]} {name}({struct} a) {{ return ({found[1]})a.bits; }}"
    if (found := re.fullmatch(rf"(u?int)2{short}_rn", plain)) is not None:
        return f"{struct} {name}({found[1]} a) {{ return evo_double2{short}((double)a); }}"
    if (found := re.fullmatch(rf"{short}2(u?int)_(\w\w)", plain)) is not None:
        mode = {"rn": "rte", "rz": "rtz", "rd": "rtn", "ru": "rtp"}[found[2]]
        return f"{found[1]} {name}({struct} a) {{ return convert_{found[1]}_sat_{mode}(evo_float(a)); }}"
    return ""


_OPERATORS = {name.lstrip("_"): op for name, op in ARITHMETIC.items()}
_COMPARED = {name.lstrip("_"): op for name, op in COMPARISONS.items()}
_CALLED = {name.lstrip("_"): function for name, function in ROUNDED.items()}
_INFINITY = {HALF: 0x7C00, BFLOAT16: 0x7F80}

_BASE = {
    BFLOAT16: f"""{_OVERLOAD} float evo_float(evo_bfloat16 a) {{ return as_float((uint)a.bits << 16); }}
evo_bfloat16 evo_float2bfloat16(float a) {{
    uint bits = as_uint(a);
    bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    evo_bfloat16 result = {{(ushort)(nan ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)}};
    return result;
}}""",
    # A value below 2**-14 is added to 0.5, whose last bit is that of the smallest half: the sum is rounded to it.
    HALF: f"""{_OVERLOAD} float evo_float(evo_half a) {{
    uint sign = (uint)(a.bits & 0x8000u) << 16, power = a.bits >> 10 & 31u, rest = a.bits & 1023u;
    uint large = sign | (power == 31u ? 0x7f800000u : (power + 112u) << 23) | rest << 13;
    return as_float(power == 0u ? sign | as_uint((float)rest * 0x1p-24f) : large);
}}
evo_half evo_float2half(float a) {{
    uint bits = as_uint(a) & 0x7fffffffu, sign = as_uint(a) >> 16 & 0x8000u;
    uint small = as_uint(as_float(bits) + 0.5f) - 0x3f000000u;
    uint normal = (bits + 0xfffu + (bits >> 13 & 1u) - 0x38000000u) >> 13;
    uint large = bits > 0x7f800000u ? 0x7fffu : 0x7c00u;
    evo_half result = {{(ushort)(sign | (bits < 0x38800000u ? small : bits >= 0x477ff000u ? large : normal))}};
    return result;
}}""",
}

# To float, rounded to odd, so that rounding once more gives what rounding the double does.
_DOUBLE = """{struct} evo_double2{short}(double a) {{
    float near = (float)a;
    uint bits = as_uint(near);
    if ((double)near != a && (bits & 1u) == 0u) bits += fabs((double)near) < fabs(a) ? 1u : -1u;
    return evo_float2{short}(as_float(bits));
}}"""

_PLAIN = {
    "hneg": f"{_OVERLOAD} {{struct}} evo_hneg({{struct}} a) {{{{ a.bits ^= 0x8000; return a; }}}}",
    "habs": f"{_OVERLOAD} {{struct}} evo_habs({{struct}} a) {{{{ a.bits &= 0x7fff; return a; }}}}",
    "hisnan": f"{_OVERLOAD} int evo_hisnan({{struct}} a) {{{{ return (a.bits & 0x7fff) > {{infinity}}; }}}}",
    "hisinf": f"{_OVERLOAD} int evo_hisinf({{struct}} a) {{{{ return (a.bits & 0x7fff) == {{infinity}}; }}}}",
    # The product is exact in double; the sum is rounded to odd by its error (Knuth's two-sum).
    "hfma": f"""{_OVERLOAD} {{struct}} evo_hfma({{struct}} a, {{struct}} b, {{struct}} c) {{{{
    double product = (double)evo_float(a) * (double)evo_float(b), other = evo_float(c), sum = product + other;
    double part = sum - product, error = (product - (sum - part)) + (other - part);
    ulong bits = as_ulong(sum);
    if (error != 0.0 && (bits & 1ul) == 0ul && isfinite(sum)) bits += (error > 0.0) == (sum > 0.0) ? 1ul : -1ul;
    return evo_double2{{short}}(as_double(bits));
}}}}""",
}

"""Atomic operations that OpenCL C 1.2 lacks, written with compare and swap."""

from __future__ import annotations

from genome.ir.print_functions import ATOMICS

_SPACES = ("__global", "__local")
_OVERLOAD = "__attribute__((overloadable))"
_WHOLE = {
    "atomicAdd": "atomic_add",
    "atomicSub": "atomic_sub",
    "atomicMax": "atomic_max",
    "atomicMin": "atomic_min",
    "atomicAnd": "atomic_and",
    "atomicOr": "atomic_or",
    "atomicXor": "atomic_xor",
    "atomicExch": "atomic_xchg",
}
_NEW_VALUE = {
    "atomicAdd": "old + value",
    "atomicSub": "old - value",
    "atomicExch": "value",
    "atomicMax": "fmax(old, value)",
    "atomicMin": "fmin(old, value)",
}
_BITS = {"float": ("int", "atomic_cmpxchg"), "double": ("long", "atom_cmpxchg")}


def definitions(used: frozenset[str]) -> str:
    """Definitions of the ``evo_`` functions among the words of an OpenCL text.

    ``evo_atomicAdd_float`` is for floats; ``evo_atomicAdd``, which translated text calls without knowing the type, has
    a definition for every type. Each exists for both address spaces.
    """
    parts: list[str] = []
    for name in sorted(word for word in used if word.startswith("evo_")):
        plain, _, kind = name.removeprefix("evo_").partition("_")
        if plain not in ATOMICS and plain != "abs":
            continue
        if plain == "abs":
            parts += [_absolute(ctype) for ctype in ("int", "long", "float", "double")]
        elif kind:
            parts += [_floating(name, plain, space, kind) for space in _SPACES]
        else:
            parts += [part for space in _SPACES for part in _generic(name, plain, space)]
    return "\n".join(parts)


def _generic(name: str, plain: str, space: str) -> list[str]:
    parts = [_whole(name, plain, space, ctype) for ctype in ("int", "uint") if plain != "atomicInc" or ctype == "uint"]
    if plain in ("atomicAdd", "atomicExch"):
        parts += [_floating(name, plain, space, kind) for kind in _BITS]
    if plain == "atomicAdd":
        function = f"ulong {name}(volatile {space} ulong* target, ulong value) {{ return atom_add(target, value); }}"
        parts.append(f"#ifdef cl_khr_int64_base_atomics\n{_OVERLOAD} {function}\n#endif")
    return parts


def _absolute(ctype: str) -> str:
    body = "fabs(value)" if ctype in ("float", "double") else f"({ctype})abs(value)"
    return f"{_OVERLOAD} {ctype} evo_abs({ctype} value) {{ return {body}; }}"


def _whole(name: str, plain: str, space: str, ctype: str) -> str:
    head = f"{_OVERLOAD} {ctype} {name}(volatile {space} {ctype}* target"
    if plain == "atomicCAS":
        return f"{head}, {ctype} expected, {ctype} value) {{ return atomic_cmpxchg(target, expected, value); }}"
    if plain == "atomicInc":
        return f"""{head}, uint limit) {{
    uint seen = *target, expected;
    do {{
        expected = seen;
        seen = atomic_cmpxchg(target, expected, expected >= limit ? 0u : expected + 1u);
    }} while (seen != expected);
    return seen;
}}"""
    return f"{head}, {ctype} value) {{ return {_WHOLE[plain]}(target, value); }}"


def _floating(name: str, plain: str, space: str, kind: str) -> str:
    bits, exchange = _BITS[kind]
    text = f"""{_OVERLOAD} {kind} {name}(volatile {space} {kind}* target, {kind} value) {{
    volatile {space} {bits}* raw = (volatile {space} {bits}*)target;
    {bits} seen = *raw, expected;
    do {{
        expected = seen;
        {kind} old = as_{kind}(expected);
        seen = {exchange}(raw, expected, as_{bits}({_NEW_VALUE[plain]}));
    }} while (seen != expected);
    return as_{kind}(seen);
}}"""
    return text if kind == "float" else f"#ifdef cl_khr_int64_base_atomics\n{text}\n#endif"

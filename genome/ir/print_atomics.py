"""Atomic operations that OpenCL C 1.2 lacks, written with compare and swap."""

from __future__ import annotations

from genome.ir.print_tokens import tokenize

_SPACES = ("__global", "__local")
_WHOLE = {"atomicAdd": "atomic_add", "atomicSub": "atomic_sub", "atomicMax": "atomic_max", "atomicMin": "atomic_min",
          "atomicAnd": "atomic_and", "atomicOr": "atomic_or", "atomicXor": "atomic_xor",
          "atomicExch": "atomic_xchg"}  # fmt: skip
_FLOAT = {"atomicAdd": "old + value", "atomicExch": "value"}


def definitions(text: str) -> str:
    """Definitions of the ``evo_`` functions that OpenCL text calls, each for both address spaces."""
    words = {token.text for token in tokenize(text) if token.kind == "word" and token.text.startswith("evo_")}
    parts: list[str] = []
    for name in sorted(words):
        plain = name.removeprefix("evo_")
        if plain == "abs":
            parts += [_absolute(ctype) for ctype in ("int", "long", "float", "double")]
            continue
        for space in _SPACES:
            for ctype in ("int", "uint"):
                parts.append(_whole(plain, space, ctype))
            if plain in _FLOAT:
                parts.append(_float(plain, space))
                parts.append(_double(plain, space))
            if plain == "atomicAdd":
                parts.append(_long(space))
    return "\n".join(part for part in parts if part)


def _absolute(ctype: str) -> str:
    body = "fabs(value)" if ctype in ("float", "double") else f"({ctype})abs(value)"
    return f"__attribute__((overloadable)) {ctype} evo_abs({ctype} value) {{ return {body}; }}"


def _whole(name: str, space: str, ctype: str) -> str:
    head = f"__attribute__((overloadable)) {ctype} evo_{name}(volatile {space} {ctype}* target"
    if name == "atomicCAS":
        return f"{head}, {ctype} expected, {ctype} value) {{ return atomic_cmpxchg(target, expected, value); }}"
    if name == "atomicInc":
        if ctype == "int":
            return ""
        return (f"{head}, uint limit) {{\n    uint old = *target, seen;\n    while ((seen = atomic_cmpxchg(target, old, "
                "old >= limit ? 0u : old + 1u)) != old) old = seen;\n    return old;\n}")  # fmt: skip
    return f"{head}, {ctype} value) {{ return {_WHOLE[name]}(target, value); }}"


def _float(name: str, space: str) -> str:
    return f"""__attribute__((overloadable)) float evo_{name}(volatile {space} float* target, float value) {{
    volatile {space} int* bits = (volatile {space} int*)target;
    int seen = *bits, expected;
    do {{
        expected = seen;
        float old = as_float(expected);
        seen = atomic_cmpxchg(bits, expected, as_int({_FLOAT[name]}));
    }} while (seen != expected);
    return as_float(seen);
}}"""


def _double(name: str, space: str) -> str:
    return f"""#ifdef cl_khr_int64_base_atomics
__attribute__((overloadable)) double evo_{name}(volatile {space} double* target, double value) {{
    volatile {space} long* bits = (volatile {space} long*)target;
    long seen = *bits, expected;
    do {{
        expected = seen;
        double old = as_double(expected);
        seen = atom_cmpxchg(bits, expected, as_long({_FLOAT[name]}));
    }} while (seen != expected);
    return as_double(seen);
}}
#endif"""


def _long(space: str) -> str:
    return f"""#ifdef cl_khr_int64_base_atomics
__attribute__((overloadable)) ulong evo_atomicAdd(volatile {space} ulong* target, ulong value) {{
    return atom_add(target, value);
}}
#endif"""

"""Names of C types in OpenCL C."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from genome.ir.halves import BFLOAT16, HALF
from genome.ir.print_errors import PrintError
from genome.ir.types import canonical

DYNAMIC_SHARED = "EVO_SHARED_BYTES"
"""OpenCL macro with the bytes of dynamic shared memory, given as a compile option (``-DEVO_SHARED_BYTES=4096``)."""

KEYWORDS = frozenset({"kernel", "global", "local", "constant", "private", "generic", "read_only", "write_only",
                      "read_write", "pipe"})  # fmt: skip
"""Words of OpenCL C that CUDA code uses as names (convolutions call their weights ``kernel``)."""

_FUNCTIONS = """
abs abs_diff acos all any asin atan atan2 cbrt ceil clamp clz cos cosh cross degrees distance dot erf erfc exp
exp2 exp10 fabs fdim floor fma fmax fmin fmod fract hypot length log log2 log10 mad max min mix mul24 mul_hi
normalize popcount pow radians remainder rint rotate round rsqrt select shuffle sign sin sincos sinh
smoothstep sqrt step tan tanh trunc upsample
"""
BUILTIN_FUNCTIONS = frozenset(_FUNCTIONS.split())
"""Functions of OpenCL C that a helper of the same name may not define again."""

HALF_STRUCTS: Mapping[str, str] = {HALF: "evo_half", BFLOAT16: "evo_bfloat16"}
"""16-bit floats -> the structs that stand for them (``genome.ir.print_halves``)."""

_TYPES = {
    "unsigned char": "uchar", "unsigned short": "ushort", "unsigned int": "uint", "unsigned long": "ulong",
    "long long": "long", "unsigned long long": "ulong", "signed char": "char",
}  # fmt: skip


@lru_cache(maxsize=512)
def opencl_type(ctype: str) -> str:
    """The OpenCL C name of a value type: ``unsigned long long`` is ``ulong``, ``longlong2`` is ``long2``."""
    kept = "volatile " if "volatile" in ctype.split() else ""
    name = canonical(ctype.replace("volatile", " "))
    stars = "*" * name.count("*")
    name = name.rstrip("*")
    name = _TYPES.get(name, name)
    if "::" in name or "<" in name:
        raise PrintError(f"{name} has no counterpart in OpenCL C")
    if name in ("half2", f"{BFLOAT16}2"):
        raise PrintError(f"{name} has no counterpart in OpenCL C without an extension; single elements have one")
    name = HALF_STRUCTS.get(name, name)
    if name.startswith("ulonglong"):
        name = name.replace("ulonglong", "ulong")
    elif name.startswith("longlong"):
        name = name.replace("longlong", "long")
    return kept + name + stars


def opencl_parameter_type(ctype: str) -> str:
    """The type of a by-value kernel parameter: ``bool`` and ``size_t`` may not be one."""
    name = opencl_type(ctype)
    return {"bool": "uchar", "size_t": "ulong"}.get(name, name)

"""Names of C types in OpenCL C."""

from __future__ import annotations

from functools import lru_cache

from genome.ir.types import canonical

DYNAMIC_SHARED = "EVO_SHARED_BYTES"
"""OpenCL macro with the bytes of dynamic shared memory, given as a compile option (``-DEVO_SHARED_BYTES=4096``)."""

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
    if name.startswith("ulonglong"):
        name = name.replace("ulonglong", "ulong")
    elif name.startswith("longlong"):
        name = name.replace("longlong", "long")
    return kept + name + stars


def opencl_parameter_type(ctype: str) -> str:
    """The type of a by-value kernel parameter: ``bool`` and ``size_t`` may not be one."""
    name = opencl_type(ctype)
    return {"bool": "uchar", "size_t": "ulong"}.get(name, name)

"""Bytes of C types on a 64-bit device."""

from __future__ import annotations

from math import prod

from genome.ir.types import VECTOR_TYPES, canonical

SHARED_ALIGNMENT = 16
"""Bytes that every shared array begins at a multiple of, for the widest copies."""

_BYTES = {"bool": 1, "char": 1, "short": 2, "half": 2, "__nv_bfloat16": 2, "int": 4, "float": 4, "long": 8,
          "double": 8, "size_t": 8}  # fmt: skip


def size_of(ctype: str) -> int:
    """Bytes of a value of the type; 0 where that is not known (structs). A pointer has 8."""
    name = canonical(ctype)
    if name.endswith("*"):
        return 8
    if name in VECTOR_TYPES and name != "dim3":
        base = name[:-1].replace("longlong", "long")
        return int(name[-1]) * _BYTES[base.removeprefix("u")]
    return _BYTES.get(name.removeprefix("unsigned ").removeprefix("signed ").replace("long long", "long"), 0)


def shared_size(ctype: str, dims: tuple[int, ...]) -> int:
    """Bytes of a shared variable, with those that align what follows an array. Elements of structs count as 8."""
    size = prod(dims) * (size_of(ctype) or 8)
    return -(-size // SHARED_ALIGNMENT) * SHARED_ALIGNMENT if dims else size

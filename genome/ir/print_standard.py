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


def standard_definitions(text: str) -> str:
    """CUDA definitions of the standard types and constants that the text uses and does not declare itself."""
    used = words(text)
    types = [name for name in STANDARD_TYPES if name in used and not _declares(text, name)]
    constants = [name for name in CONSTANTS if name in used]
    return "".join(
        [f"typedef {STANDARD_TYPES[name]} {name};\n" for name in types]
        + [f"#ifndef {name}\n#define {name} {CONSTANTS[name][1]}\n#endif\n" for name in constants]
    )


def _declares(text: str, name: str) -> bool:
    return re.search(rf"\btypedef\b[^;{{}}]*\b{name}\s*;|\busing\s+{name}\s*=", text) is not None

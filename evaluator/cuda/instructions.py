"""The instruction mix of machine code: how many instructions of each class a binary holds.

From compute capability 7.0 on an instruction has 128 bits, of which the lowest nine name the operation (three more the
form of its operands). What each number stands for was read off NVIDIA's disassembler (``nvdisasm -hex``) for 7.5, 8.0
and 9.0, where they agree; numbers that are not listed count as "other".
"""

from __future__ import annotations

import struct
from collections import Counter

from evaluator.cuda.cubin import sections

_OPERATION = 0x1FF
_NOTHING = 0x118  # NOP, which fills a section up
_NUMBERS = {
    "float": (0x08, 0x09, 0x0B, 0x20, 0x21, 0x23, 0x28, 0x29, 0x2B, 0x30, 0x31, 0x35),  # FSEL to FFMA, DMUL, HADD2, ...
    "tensor": (0x3C,),  # HMMA
    "special": (0x102, 0x105, 0x106, 0x108, 0x110, 0x112),  # MUFU, and conversions
    "integer": (0x0C, 0x10, 0x11, 0x12, 0x13, 0x19, 0x24, 0x25, 0x27, 0x36, 0x100, 0x109),  # ISETP, IADD3, IMAD, ...
    "global": (0x181, 0x186, 0x18E, 0x1A6, 0x1A8, 0x1A9, 0x1AE),  # LDG, STG, RED, ATOMG, LDGSTS
    "shared": (0x184, 0x188, 0x18C),  # LDS, STS, ATOMS
    "local": (0x183, 0x187),  # LDL, STL
    "barrier": (0x11D, 0x189, 0x06, 0x192),  # BAR, SHFL, VOTE, MEMBAR
    "branch": (0x141, 0x144, 0x145, 0x147, 0x150),  # BSYNC, CALL, BSSY, BRA, RET
}
_CLASS = {number: name for name, numbers in _NUMBERS.items() for number in numbers}


def instruction_mix(cubin: bytes) -> tuple[tuple[str, int], ...]:
    """(class, count) over all kernels of a binary, in alphabetic order, classes that do not occur left out.

    Classes are those of ``evaluator.result.INSTRUCTION_CLASSES``; empty if this is no machine code.
    """
    counts: Counter[str] = Counter()
    for name, code in sections(cubin):
        if name.startswith(".text."):
            whole = len(code) - len(code) % 16
            numbers = (low & _OPERATION for low, _ in struct.iter_unpack("<QQ", code[:whole]))
            counts.update(_CLASS.get(number, "other") for number in numbers if number != _NOTHING)
    return tuple(sorted(counts.items()))

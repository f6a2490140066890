"""Read and write sets: what a kernel does to the arrays behind its pointer parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from genome.analysis.access import Access, AccessMode, MemorySpace
from genome.ir.kernel import Kernel
from genome.ir.stmt import Opaque, flatten


class Use(StrEnum):
    """Whether something happens to an array."""

    NEVER = "never"  # in no thread, at no size
    MAYBE = "maybe"  # in text that is not looked into
    SOMEWHERE = "somewhere"  # the kernel has such an access; it may stand under a condition


@dataclass(frozen=True)
class ArrayUse:
    """What happens to one array.

    Attributes:
        array: The pointer parameter.
        read: By plain loads or by atomics.
        written: By plain stores or by atomics.
        updated: By atomics.
        line: Of the first access; 0 without one.
    """

    array: str
    read: Use
    written: Use
    updated: Use
    line: int = 0


def uses(kernel: Kernel, accesses: Sequence[Access]) -> tuple[ArrayUse, ...]:
    """One record for each pointer parameter, in the order of the signature."""
    return tuple(_use(param.name, kernel, accesses) for param in kernel.params if param.pointer)


def _use(array: str, kernel: Kernel, accesses: Sequence[Access]) -> ArrayUse:
    mine = [access for access in accesses if access.array == array]
    known = [access for access in mine if access.subscripts]
    vague = any(access.space is MemorySpace.UNKNOWN for access in accesses) or _in_text(array, kernel)

    def found(*modes: AccessMode) -> Use:
        if any(access.mode in modes for access in known):
            return Use.SOMEWHERE
        return Use.MAYBE if vague or any(access.mode in modes for access in mine) else Use.NEVER

    return ArrayUse(
        array,
        found(AccessMode.READ, AccessMode.ATOMIC),
        found(AccessMode.WRITE, AccessMode.ATOMIC),
        found(AccessMode.ATOMIC),
        min((access.line for access in mine if access.line), default=0),
    )


def _in_text(array: str, kernel: Kernel) -> bool:
    """True if text that is not looked into names the array."""
    texts = [stmt.text for stmt in flatten(kernel.prologue + kernel.whole) if isinstance(stmt, Opaque)]
    if kernel.verbatim and not kernel.body:
        texts.append(kernel.verbatim)
    return any(re.search(rf"\b{re.escape(array)}\b", text) for text in texts)

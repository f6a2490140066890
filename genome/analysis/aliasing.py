"""Pointer parameters that may overlap, where that would matter: one of the two is written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from genome.analysis.access import Access, AccessMode, MemorySpace
from genome.analysis.facts import AliasFact
from genome.analysis.proof import Proof, assumed, doubted, proven
from genome.ir.kernel import Kernel

NO_ALIAS = "assume.no_alias"


def aliases(kernel: Kernel, accesses: Sequence[Access], no_alias: bool) -> tuple[AliasFact, ...]:
    """Why each pair of pointer parameters does not overlap, or that it may.

    Only equal pointers, or ones that overlap in part, can break a rewrite, and only where one of the two is written;
    other pairs are left out.

    Args:
        kernel: The kernel.
        accesses: Those of ``genome.analysis.collect``.
        no_alias: True if the campaign grants that pointer arguments do not overlap.
    """
    written = {access.array: access.line for access in reversed(accesses) if access.mode is not AccessMode.READ}
    unseen = any(access.space is MemorySpace.UNKNOWN and access.mode is not AccessMode.READ for access in accesses)
    touched = [param.name for param in kernel.params if param.pointer and _is_touched(param.name, accesses)]
    return tuple(
        AliasFact((one, other), _distinct(kernel, (one, other), written.get(one) or written.get(other) or 0, no_alias))
        for one, other in combinations(touched, 2)
        if one in written or other in written or unseen
    )


def _is_touched(name: str, accesses: Sequence[Access]) -> bool:
    return any(access.array == name or access.space is MemorySpace.UNKNOWN for access in accesses)


def _distinct(kernel: Kernel, pair: tuple[str, str], line: int, no_alias: bool) -> Proof:
    for param in kernel.params:
        if param.name in pair and param.restrict:
            return proven(f"{param.name} is declared __restrict__", line)
    if no_alias:
        return assumed("the campaign grants that pointers do not overlap", NO_ALIAS, line)
    return doubted(f"{pair[0]} and {pair[1]} may overlap", line, NO_ALIAS)

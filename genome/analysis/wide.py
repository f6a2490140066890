"""Arrays of which the user's own text reads or writes several adjacent elements at once."""

from __future__ import annotations

from genome.ir.kernel import Kernel
from genome.ir.stmt import VectorLoad, VectorStore, flatten

APART = "the kernel as it is written accesses several elements of it at once, which the rewrite would take apart"
"""Why a rewrite of the accesses of such an array does not apply."""


def wide_arrays(kernel: Kernel) -> frozenset[str]:
    """Names of the arrays that wide accesses touch."""
    found = (stmt for stmt in flatten(kernel.prologue + kernel.whole) if isinstance(stmt, VectorLoad | VectorStore))
    return frozenset((stmt.source if isinstance(stmt, VectorLoad) else stmt.target).array for stmt in found)

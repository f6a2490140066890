"""Arrays that a kernel only reads: their loads may move freely, past barriers and stores as well."""

from __future__ import annotations

from genome.analysis.aliasing import NO_ALIAS
from genome.analysis.proof import Proof, doubted
from genome.analysis.touches import touches
from genome.ir.expr import Index, accesses, names
from genome.ir.kernel import Kernel
from genome.ir.stmt import Opaque, flatten


def written_doubt(kernel: Kernel, array: str, no_alias: bool) -> Proof | None:
    """Why the elements of an array may change while the kernel runs; None if they cannot.

    Args:
        kernel: The kernel.
        array: Any name; what is no pointer parameter may change.
        no_alias: True if the campaign grants that pointer arguments do not overlap.
    """
    param = kernel.param(array)
    if param is None or not param.pointer or "volatile" in param.ctype:
        return doubted(f"{array} is no plain argument")
    if any(isinstance(stmt, Opaque) for stmt in flatten(kernel.whole)):
        return doubted("the kernel holds a region that the engine does not see into")
    pointers = {other.name: other for other in kernel.params if other.pointer}
    written = touches(kernel.whole, frozenset(pointers)).written
    if array in written:
        return doubted(f"{array} is written by the kernel")
    apart = no_alias or param.restrict or all(pointers[name].restrict for name in written)
    return None if apart else doubted(f"{min(written)} may overlap {array}", grant=NO_ALIAS)


def steady_read(kernel: Kernel, read: Index, changing: frozenset[str], no_alias: bool) -> Proof | None:
    """Why an element may have another value, or be another one, after names change; None if it stays as it is.

    Args:
        kernel: The kernel.
        read: The element.
        changing: Variables whose values may differ.
        no_alias: True if the campaign grants that pointer arguments do not overlap.
    """
    moved = changing & set(names(read))
    if moved:
        return doubted(f"its address depends on {min(moved)}")
    doubts = (written_doubt(kernel, access.array, no_alias) for access in accesses(read))
    return next((doubt for doubt in doubts if doubt is not None), None)

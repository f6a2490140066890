"""Room for shared arrays: each for itself, or in one array that the launch sizes where they are too large for that."""

from __future__ import annotations

from dataclasses import replace

from genome.ir.kernel import Kernel
from genome.ir.stmt import Decl, Space, flatten
from genome.ir.type_sizes import shared_size, size_of
from genome.limits import STATIC_SHARED
from genome.sizes import SizeExpr
from genome.variant import Target


def shared_bytes(kernel: Kernel) -> int:
    """Bytes of the kernel's shared arrays, each of them rounded up to the alignment that it is printed with.

    The last one ends where it ends: a compiler may count fewer bytes than an alignment less.
    """
    inside = (s for s in flatten(kernel.body) if isinstance(s, Decl) and s.space is Space.SHARED)
    return sum(shared_size(decl.ctype, decl.dims) for decl in (*kernel.shared, *inside))


def roomy(kernel: Kernel, target: Target, own: SizeExpr) -> Kernel:
    """The kernel with its arrays in one that the launch sizes, where CUDA allows no arrays of constant size so large.

    A kernel that has such an array of its own (``own`` are the bytes that its launch asks for) keeps it, since all of a
    block begin at the same place; arrays of structs stay what they are.
    """
    arrays = [decl for decl in kernel.shared if decl.dims]
    known = all(size_of(decl.ctype) and 0 not in decl.dims for decl in arrays)
    if target is not Target.CUDA or shared_bytes(kernel) <= STATIC_SHARED or not known or str(own) != "0":
        return kernel
    return replace(kernel, launch_shared=sum(shared_size(decl.ctype, decl.dims) for decl in arrays))


def launched_bytes(kernel: Kernel, own: SizeExpr) -> SizeExpr:
    """Bytes that a launch asks for: those of the kernel's arrays, else ``own``, what the campaign says."""
    return SizeExpr(str(kernel.launch_shared)) if kernel.launch_shared else own


def static_bytes(kernel: Kernel) -> int:
    """Bytes of shared arrays of constant size."""
    return shared_bytes(kernel) - kernel.launch_shared

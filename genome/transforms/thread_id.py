"""The linear index of a thread in its block."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from genome.ir.expr import Expr
from genome.ir.kernel import Kernel
from genome.ir.poly import Poly, variable
from genome.ir.stmt import Decl


def with_thread_id(kernel: Kernel) -> tuple[Kernel, str]:
    """The mapped kernel with the linear thread index declared in its prologue, and the variable's name."""
    index, width = Poly(), 1
    for name, extent in kernel.threads:
        index += variable(name).scaled(width)
        width *= extent
    init = index.to_expr()
    for stmt in kernel.prologue:
        if isinstance(stmt, Decl) and stmt.name.startswith("thread_id") and stmt.init in (init, launch_index(kernel)):
            return kernel, stmt.name
    name = kernel.fresh("thread_id")
    return replace(kernel, prologue=(*kernel.prologue, Decl(name, "int", init=init, const=True))), name


def launch_index(kernel: Kernel) -> Expr:
    """The linear thread index in terms of ``threadIdx``, whatever the thread digits of the axes are."""
    index, width = Poly(), 1
    for axis in sorted(kernel.axes, key=lambda axis: axis.dim):
        index += variable(f"threadIdx.{axis.dim}").scaled(width)
        width *= axis.block_threads
    return index.to_expr()


def block_threads(kernel: Kernel) -> int:
    """Threads of a block of the mapped kernel."""
    return prod(extent for _, extent in kernel.threads)

"""Prints asynchronous copies from memory to shared arrays as CUDA's inline PTX (from compute capability 8.0)."""

from __future__ import annotations

from collections.abc import Callable

from genome.ir.async_stmt import AsyncCommit, AsyncCopy, AsyncWait
from genome.ir.print_errors import PrintError
from genome.ir.print_expr import ExprPrinter
from genome.ir.type_sizes import size_of
from genome.variant import Target

ASYNC_BYTES = (4, 8, 16)
"""What one ``cp.async`` can copy."""


def async_statement(stmt: AsyncCopy | AsyncCommit | AsyncWait, expr: ExprPrinter, element: Callable[[str], str]) -> str:
    """The statement on one line; ``element`` gives the canonical element type of an array.

    Raises:
        PrintError: In OpenCL C, which has copies of whole work groups only, and for copies of another size.
    """
    if expr.target is Target.OPENCL:
        raise PrintError("OpenCL C has no asynchronous copies of one thread")
    match stmt:
        case AsyncCommit():
            return 'asm volatile("cp.async.commit_group;" ::: "memory");'
        case AsyncWait(pending=pending):
            return f'asm volatile("cp.async.wait_group {pending};" ::: "memory");'
    count = stmt.width * size_of(element(stmt.array))
    if count not in ASYNC_BYTES:
        raise PrintError(f"there is no asynchronous copy of {count} bytes")
    # Whole lines of 16 bytes pass by the first-level cache: each element is read once a block.
    cache = "cg" if count == 16 else "ca"
    target = f"(unsigned int)__cvta_generic_to_shared(&{expr.text(stmt.target)})"
    operands = f'"r"({target}), "l"(&{expr.text(stmt.value)})'
    return f'asm volatile("cp.async.{cache}.shared.global [%0], [%1], {count};" :: {operands} : "memory");'

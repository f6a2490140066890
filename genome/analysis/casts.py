"""Casts that round: those whose operand is not known to be an integer.

Integer arithmetic looks through a cast to ``int`` or to a 64-bit type, since the value is the same; ``(int)(0.5f * n)``
is another value than ``0.5f * n``, and must be kept as it is.
"""

from __future__ import annotations

from dataclasses import replace

from genome.ir.expr import Cast, Expr, rewrite
from genome.ir.kernel import Axis, Kernel
from genome.ir.print_source import name_types
from genome.ir.stmt import map_body
from genome.ir.types import INTEGER_TYPES, infer


def mark_rounding(kernel: Kernel) -> Kernel:
    """The kernel with ``Cast.rounds`` set wherever the operand is not known to be an integer."""
    types = name_types(kernel)

    def visit(node: Expr) -> Expr:
        if isinstance(node, Cast) and infer(node.operand, types) not in INTEGER_TYPES:
            return Cast(node.ctype, node.operand, True)
        return node

    def mark(expr: Expr) -> Expr:
        return rewrite(expr, visit)

    def bounded(axis: Axis) -> Axis:
        lower, upper = (None if bound is None else mark(bound) for bound in (axis.lower, axis.upper))
        return replace(axis, lower=lower, upper=upper)

    return replace(kernel, body=map_body(kernel.body, mark), axes=tuple(bounded(axis) for axis in kernel.axes))

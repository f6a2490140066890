"""What integer arithmetic must know of types: casts that round, and products that only a variable makes 64 bits wide.

Integer arithmetic looks through a cast to ``int`` or to a 64-bit type, since the value is the same; ``(int)(0.5f * n)``
is another value than ``0.5f * n``, and must be kept as it is. In ``stride * i * j`` with a ``size_t stride`` every
product has 64 bits, which a normal form that orders its factors by name cannot tell: the variable gets a cast to its
own type, which is kept.
"""

from __future__ import annotations

from dataclasses import replace

from genome.ir.expr import Binary, Cast, Expr, rewrite
from genome.ir.kernel import Axis, Kernel
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_body
from genome.ir.types import INTEGER_TYPES, infer

_WIDE = frozenset({"long", "unsigned long", "size_t", "long long", "unsigned long long"})


def mark_rounding(kernel: Kernel) -> Kernel:
    """The kernel with ``Cast.rounds`` set wherever the operand is not known to be an integer, with the factor cast that
    widens a product, and without casts of an ``int`` to ``int``.
    """
    types = name_types(kernel)

    def widened(left: Expr, right: Expr) -> Expr | None:
        """``right`` with a cast to its own type where it alone makes a product with ``left`` 64 bits wide."""
        kind, other = infer(right, types), infer(left, types)
        narrow = other in INTEGER_TYPES - _WIDE
        return Cast(kind, right) if kind in _WIDE and narrow and not isinstance(right, Cast) else None

    def visit(node: Expr) -> Expr:
        if isinstance(node, Cast):
            kind = infer(node.operand, types)
            if kind == node.ctype == "int":
                return node.operand
            return Cast(node.ctype, node.operand, True) if kind not in INTEGER_TYPES else node
        if isinstance(node, Binary) and node.op == "*":
            left, right = widened(node.right, node.left), widened(node.left, node.right)
            if left is not None or right is not None:
                return Binary("*", left or node.left, right or node.right)
        return node

    def mark(expr: Expr) -> Expr:
        return rewrite(expr, visit)

    def bounded(axis: Axis) -> Axis:
        lower, upper = (None if bound is None else mark(bound) for bound in (axis.lower, axis.upper))
        return replace(axis, lower=lower, upper=upper)

    return replace(kernel, body=map_body(kernel.body, mark), axes=tuple(bounded(axis) for axis in kernel.axes))

"""Parallel axes: the global index ``blockIdx.d * blockDim.d + threadIdx.d`` in every usual spelling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from genome.ir.expr import Binary, Cast, Expr, Var, names, rewrite
from genome.ir.kernel import Axis
from genome.ir.stmt import Body, Decl, Opaque, expressions, flatten, map_body
from genome.ir.types import BUILTIN_INDICES, canonical

_BASES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def strip_casts(expr: Expr) -> Expr:
    """The expression without casts at its top."""
    while isinstance(expr, Cast):
        expr = expr.operand
    return expr


def index_dimension(expr: Expr) -> str | None:
    """``x`` for ``blockIdx.x * blockDim.x + threadIdx.x`` in any order and with any casts, else None."""
    terms = _terms(expr)
    found = _pair(terms)
    return found[0] if found is not None and len(terms) == 2 else None


def _terms(expr: Expr) -> list[Expr]:
    inner = strip_casts(expr)
    if isinstance(inner, Binary) and inner.op == "+":
        return _terms(inner.left) + _terms(inner.right)
    return [expr]


def _pair(terms: list[Expr]) -> tuple[str, int, int] | None:
    """(dimension, position of the thread term, position of the block term)."""
    for position, term in enumerate(terms):
        thread = strip_casts(term)
        if isinstance(thread, Var) and thread.name.startswith("threadIdx."):
            dim = thread.name[-1]
            wanted = {f"blockIdx.{dim}", f"blockDim.{dim}"}
            for other, product in enumerate(terms):
                inner = strip_casts(product)
                if isinstance(inner, Binary) and inner.op == "*":
                    factors = {part.name for part in (strip_casts(inner.left), strip_casts(inner.right))
                               if isinstance(part, Var)}  # fmt: skip
                    if factors == wanted:
                        return dim, position, other
    return None


@dataclass
class AxisFinder:
    """Collects axes while declarations are read.

    Attributes:
        fresh: Gives an unused name for an axis that the source never names.
        axes: Axes found so far, by dimension.
    """

    fresh: Callable[[str], str]
    axes: dict[str, Axis] = field(default_factory=dict)

    def declaration(self, decl: Decl, value: Expr) -> Expr | None:
        """The axis variable that stands for the declared one, or None if it is not a global index."""
        dim = index_dimension(value)
        if dim is None:
            return None
        known = self.axes.get(dim)
        ctype = canonical(decl.ctype)
        if known is None:
            self.axes[dim] = Axis(decl.name, dim, ctype=ctype)
            return Var(decl.name)
        return Var(known.name) if known.ctype == ctype else Cast(ctype, Var(known.name))

    def inline(self, body: Body) -> Body:
        """Replaces global indices that are written out in expressions."""
        return map_body(body, lambda expr: rewrite(expr, self._replace))

    def _replace(self, node: Expr) -> Expr:
        if not isinstance(node, Binary) or node.op != "+":
            return node
        terms = _plain_terms(node)
        found = _pair(terms)
        if found is None:
            return node
        dim, thread, block = found
        axis = self.axes.get(dim)
        if axis is None:
            axis = Axis(self.fresh(f"global_{dim}"), dim, ctype="unsigned int")
            self.axes[dim] = axis
        result: Expr = Var(axis.name) if axis.ctype == "unsigned int" else Cast("unsigned int", Var(axis.name))
        if isinstance(terms[thread], Cast) and isinstance(terms[block], Cast):
            result = Var(axis.name)
        for position, term in enumerate(terms):
            if position not in (thread, block):
                result = Binary("+", result, term)
        return result


def _plain_terms(expr: Expr) -> list[Expr]:
    """Terms of a sum that no cast interrupts."""
    if isinstance(expr, Binary) and expr.op == "+":
        return _plain_terms(expr.left) + _plain_terms(expr.right)
    return [expr]


def uses_builtins(body: Body) -> bool:
    """True if a launch index is left anywhere, opaque text included."""
    for stmt in flatten(body):
        if any(name in BUILTIN_INDICES for expr in expressions(stmt) for name in names(expr)):
            return True
        if isinstance(stmt, Opaque) and any(base in stmt.text for base in _BASES):
            return True
    return False

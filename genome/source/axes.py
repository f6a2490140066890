"""Parallel axes: the global index ``blockIdx.d * blockDim.d + threadIdx.d`` in every usual spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from genome.ir.expr import Binary, Cast, Expr, Var, names, rewrite
from genome.ir.kernel import Axis
from genome.ir.rewrite_stmt import map_body
from genome.ir.stmt import Body, Decl, Opaque, expressions, flatten
from genome.ir.types import BUILTIN_INDICES, INTEGER_TYPES, canonical, infer, join

_BASES = ("threadIdx", "blockIdx", "blockDim", "gridDim")

_NARROW = frozenset({"bool", "char", "signed char", "unsigned char", "short", "unsigned short"})
WIDE_INTEGERS = INTEGER_TYPES - _NARROW
"""Integer types that hold every global index."""
_MODULAR = _NARROW | {"int", "unsigned int"}


def strip_casts(expr: Expr) -> Expr:
    """The expression without casts at its top, as far as they keep every index: to integers of 32 bits or more."""
    while isinstance(expr, Cast) and canonical(expr.ctype) in WIDE_INTEGERS:
        expr = expr.operand
    return expr


def index_dimension(expr: Expr) -> str | None:
    """``x`` for ``blockIdx.x * blockDim.x + threadIdx.x`` in any order, casts that keep its value included."""
    terms = _terms(expr)
    found = _pair(terms)
    return found[0] if found is not None and len(terms) == 2 else None


def _terms(expr: Expr) -> list[Expr]:
    inner = strip_casts(expr)
    if isinstance(inner, Binary) and inner.op == "+":
        return _terms(inner.left) + _terms(inner.right)
    return [expr]


def _pair(terms: Sequence[Expr]) -> tuple[str, int, int] | None:
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
        types: Type of each name.
        axes: Axes found so far, by dimension.
    """

    fresh: Callable[[str], str]
    types: Mapping[str, str] = field(default_factory=dict)
    axes: dict[str, Axis] = field(default_factory=dict)

    def declaration(self, decl: Decl, value: Expr) -> Expr | None:
        """The axis variable that stands for the declared one, or None if it is not a global index."""
        dim = index_dimension(value)
        ctype = canonical(decl.ctype)
        if dim is None or ctype not in WIDE_INTEGERS:
            return None
        known = self.axes.get(dim)
        if known is None:
            self.axes[dim] = Axis(decl.name, dim, ctype=ctype)
            return Var(decl.name)
        return Var(known.name) if known.ctype == ctype else Cast(ctype, Var(known.name))

    def inline(self, body: Body) -> Body:
        """Replaces global indices that are written out in expressions."""
        return map_body(body, lambda expr: rewrite(expr, self._replace))

    def _replace(self, node: Expr) -> Expr:
        """A sum that holds a global index, with the axis in its place and of its type.

        The other terms keep their order. Where it changes (terms stand between the two parts of the index, or a
        bracket around some of them falls), the sum must be one of 32 bits throughout: those wrap alike in any order.
        """
        if not isinstance(node, Binary) or node.op != "+":
            return node
        terms = _spine(node)
        found = _pair(terms)
        if found is None or abs(found[1] - found[2]) != 1:
            terms = _plain_terms(node)
            found = _pair(terms)
            if found is None or not all(self._type(term) in _MODULAR for term in terms):
                return node
        dim, thread, block = found
        ctype = join(self._type(terms[thread]), self._type(terms[block]))
        first = min(thread, block)
        if ctype not in WIDE_INTEGERS:
            return node
        if first and self._type(terms[thread]) != self._type(terms[block]):
            return node  # terms in front are added at the first part's width
        placed = [term for position, term in enumerate(terms) if position not in (thread, block)]
        placed.insert(first, self._index(dim, ctype))
        result = placed[0]
        for term in placed[1:]:
            result = Binary("+", result, term)
        return result

    def _index(self, dim: str, ctype: str) -> Expr:
        """The axis of that dimension as a value of that type."""
        axis = self.axes.get(dim)
        if axis is None:
            axis = Axis(self.fresh(f"global_{dim}"), dim, ctype=ctype)
            self.axes[dim] = axis
        return Var(axis.name) if axis.ctype == ctype else Cast(ctype, Var(axis.name))

    def _type(self, expr: Expr) -> str:
        return infer(expr, {**self.types, **{axis.name: axis.ctype for axis in self.axes.values()}})


def _spine(expr: Expr) -> list[Expr]:
    """Terms of a sum in the order in which they are added."""
    if isinstance(expr, Binary) and expr.op == "+":
        return [*_spine(expr.left), expr.right]
    return [expr]


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

"""Fused sums: products join a sum one by one, each by a fused multiply-add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, rewrite, walk
from genome.ir.kernel import Kernel
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_body
from genome.ir.stmt import expressions, flatten
from genome.ir.types import FLOAT_TYPES, infer
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal


class FusedSums:
    """``x * x + y * y + e`` -> ``e + x * x + y * y``: two fused multiply-adds instead of three instructions.

    Legal under ``assume.reassociation``, which lets floating-point sums change their order. No parameters.
    Source: contraction as compilers do it, which keep the order of a sum (CUDA C++ Programming Guide).
    """

    name = "fused_sums"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One for all sums that begin with two products and go on with something else."""
        return (Site("sums", "sums"),) if _has_sums(kernel) else ()

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs ``assume.reassociation``."""
        if context.assumptions.reassociation:
            return None
        return Refusal("sums would be computed in another order", "assume.reassociation")

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Reorders every such sum."""
        types = name_types(kernel)
        return replace(kernel, body=map_body(kernel.body, lambda expr: rewrite(expr, lambda node: _fused(node, types))))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return "products are added to the rest of their sum by fused multiply-adds"


@lru_cache(maxsize=64)
def _has_sums(kernel: Kernel) -> bool:
    """True if there is a sum to reorder; few genes come before this one, so that the same kernels are asked about."""
    types = name_types(kernel)
    values = (expr for stmt in flatten(kernel.body) for expr in expressions(stmt))
    return any(_fused(node, types) is not node for value in values for node in walk(value))


def _fused(node: Expr, types: Mapping[str, str]) -> Expr:
    """The sum with its products behind the rest; the same node where that saves nothing."""
    if not isinstance(node, Binary) or node.op not in ("+", "-") or infer(node, types) not in FLOAT_TYPES:
        return node
    terms = _terms(node, 1, types)
    others = [term for term in terms if not _is_product(term[1])]
    lone = _is_product(terms[0][1]) and _is_product(terms[1][1])  # the first product has nothing to be added to
    first = next((term for term in others if term[0] > 0), None)
    if not lone or first is None or any(infer(value, types) != infer(node, types) for _, value in terms):
        return node
    others.remove(first)
    result = first[1]
    for sign, value in (*others, *(term for term in terms if _is_product(term[1]))):
        result = Binary("+" if sign > 0 else "-", result, value)
    return result


def _terms(node: Expr, sign: int, types: Mapping[str, str]) -> list[tuple[int, Expr]]:
    if isinstance(node, Binary) and node.op in ("+", "-") and infer(node, types) in FLOAT_TYPES:
        right = sign if node.op == "+" else -sign
        return _terms(node.left, sign, types) + _terms(node.right, right, types)
    return [(sign, node)]


def _is_product(term: Expr) -> bool:
    return isinstance(term, Binary) and term.op == "*"

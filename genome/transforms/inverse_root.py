"""Inverse square roots: a quotient by a root becomes one instruction."""

from __future__ import annotations

from collections.abc import Mapping

from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Call, Const, Expr
from genome.ir.kernel import Kernel
from genome.ir.print_source import name_types
from genome.ir.types import infer
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.intrinsics import every_node, fast_math_refusal, rewrite_values


class InverseRoot:
    """``1.0f / sqrtf(x)`` -> ``rsqrtf(x)``: one instruction in place of a root and a division.

    Legal under ``assume.fast_math``: the result differs in the last digit. No parameters.
    """

    name = "inverse_root"
    phase = Phase.LAUNCH
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One for all of them."""
        types = name_types(kernel)
        return (Site("roots", "roots"),) if any(_root(node, types) for node in every_node(kernel)) else ()

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs ``assume.fast_math``."""
        return fast_math_refusal(context)

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Exchanges every quotient by a root; a numerator other than one becomes a factor."""
        types = name_types(kernel)

        def visit(node: Expr) -> Expr:
            if not _root(node, types):
                return node
            assert isinstance(node, Binary) and isinstance(node.right, Call)
            inverse = Call("rsqrtf", node.right.args)
            return inverse if _is_one(node.left) else Binary("*", node.left, inverse)

        return rewrite_values(kernel, visit)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return "quotients by a square root use the inverse root"


def _root(node: Expr, types: Mapping[str, str]) -> bool:
    if not isinstance(node, Binary) or node.op != "/" or infer(node, types) != "float":
        return False
    root = node.right
    return isinstance(root, Call) and root.function in ("sqrtf", "sqrt") and infer(root, types) == "float"


def _is_one(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.text in ("1", "1.0f", "1.f", "1.0F", "1.F")

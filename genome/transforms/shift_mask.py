"""Strength reduction of indices: division of what is never negative by a power of two is a shift, its rest a mask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from genome.analysis.bounds import never_negative
from genome.analysis.scope import Scope, make_scope
from genome.conditions import sized
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Const, Expr, integer, rewrite
from genome.ir.kernel import AtLeast, Kernel
from genome.ir.poly import poly
from genome.ir.rewrite_stmt import map_body
from genome.ir.types import infer
from genome.spec import KernelSpec
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.intrinsics import every_node

_SIGNED = ("int", "long", "long long")


class ShiftMask:
    """``i / 8`` -> ``i >> 3``, ``i % 8`` -> ``i & 7`` for a signed ``i`` that is never negative.

    A compiler that does not know the sign adds three instructions to each. Legal where the ranges of threads, blocks
    and loops show the sign; what sizes have to do with it goes to the host guard. Unsigned numbers are the compiler's
    business. No parameters.
    Source: Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
    """

    name = "shift_mask"
    phase = Phase.LAUNCH
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One for all of them."""
        return (Site("powers", "powers"),) if any(_shift(node) for node in every_node(_main(kernel))) else ()

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs one whose sign is known."""
        kernel = _main(kernel)
        shown = _Signs(make_scope(kernel), context.spec)
        if any(shown.conditions(node) is not None for node in every_node(kernel)):
            return None
        return Refusal("no signed number that a power of two divides is known never to be negative")

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Rewrites those whose sign is known."""
        shown = _Signs(make_scope(_main(kernel)), context.spec)
        needed: list[AtLeast] = []

        def visit(node: Expr) -> Expr:
            conditions = shown.conditions(node)
            if conditions is None:
                return node
            assert isinstance(node, Binary)
            needed.extend(conditions)
            shift = _shift(node)
            if node.op == "/":
                return Binary(">>", node.left, integer(shift))
            return Binary("&", node.left, integer((1 << shift) - 1))

        body = map_body(kernel.body, lambda expr: rewrite(expr, visit))
        return replace(kernel, body=body).require(*needed)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return "indices are divided by powers of two with shifts and masks"


def _main(kernel: Kernel) -> Kernel:
    """The kernel without the path of blocks that are partly outside: its loops have the same names, other ranges."""
    return replace(kernel, tail=None, opening=(), closing=())


@dataclass(frozen=True)
class _Signs:
    """What is known of the signs of numbers."""

    scope: Scope
    spec: KernelSpec

    def conditions(self, node: Expr) -> tuple[AtLeast, ...] | None:
        """What makes the dividend never negative; None where nothing is known to, or nothing is to be rewritten."""
        if not isinstance(node, Binary) or not _shift(node) or infer(node, self.scope.types) not in _SIGNED:
            return None
        if infer(node.left, self.scope.types) not in _SIGNED:
            return None
        found = never_negative(poly(self.scope.resolve(node.left)), self.scope)
        return found if found is not None and all(sized(self.spec, each) for each in found) else None


def _shift(node: Expr) -> int:
    """The exponent where a power of two above one divides; else 0."""
    if not (isinstance(node, Binary) and node.op in ("/", "%") and isinstance(node.right, Const)):
        return 0
    value = node.right.value or 0
    return value.bit_length() - 1 if value > 1 and value & (value - 1) == 0 else 0

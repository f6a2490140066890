"""Intrinsics: functions and divisions of single precision by the GPU's own approximations, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Call, Expr, rewrite, walk
from genome.ir.kernel import Kernel
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_body
from genome.ir.stmt import expressions, flatten
from genome.ir.types import infer
from genome.transforms.base import Context, Params, Phase, Refusal
from genome.variant import Target

_FAST: Mapping[str, str] = {
    "expf": "__expf", "exp10f": "__exp10f", "logf": "__logf", "log2f": "__log2f", "log10f": "__log10f",
    "sinf": "__sinf", "cosf": "__cosf", "tanf": "__tanf", "powf": "__powf",
}  # fmt: skip
"""Functions -> intrinsics of a few units in the last place, in part of their range only."""
_DIVISION = "division"


class Intrinsic:
    """``expf(x)`` -> ``__expf(x)``, ``a / b`` -> ``__fdividef(a, b)``, one function of the kernel at a time.

    What ``fast_math`` does to the whole kernel, for one function only: the others keep their precision. Legal under
    ``assume.fast_math``; the verification holds the result to the tolerance. CUDA only: OpenCL C has functions of
    unknown precision in their place. No parameters.
    Source: CUDA C++ Programming Guide, "Intrinsic functions".
    """

    name = "intrinsic"
    phase = Phase.LAUNCH
    targets = frozenset({Target.CUDA})

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a function that has an intrinsic, and one for the divisions."""
        types = name_types(kernel)
        found = dict.fromkeys(name for node in every_node(kernel) if (name := _function(node, types)))
        return tuple(Site(name, name) for name in found)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs ``assume.fast_math``."""
        return fast_math_refusal(context)

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Exchanges every call of the function."""
        types = name_types(kernel)

        def visit(node: Expr) -> Expr:
            if _function(node, types) != site.label:
                return node
            if isinstance(node, Binary):
                return Call("__fdividef", (node.left, node.right))
            assert isinstance(node, Call)
            return Call(_FAST[site.label], node.args)

        return rewrite_values(kernel, visit)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return "divisions are approximate" if site.label == _DIVISION else f"{site.label} is the GPU's approximation"


def _function(node: Expr, types: Mapping[str, str]) -> str:
    """The label under which an expression may become an intrinsic; empty for others."""
    if isinstance(node, Binary):
        return _DIVISION if node.op == "/" and infer(node, types) == "float" else ""
    if not isinstance(node, Call) or infer(node, types) != "float":
        return ""
    name = node.function if node.function in _FAST else node.function + "f"
    return name if name in _FAST else ""


def every_node(kernel: Kernel) -> Iterator[Expr]:
    """Every part of every expression of the kernel."""
    for stmt in flatten(kernel.whole):
        for expr in expressions(stmt):
            yield from walk(expr)


def rewrite_values(kernel: Kernel, visit: Callable[[Expr], Expr]) -> Kernel:
    """The kernel with every part of its expressions rewritten, the guarded tail included."""

    def function(expr: Expr) -> Expr:
        return rewrite(expr, visit)

    tail = None if kernel.tail is None else map_body(kernel.tail, function)
    opening, closing = map_body(kernel.opening, function), map_body(kernel.closing, function)
    return replace(kernel, body=map_body(kernel.body, function), tail=tail, opening=opening, closing=closing)


def fast_math_refusal(context: Context) -> Refusal | None:
    """Refuses where the campaign does not grant fast-math."""
    if context.assumptions.fast_math:
        return None
    return Refusal("it changes results in the last digits", "assume.fast_math")

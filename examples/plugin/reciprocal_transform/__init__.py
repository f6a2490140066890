"""A transform of a package of its own: divisions by a value that a loop does not change become products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Const, Expr, Var, rewrite, walk
from genome.ir.kernel import Kernel
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_body, with_bodies
from genome.ir.stmt import Body, Decl, Loop, Stmt, expressions, flatten, written_names
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource


class Reciprocal:
    """``for j: y[j] = f(j) / s`` -> ``float r = 1.0f / s; for j: y[j] = f(j) * r``.

    A division costs a dozen instructions, a product one. Legal if ``s`` is a ``float`` that the loop neither declares
    nor writes. The quotient is rounded twice then: needs ``assume.reassociation``. No parameters.
    """

    name = "reciprocal"
    phase = Phase.LOOPS
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a variable that some loop divides by."""
        divisors = [name for loop in _loops(kernel) for name in _divisors(loop, kernel)]
        return tuple(Site(name, f"divisor[{number}]") for number, name in enumerate(dict.fromkeys(divisors)))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        if not any(site.label in _divisors(loop, kernel) for loop in _loops(kernel)):
            return Refusal(f"no loop divides by {site.label}, or every one of them changes it")
        if not context.assumptions.reassociation:
            return Refusal(f"quotients by {site.label} would be rounded twice", "assume.reassociation")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Puts the reciprocal in front of each outermost loop that divides by the variable."""
        source = NameSource(kernel)

        def visit(body: Body) -> Body:
            changed: list[Stmt] = []
            for stmt in body:
                if isinstance(stmt, Loop) and site.label in _divisors(stmt, kernel):
                    inverse = source.fresh(f"{site.label}_inverse")
                    changed.append(Decl(inverse, "float", init=Binary("/", Const("1.0f"), Var(site.label)), const=True))
                    changed.append(_multiplied(stmt, site.label, inverse))
                else:
                    changed.append(with_bodies(stmt, visit))
            return tuple(changed)

        return replace(kernel, body=visit(kernel.body))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"loops multiply by the reciprocal of {site.label} instead of dividing by it"


def _loops(kernel: Kernel) -> list[Loop]:
    return [stmt for stmt in flatten(kernel.body) if isinstance(stmt, Loop)]


def _divisors(loop: Loop, kernel: Kernel) -> list[str]:
    """Single-precision variables that the loop divides by and leaves as they are."""
    inside = list(flatten(loop.body))
    own = {stmt.name for stmt in inside if isinstance(stmt, Decl)} | set(written_names(loop.body)) | {loop.var}
    types = name_types(kernel)
    nodes = (node for stmt in inside for expr in expressions(stmt) for node in walk(expr))
    used = [node.right.name for node in nodes
            if isinstance(node, Binary) and node.op == "/" and isinstance(node.right, Var)]  # fmt: skip
    return [name for name in used if name not in own and types.get(name) == "float"]


def _multiplied(loop: Loop, divisor: str, inverse: str) -> Loop:
    """The loop with products in place of quotients."""

    def visit(node: Expr) -> Expr:
        match node:
            case Binary("/", left, Var(name)) if name == divisor:
                return Binary("*", left, Var(inverse))
        return node

    return replace(loop, body=map_body(loop.body, lambda expr: rewrite(expr, visit)))

"""Loop interchange: two loops that stand right inside each other change places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.effects import loop_nest
from genome.analysis.reductions import NotAReduction, find_reductions
from genome.analysis.reordering import fixed_order, outer_scalars, reordering
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Const, Expr, accesses, calls, names, walk
from genome.ir.kernel import Kernel
from genome.ir.print_source import name_types
from genome.ir.stmt import Loop, LoopRole, written_names
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.bodies import refused, replace_loop, sites_of_loops


class Interchange:
    """``for i: for j: f(i, j)`` -> ``for j: for i: f(i, j)``.

    The loop that is innermost decides which accesses follow each other, and which values stay in registers. Legal if
    nothing stands between the two loops, neither's bounds depend on the other loop or on what the body writes, and no
    two iterations (i, j) and (i', j') with i < i' and j > j' touch one element. Scalars of the nest must be sums or
    extremes; ``assume.reassociation`` allows another order of floating-point sums. No parameters.
    Source: Allen and Kennedy, "Automatic loop interchange", PLDI 1984.
    """

    name = "interchange"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop whose whole body is another loop."""
        return sites_of_loops(kernel, lambda loop: _inner(loop) is not None)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        found = loop_nest(kernel.body, site.label)
        inner = _inner(found[1]) if found is not None else None
        if found is None or inner is None:
            return Refusal(f"no loop stands right inside the one over {site.label}")
        outer = found[1]
        order = fixed_order((outer,))
        if order:
            return Refusal(order)
        refusal = _bounds(outer, inner) or _scalars(kernel, inner, context)
        return refusal or refused(reordering(kernel, context.assumptions.no_alias).interchange(outer, inner))

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Exchanges the two loops."""

        def exchanged(outer: Loop) -> tuple[Loop]:
            inner = _inner(outer)
            assert inner is not None
            return (replace(inner, body=(replace(outer, body=inner.body),)),)

        return replace_loop(kernel, site.label, exchanged)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"the loop over {site.label} changes places with the loop inside it"


def _inner(loop: Loop) -> Loop | None:
    """The one statement of the loop's body, if it is a loop of the user's as well."""
    if loop.role is not LoopRole.SEQUENTIAL or len(loop.body) != 1:
        return None
    inner = loop.body[0]
    return inner if isinstance(inner, Loop) and inner.role is LoopRole.SEQUENTIAL else None


def _bounds(outer: Loop, inner: Loop) -> Refusal | None:
    """Bounds are computed more or less often than before: their values must be the same each time."""
    changing = {outer.var, inner.var, *written_names(inner.body)}
    for loop in (outer, inner):
        for bound in (loop.lower, loop.upper):
            if changing & set(names(bound)):
                return Refusal(f"a bound of the loop over {loop.var} depends on the nest")
            if not _harmless(bound):
                return Refusal(f"a bound of the loop over {loop.var} may only be computed where its loop runs")
    return None


def _harmless(expr: Expr) -> bool:
    """True if the expression may be computed anywhere: it reads no memory, and divides by numbers only."""
    if accesses(expr) or calls(expr):
        return False
    divisors = (node.right for node in walk(expr) if isinstance(node, Binary) and node.op in ("/", "%"))
    return all(isinstance(divisor, Const) and divisor.value for divisor in divisors)


def _scalars(kernel: Kernel, inner: Loop, context: Context) -> Refusal | None:
    types = name_types(kernel)
    try:
        reductions = find_reductions(inner.body, outer_scalars(inner.body), types)
    except NotAReduction as error:
        return Refusal(str(error))
    for reduction in reductions:
        if not reduction.exact(types.get(reduction.name, "")) and not context.assumptions.reassociation:
            return Refusal(f"the sum in {reduction.name} would be reordered", "assume.reassociation")
    return None

"""Size specialisation: a scalar parameter becomes a constant, behind a host-side guard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.genes import ParamValue, Site
from genome.ir.expr import Const, Expr, Var, integer, substitute
from genome.ir.kernel import Axis, Equals, Kernel
from genome.ir.rewrite_stmt import substitute_body
from genome.ir.stmt import Opaque, flatten, written_names
from genome.ir.types import canonical
from genome.sizes import SizeExpr
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal

_SUFFIXES = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "size_t": "ul", "long long": "ll",
             "unsigned long long": "ull"}  # fmt: skip
"""How a literal of the type ends: arithmetic with it must stay in the parameter's type."""


class Specialise:
    """``for k < K`` -> ``for k < 512``, guarded on the host by ``K == 512``; the baseline runs at other values.

    Legal because of the guard. One size of the campaign stays free, so that the variant can be checked at sizes other
    than the tuned ones; only where the kernel is compiled for one size may all be fixed. Parameters: ``value`` of the
    scalar parameter, one of those of the tuned sizes.
    """

    name = "specialise"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an integer scalar parameter; none where the body stays text."""
        if kernel.verbatim:
            return ()
        scalars = [param for param in kernel.params if not param.pointer and canonical(param.ctype) in _SUFFIXES]
        return tuple(Site(param.name, f"scalar[{number}]") for number, param in enumerate(scalars))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """The parameter's value where all tuned sizes agree on it; otherwise the guard would send most of them to the
        baseline.
        """
        arg = context.spec.arg(site.label)
        if arg is None or not isinstance(arg.value, SizeExpr):
            return {"value": ()}
        values = {arg.value.evaluate(size.env) for size in context.spec.sizes}
        return {"value": tuple(values) if len(values) == 1 else ()}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """The value must be an integer of the tuned sizes, and no opaque region may use the parameter."""
        arg = context.spec.arg(site.label)
        if arg is None or not isinstance(arg.value, SizeExpr):
            return Refusal(f"{site.label} is not given as an expression of sizes")
        if params.get("value") not in {arg.value.evaluate(size.env) for size in context.spec.sizes}:
            return Refusal(f"{params.get('value')} is not the value of {site.label} at a tuned size")
        if any(isinstance(s, Opaque) and site.label in (*s.reads, *s.writes) for s in flatten(kernel.body)):
            return Refusal(f"a region that the engine does not see into uses {site.label}")
        if site.label in written_names(kernel.body):
            return Refusal(f"the kernel changes {site.label}")
        if context.spec.check_sizes and not _free_sizes(kernel, arg.value, context):
            return Refusal("every size would be fixed: the variant could be checked at the tuned sizes alone")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Substitutes the value in bounds and body."""
        param, number = kernel.param(site.label), int(params["value"])
        assert param is not None
        suffix = _SUFFIXES[canonical(param.ctype)]
        value = Const(f"{number}{suffix}") if suffix and number >= 0 else integer(number)
        values: dict[str, Expr] = {site.label: value}

        def bound(expr: Expr | None) -> Expr | None:
            return None if expr is None else substitute(expr, values)

        axes: tuple[Axis, ...] = tuple(
            replace(axis, lower=bound(axis.lower), upper=bound(axis.upper)) for axis in kernel.axes
        )
        body = substitute_body(kernel.body, values)
        return replace(kernel, axes=axes, body=body).require(Equals(Var(site.label), number))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"compiled for {site.label} = {params['value']} (other values run the original kernel)"


def _free_sizes(kernel: Kernel, value: SizeExpr, context: Context) -> set[str]:
    """Names of sizes that neither this value nor an earlier one fixes."""
    fixed = set(value.names)
    for condition in kernel.conditions:
        if isinstance(condition, Equals) and isinstance(condition.expr, Var):
            arg = context.spec.arg(condition.expr.name)
            fixed |= set(arg.value.names) if arg is not None and isinstance(arg.value, SizeExpr) else set()
    return {name for size in context.spec.sizes for name in size.env} - fixed

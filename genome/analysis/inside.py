"""Reads that lie inside an array whatever their threads' conditions say: the campaign gives the array's extent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from genome.analysis.bounds import never_negative
from genome.analysis.scope import Scope
from genome.conditions import size_condition
from genome.ir.expr import Index
from genome.ir.kernel import AtLeast, Holds
from genome.ir.poly import Poly, constant, poly, variable
from genome.sizes import ExpressionError, SizeExpr
from genome.spec import ArgSpec, KernelSpec

_EXTENT = "extent of the array"  # no C name, so it cannot be one of the kernel's


def always_inside(access: Index, scope: Scope, spec: KernelSpec) -> tuple[Holds, ...] | None:
    """Conditions on sizes under which the index is inside its array for all values of axes and loops; None if no such
    are known, or they do not hold at a tuned size.

    Conditions of the body around the access are not looked at: it may then be read where they are false.

    Args:
        access: An element of a parameter.
        scope: Of the kernel, its axes still open.
        spec: Gives the array's extents and the sizes that are tuned.
    """
    if len(access.subscripts) != 1:
        return None
    index = Poly(poly(scope.resolve(access.subscripts[0])).terms)
    return span_inside(access.array, index, index, scope, spec)


def span_inside(array: str, first: Poly, last: Poly, scope: Scope, spec: KernelSpec) -> tuple[Holds, ...] | None:
    """Conditions on sizes under which all elements from ``first`` to ``last`` are inside an array; None as above.

    Args:
        array: A parameter.
        first: Lowest index, in terms of names that the scope leaves as they are.
        last: Highest index, likewise.
        scope: Of the kernel.
        spec: Gives the array's extents and the sizes that are tuned.
    """
    arg = spec.arg(array)
    if arg is None or arg.is_scalar:
        return None
    below = never_negative(first, scope)
    above = never_negative(variable(_EXTENT) - constant(1) - last, scope)
    if below is None or above is None:
        return None
    extent = SizeExpr(" * ".join(f"({axis})" for axis in arg.shape))
    try:
        found = _on_sizes((*below, *above), extent, spec)
        holds = all(each.condition.evaluate(size.env) for each in found for size in spec.sizes)
    except ExpressionError:
        return None
    return found if holds else None


def _on_sizes(conditions: Iterable[AtLeast], extent: SizeExpr, spec: KernelSpec) -> tuple[Holds, ...]:
    known = replace(spec, args=(*spec.args, ArgSpec(_EXTENT, "int64", value=extent)))
    sizes = (size_condition(known, condition) for condition in dict.fromkeys(conditions))
    return tuple(Holds(condition) for condition in sizes if condition is not None)

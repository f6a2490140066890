"""Floating-point operations of a kernel, counted in its loop IR: where the roofline places it.

An estimate: a condition counts as if its dearer side were taken, a loop whose trips only the run can tell not at all.
No measurement may be refused by it.
"""

from __future__ import annotations

from genome.analysis.scope import make_scope
from genome.analysis.trips import summed_over
from genome.analysis.work import work_of
from genome.ir.expr import Const
from genome.ir.poly import Poly, constant, poly
from genome.replay import spec_kernel
from genome.sizes import SizeExpr
from genome.spec import KernelSpec, ProblemSize


def flops(spec: KernelSpec, size: ProblemSize) -> float:
    """Floating-point operations of one call at this size; 0 where the kernel is not understood.

    Raises:
        SourceError: If the kernel cannot be parsed.
    """
    kernel = spec_kernel(spec)
    if not kernel.axes:
        return 0.0
    scope = make_scope(kernel)
    count = work_of(scope).flops
    for axis in kernel.axes:
        extent = spec.launch.domain["xyz".index(axis.dim)].evaluate(size.env)
        lower = poly(scope.resolve(axis.lower or Const("0")))
        upper = constant(extent) if axis.upper is None else poly(scope.resolve(axis.upper))
        summed = summed_over(count, axis.name, Poly(lower.terms), Poly(upper.terms))
        if summed is None:
            return 0.0
        count = summed
    total = count.at(_values(spec, size), unknown=0)
    return max(0.0, float(total)) if total is not None else 0.0


def _values(spec: KernelSpec, size: ProblemSize) -> dict[str, int]:
    """Scalar arguments at this size."""
    given = {arg.name: arg.value for arg in spec.args if arg.is_scalar}
    return {name: value.evaluate(size.env) if isinstance(value, SizeExpr) else int(value or 0)
            for name, value in given.items()}  # fmt: skip

"""Unroll and jam: several iterations of an outer loop run together through its inner loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.dependence import FissionError, fission
from genome.analysis.effects import loop_nest
from genome.analysis.reordering import fixed_order, outer_scalars, reordering
from genome.genes import ParamValue, Site
from genome.ir.kernel import Kernel
from genome.ir.stmt import Loop, LoopRole, flatten
from genome.transforms.base import Context, Params, Phase, Refusal
from genome.transforms.bodies import refused, replace_loop, sites_of_loops
from genome.transforms.strip import SplitLoop

_MOST = 8  # iterations: each needs registers of its own


class UnrollJam(SplitLoop):
    """``for o { s = 0; for k: s += f(o, k); y(o) = s; }`` -> ``for o step 2 { for k { s[0] += ..; s[1] += ..; } }``.

    What does not depend on ``o`` is then loaded once for several iterations. Legal if no two iterations of the loop
    touch one element and none leaves a scalar behind: they are independent, as threads are, and their private variables
    get a copy each (see ``RegisterTile``). Parameters: ``factor`` iterations, 2 to 8.
    Source: Callahan, Cocke and Kennedy, "Estimating interlock and improving balance for pipelined architectures", 1988.
    """

    name = "unroll_jam"
    phase = Phase.NORMALISE

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop with another one inside."""
        return sites_of_loops(kernel, _is_outer)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two below the trip count."""
        found = loop_nest(kernel.body, site.label)
        trip = None if found is None else found[1].trip
        return {"factor": tuple(n for n in (2, 4, 8) if trip is None or n <= trip)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        found = loop_nest(kernel.body, site.label)
        if found is None or not _is_outer(found[1]):
            return Refusal(f"no loop over {site.label} has another one inside")
        factor = params.get("factor")
        if not isinstance(factor, int) or not 2 <= factor <= _MOST:
            return Refusal(f"2 to {_MOST} iterations run together")
        loop = found[1]
        order = fixed_order((loop,))
        if order:
            return Refusal(order)
        left = outer_scalars(loop.body)
        if left:
            return Refusal(f"{left[0]} is carried from one iteration to the next")
        refusal = super().check(kernel, site, params, context)
        refusal = refusal or refused(reordering(kernel, context.assumptions.no_alias).independent(loop))
        if refusal is not None:
            return refusal
        try:
            self.apply(kernel, site, params, context)
        except FissionError as error:
            return Refusal(str(error))
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Strips the loop, and distributes each strip over the statements of its body."""
        outer = kernel.fresh(f"{site.label}_outer")

        def jam(main: Loop) -> tuple[Loop]:
            (strip,) = main.body
            assert isinstance(strip, Loop)
            together = replace(strip, role=LoopRole.INSTANCE, body=())
            return (replace(main, body=fission(strip.body, (together,))),)

        return replace_loop(super().apply(kernel, site, params, context), outer, jam)

    def _inner_unroll(self) -> int | None:
        return 0

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{params['factor']} iterations of the loop over {site.label} run together through the loops inside"


def _is_outer(loop: Loop) -> bool:
    return loop.role is LoopRole.SEQUENTIAL and any(isinstance(stmt, Loop) for stmt in flatten(loop.body))

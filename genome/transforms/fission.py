"""Loop fission: a loop becomes two, each with a part of its body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.effects import loop_nest
from genome.analysis.reordering import fixed_order, handed_on, reordering
from genome.genes import ParamValue, Site
from genome.ir.kernel import Kernel
from genome.ir.stmt import Body, Loop, LoopRole
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.bodies import refused, replace_loop, sites_of_loops
from genome.transforms.strip import renamed, steady_bounds


class Fission:
    """``for i { A; B; }`` -> ``for i { A; } for i { B; }``.

    Each loop then has fewer arrays and registers of its own, and takes its own genes. Legal if no iteration of ``B``
    touches what ``A`` does in a later one, no private value goes from one part to the other, and the bounds keep their
    values. Parameters: ``at``, the statement of the body with which ``B`` begins.
    Source: Allen and Kennedy, "Optimizing Compilers for Modern Architectures", 5.5.
    """

    name = "fission"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop with several statements."""
        return sites_of_loops(kernel, lambda loop: loop.role is LoopRole.SEQUENTIAL and len(loop.body) > 1)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Every statement but the first."""
        found = loop_nest(kernel.body, site.label)
        return {"at": tuple(range(1, len(found[1].body))) if found is not None else ()}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        found, at = loop_nest(kernel.body, site.label), params.get("at")
        if found is None or not isinstance(at, int) or not 0 < at < len(found[1].body):
            return Refusal("there is no such loop or statement")
        loop = found[1]
        if loop.role is not LoopRole.SEQUENTIAL:
            return Refusal(f"the loop over {loop.var} is a part of another one")
        return split_refusal(kernel, loop, at, context)

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Puts the second part into a loop of its own."""
        at = int(params["at"])

        def split(loop: Loop) -> Body:
            first, second = replace(loop, body=loop.body[:at]), replace(loop, body=loop.body[at:])
            return (first, *renamed((second,), kernel.fresh, "after"))

        return replace_loop(kernel, site.label, split)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"the loop over {site.label} is split in two behind its statement {params['at']}"


def split_refusal(kernel: Kernel, loop: Loop, at: int, context: Context) -> Refusal | None:
    """Why the two parts of a loop's body may not run one behind the other instead of in turns, or None."""
    order = fixed_order((loop,))
    if order:
        return Refusal(order)
    tied = handed_on(loop.body[:at], loop.body[at:])
    if tied:
        return Refusal(f"{tied} ties the parts of an iteration together")
    steady = steady_bounds(kernel, loop, context)
    return steady or refused(reordering(kernel, context.assumptions.no_alias).distributed(loop, at))

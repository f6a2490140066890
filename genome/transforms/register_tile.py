"""Register tile: the instances of a thread are jammed into the loops of the body, with private accumulators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.dependence import FissionError, fission
from genome.genes import ParamValue, Site
from genome.ir.kernel import Kernel
from genome.ir.stmt import Body, Decl, Loop, LoopRole
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal


class RegisterTile:
    """``for i { s = 0; for k s += a(i,k); y[i] = s; }`` -> ``s[I]; for i s[i] = 0; for k for i s[i] += a(i,k); ...``.

    Values that several instances share are then loaded once for all of them. Legal because instances were threads;
    loops whose bounds differ between instances stay inside. Needs coarsening genes; no parameters.
    Source: unroll-and-jam with scalar expansion (Allen and Kennedy, "Optimizing Compilers", 8.4).
    """

    name = "register_tile"
    phase = Phase.JAM
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One, where a thread has several instances."""
        return (Site("instances", "instances"),) if _instance_nest(kernel.body)[0] else ()

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Refuses where fission does."""
        loops, body = _instance_nest(kernel.body)
        if not loops:
            return Refusal("each thread computes one instance: coarsen first")
        try:
            fission(body, loops, _scalars(kernel), _accumulators(kernel))
        except FissionError as error:
            return Refusal(str(error))
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Distributes the instance loops over the body."""
        loops, body = _instance_nest(kernel.body)
        return replace(kernel, body=fission(body, loops, _scalars(kernel), _accumulators(kernel)))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return "the elements of a thread are computed together, in registers, sharing what they load"


def _scalars(kernel: Kernel) -> frozenset[str]:
    return frozenset(param.name for param in kernel.params if not param.pointer)


def _accumulators(kernel: Kernel) -> frozenset[str]:
    """Private sums that stand around the instances."""
    return frozenset(stmt.name for stmt in kernel.opening if isinstance(stmt, Decl))


def _instance_nest(body: Body) -> tuple[tuple[Loop, ...], Body]:
    loops: list[Loop] = []
    while len(body) == 1 and isinstance(body[0], Loop) and body[0].role is LoopRole.INSTANCE:
        loops.append(body[0])
        body = body[0].body
    return tuple(loops), body

"""Block-per-row: the threads of a block (or of a warp) share the work of one instance of an axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import prod

from genome.analysis.effects import TOGETHER, self_contained
from genome.analysis.iterations import SharingError
from genome.conditions import sized
from genome.genes import ParamValue, Site
from genome.ir.expr import Var
from genome.ir.kernel import Condition, Kernel, Lanes
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.group_reduce import WARP, Group
from genome.transforms.sharing import share
from genome.transforms.sites import axis_sites
from genome.variant import Target


class Cooperate:
    """``r = block*T + t; for j < C: s += x[r, j]`` -> ``r = block; for j = lane.. step T: p += x[r, j]; s = total``.

    In full, for every outermost loop whose iterations are independent but for recognised reductions::

        for j < C: s += f(j)   ->   p = 0; for o: for v < V: p += f((o*T + lane)*V + v); for rest: p += f(j);
                                    combine p over the lanes (shuffles on CUDA, two shared levels on OpenCL); s += p
        for j < C: y[j] = g(j) ->   the same digits
        a = h(s); z[r] = a;    ->   a = h(s); if (lane == 0) z[r] = a;

    The block then holds one instance of the axis; a later block shape puts several of them (a warp each, say) into it.
    Legal if in each shared loop every iteration stores to elements of its own, no scalar is carried but reductions of
    sums, products, extremes or bits, and bounds do not change; where lanes exchange elements through memory a barrier
    is put, at points that the whole block reaches. Sums of floating-point numbers are reordered where that is granted;
    else each lane computes them whole.
    Needs: ``assume.reassociation`` where no other loop is left to share, ``assume.no_alias`` where a shared loop stores
    what may overlap.
    Parameters: ``threads`` 32 to 1024 that share an instance; ``inner`` adjacent iterations of a lane (for vectors).
    Source: Harris, "Optimizing parallel reduction in CUDA", 2007.
    """

    name = "cooperate"
    phase = Phase.MAPPING
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """The axis on x."""
        return tuple(site for site in axis_sites(kernel) if site.role == "parallel.x")

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two."""
        most = min(context.limits.max_threads, context.limits.max_block[0])
        inner = (1, 2, 4, 8) if context.target is Target.OPENCL else (1, 2, 4)
        return {"threads": tuple(n for n in (32, 64, 128, 256, 512, 1024) if n <= most), "inner": inner}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        axis, threads, inner = kernel.axis(site.label), params.get("threads"), params.get("inner", 1)
        if axis is None or axis.dim != "x":
            return Refusal("lanes must be neighbours in a warp: the axis has to lie on x")
        if not self_contained(kernel):
            return Refusal(TOGETHER)
        if not isinstance(threads, int) or threads < WARP or threads & (threads - 1) or not isinstance(inner, int):
            return Refusal("an instance is shared by a power of two of threads, at least 32")
        if inner not in (1, 2, 4, 8):
            return Refusal("a lane takes 1, 2, 4 or 8 adjacent iterations")
        if any(other.outer * other.inner > 1 for other in kernel.axes):
            return Refusal("a thread that has several instances cannot share them")
        others = prod(other.block_threads for other in kernel.axes if other is not axis)
        if threads * others > context.limits.max_threads or threads > context.limits.max_block[0]:
            return Refusal(f"a block of {threads * others} threads is over the limit of {context.limits.max_threads}")
        plain = replace(kernel, axes=tuple(replace(other, threads=0, lanes=None) for other in kernel.axes))
        relied = _trial(plain, _lanes(params, context))
        if isinstance(relied, Refusal):
            return relied
        for condition in relied:
            if not sized(context.spec, condition):
                return Refusal("what it relies on is not an expression of sizes, so the host cannot check it")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Sets the lane digit; the mapping divides the body once all digits are known."""
        axis = kernel.axis(site.label)
        assert axis is not None
        return kernel.with_axis(replace(axis, threads=1, lanes=_lanes(params, context)))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        inner = int(params.get("inner", 1))
        wide = f", each taking {inner} adjacent iterations" if inner > 1 else ""
        return f"{params['threads']} threads share the loops of each {site.label}{wide}"


def _lanes(params: Params, context: Context) -> Lanes:
    return Lanes(
        threads=int(params["threads"]),
        inner=int(params.get("inner", 1)),
        shuffle=context.target is Target.CUDA,
        no_alias=context.assumptions.no_alias,
        exact=not context.assumptions.reassociation,
    )


@lru_cache(maxsize=64)
def _trial(kernel: Kernel, lanes: Lanes) -> tuple[Condition, ...] | Refusal:
    """What sharing the body relies on, found by doing it with stand-in names; digits of the axes do not matter."""
    lane = kernel.fresh("lane")
    try:
        return share(kernel, lanes, lane, Group(Var(lane), lanes.threads, shuffle=lanes.shuffle)).conditions
    except SharingError as error:
        return Refusal(str(error), error.grant)

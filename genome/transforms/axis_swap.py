"""Axis remap: two parallel axes exchange the launch dimensions that carry them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.effects import TOGETHER, self_contained
from genome.genes import ParamValue, Site
from genome.ir.kernel import Kernel
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.sites import axis_sites


class AxisSwap:
    """``row <- y, col <- x`` becomes ``row <- x, col <- y``.

    Legal because the body sees the axes only through their global indices. It changes which accesses of neighbouring
    threads are adjacent. The site is the axis that takes ``threadIdx.x``; each axis keeps its number of threads.
    """

    name = "axis_swap"
    phase = Phase.MAPPING
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """The axes that are not carried by x, where there are two or more."""
        return tuple(site for site in axis_sites(kernel) if site.role != "parallel.x")

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs another axis on x."""
        if kernel.axis(site.label) is None or all(axis.dim != "x" for axis in kernel.axes):
            return Refusal("there is no axis on x to exchange with")
        if not self_contained(kernel):
            return Refusal(TOGETHER)
        if any(axis.lanes for axis in kernel.axes):
            return Refusal("threads that share an instance must stay neighbours in their warp")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Exchanges the dimensions of the two axes."""
        mine = kernel.axis(site.label)
        other = next(axis for axis in kernel.axes if axis.dim == "x")
        assert mine is not None
        kernel = kernel.with_axis(replace(mine, dim="x", source_dim=mine.domain_dim))
        return kernel.with_axis(replace(other, dim=mine.dim, source_dim=other.domain_dim))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"neighbouring threads (threadIdx.x) run along {site.label}"

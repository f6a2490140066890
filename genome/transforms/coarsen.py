"""Thread coarsening: a thread computes several elements of a parallel axis, adjacent or strided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from genome.analysis.effects import TOGETHER, self_contained
from genome.genes import ParamValue, Site
from genome.ir.kernel import Axis, Kernel
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.sites import axis_sites

_FACTORS = (2, 4, 8, 16, 32)
_MOST_INSTANCES = 256


class _Coarsen(ABC):
    phase = Phase.MAPPING
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a parallel axis."""
        return axis_sites(kernel)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two."""
        return {"factor": _FACTORS}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Refuses unknown axes and more than 256 instances a thread (registers and compile time explode)."""
        axis = kernel.axis(site.label)
        factor = params.get("factor")
        if axis is None or not isinstance(factor, int) or factor < 2:
            return Refusal("there is no such axis or factor")
        if any(other.lanes for other in kernel.axes):
            return Refusal("several threads share an instance: give the block more of them instead")
        if not self_contained(kernel):
            return Refusal(TOGETHER)
        instances = prod(other.outer * other.inner for other in self.apply(kernel, site, params, context).axes)
        if instances > _MOST_INSTANCES:
            return Refusal(f"{instances} instances a thread are more than {_MOST_INSTANCES}")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Sets the instance digit of the axis."""
        axis = kernel.axis(site.label)
        assert axis is not None
        return kernel.with_axis(self._set(axis, int(params["factor"])))

    @abstractmethod
    def _set(self, axis: Axis, factor: int) -> Axis:
        """The axis with its instance digit set."""


class CoarsenBlocked(_Coarsen):
    """``x = block*T + t`` -> ``x = (block*T + t) * factor + v``, v in 0..factor.

    Legal because the instances were independent threads. Parameters: ``factor`` adjacent elements a thread.
    Source: Volkov, "Better performance at lower occupancy", GTC 2010.
    """

    name = "coarsen_blocked"

    def _set(self, axis: Axis, factor: int) -> Axis:
        return replace(axis, inner=factor)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"each thread computes {params['factor']} adjacent elements along {site.label}"


class CoarsenStrided(_Coarsen):
    """``x = block*T + t`` -> ``x = (block*factor + o)*T + t``, o in 0..factor.

    Legal because the instances were independent threads; neighbouring threads stay neighbours in memory.
    Parameters: ``factor`` elements a thread, a block's width apart.
    """

    name = "coarsen_strided"

    def _set(self, axis: Axis, factor: int) -> Axis:
        return replace(axis, outer=factor)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"each thread computes {params['factor']} elements along {site.label}, one block width apart"

"""Grid-stride loop: a bounded grid whose blocks step over an axis of any length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.effects import TOGETHER, self_contained
from genome.genes import ParamValue, Site
from genome.ir.kernel import Kernel
from genome.ir.stmt import Opaque, flatten
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.sites import axis_sites
from genome.variant import Target

_UNITS = {Target.CUDA: 128, Target.OPENCL: 8}
_MOST = 1024  # blocks a unit: more than any device holds at once


class GridStride:
    """``x = block*T + t`` -> ``for (b = block; b*T < n; b += grid) x = b*T + t``, the grid capped at k blocks a unit.

    A block's shared memory, its private sums and whatever it computes once are then used for many elements. Legal
    because instances were independent threads and every block of the original grid is visited by one block; the bound
    must be one that the kernel's own guard enforces. Parameters: ``blocks`` for each multiprocessor (compute unit),
    1 to 32; where the device does not tell how many it has, a typical number stands in.
    Source: Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops", 2013.
    """

    name = "grid_stride"
    phase = Phase.MAPPING
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a parallel axis."""
        return axis_sites(kernel)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two."""
        return {"blocks": (1, 2, 4, 8, 16, 32)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        axis, blocks = kernel.axis(site.label), params.get("blocks")
        if axis is None or not isinstance(blocks, int) or not 1 <= blocks <= _MOST:
            return Refusal("there is no such axis or number of blocks")
        if axis.upper is None:
            return Refusal(f"the kernel does not say where {site.label} ends")
        if not self_contained(kernel):
            return Refusal(TOGETHER)
        if any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body)):
            return Refusal("the body holds a region that the engine does not see into")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Caps the blocks along the axis."""
        axis = kernel.axis(site.label)
        assert axis is not None
        units = context.limits.units or _UNITS[context.target]
        return kernel.with_axis(replace(axis, most_blocks=units * int(params["blocks"])))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"at most {params['blocks']} blocks a multiprocessor, which step over {site.label}"

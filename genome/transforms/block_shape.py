"""Block shape: how many threads of a block lie along a parallel axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.genes import ParamValue, Site
from genome.ir.kernel import Kernel
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.sites import axis_sites

_VALUES = {"x": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), "y": (1, 2, 4, 8, 16, 32, 64), "z": (1, 2, 4, 8, 16)}


class BlockShape:
    """``block.x = 16`` -> ``block.x = threads``.

    Legal wherever the index map was understood: the body sees the axis only through the global index.
    Parameters: ``threads`` of the axis, 1 to 1024; the product over axes is checked against the device's limit.
    """

    name = "block_shape"
    phase = Phase.MAPPING
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a parallel axis."""
        return axis_sites(kernel)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two; the current shape is left out."""
        axis = kernel.axis(site.label)
        if axis is None:
            return {}
        limit = context.limits.max_block["xyz".index(axis.dim)]
        return {"threads": tuple(n for n in _VALUES[axis.dim] if n <= limit and n != axis.threads)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Refuses shapes that the device cannot launch along this dimension."""
        axis = kernel.axis(site.label)
        threads = params.get("threads")
        if axis is None or not isinstance(threads, int) or threads < 1:
            return Refusal("there is no such axis or thread count")
        if threads > context.limits.max_block["xyz".index(axis.dim)]:
            return Refusal(f"the device takes at most {context.limits.max_block} threads along x, y, z")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Sets the thread digit of the axis."""
        axis = kernel.axis(site.label)
        assert axis is not None
        return kernel.with_axis(replace(axis, threads=int(params["threads"])))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{params['threads']} threads of a block along {site.label}"

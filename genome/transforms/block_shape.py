"""Block shape: how many threads of a block lie along a parallel axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from genome.analysis.effects import TOGETHER, self_contained
from genome.genes import ParamValue, Site
from genome.ir.kernel import Kernel
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.sites import block_sites

_VALUES = {"x": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), "y": (1, 2, 4, 8, 16, 32, 64), "z": (1, 2, 4, 8, 16)}


class BlockShape:
    """``block.x = 16`` -> ``block.x = threads``.

    Legal wherever the index map was understood and threads do not work together: the body sees the axis only through
    the global index. Elsewhere it is offered if the campaign gives a domain and the kernel neither shares memory nor
    synchronises.
    Parameters: ``threads`` of the axis, 1 to 1024; the product over axes is checked against the device's limit.
    """

    name = "block_shape"
    phase = Phase.MAPPING
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a parallel axis; one a launch dimension where the index map was not understood."""
        return block_sites(kernel)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two that fit beside the other axes' threads; the current shape is left out."""
        dim = _dim(kernel, site)
        current = _threads(kernel, site)
        others = prod(axis.block_threads for axis in kernel.axes) if kernel.axes else prod(kernel.block or (1,))
        most = context.limits.max_threads * max(1, current) // max(1, others)
        limit = min(most, context.limits.max_block["xyz".index(dim)])
        return {"threads": tuple(n for n in _VALUES[dim] if n <= limit and n != current)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Refuses shapes that the device cannot launch along this dimension."""
        threads = params.get("threads")
        if not isinstance(threads, int) or threads < 1:
            return Refusal("threads must be a positive number")
        axis = kernel.axis(site.label)
        if axis is not None and not self_contained(kernel):
            return Refusal(TOGETHER)
        lanes = axis.lanes.threads if axis is not None and axis.lanes else 1
        if threads * lanes > context.limits.max_block["xyz".index(_dim(kernel, site))]:
            return Refusal(f"the device takes at most {context.limits.max_block} threads along x, y, z")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Sets the thread digit of the axis, or the launch's own block."""
        axis, threads = kernel.axis(site.label), int(params["threads"])
        if axis is not None:
            return kernel.with_axis(replace(axis, threads=threads))
        assert kernel.block is not None
        x, y, z = (threads if dim == _dim(kernel, site) else old for dim, old in zip("xyz", kernel.block, strict=True))
        return replace(kernel, block=(x, y, z))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{params['threads']} threads of a block along {site.label}"


def _dim(kernel: Kernel, site: Site) -> str:
    axis = kernel.axis(site.label)
    return axis.dim if axis is not None else site.label.removeprefix("block.")


def _threads(kernel: Kernel, site: Site) -> int:
    axis = kernel.axis(site.label)
    if axis is not None:
        return axis.threads
    return 0 if kernel.block is None else kernel.block["xyz".index(_dim(kernel, site))]

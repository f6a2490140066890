"""Streams: kernels that run once over their elements, to update few addresses or to store them turned."""

from __future__ import annotations

import numpy as np

from operators.base import AgentContext
from operators.choice import Want, pick
from operators.recipe import Recipe, around


def gathered(
    key: str, threads: int, blocks: int, inner: int, strided: int = 1, second: int = 0, **values: int
) -> Recipe:
    """Few blocks that stride over the axis, ``inner`` adjacent elements a thread ``strided`` times, one update a block.

    ``key`` is the transform that makes one update of many, with its ``values``. With ``second``, a launch of as many
    threads adds up what the blocks found.
    """
    apart = (Want("coarsen_strided", "parallel.x", {"factor": strided}),) if strided > 1 else ()
    return around(
        key,
        Want("block_shape", "parallel.x", {"threads": threads}),
        Want("grid_stride", "parallel.x", {"blocks": blocks}),
        Want("coarsen_blocked", "parallel.x", {"factor": inner}),
        *apart,
        Want(key, values=values),
        *((Want("two_stages", values={"threads": second}),) if second else ()),
        Want("register_tile"),
        Want("restrict"),
        Want("vectorise", values={"width": inner}),
    )


def random_gathered(context: AgentContext, rng: np.random.Generator) -> tuple[Recipe, str]:
    """One update a block where all threads update one address."""
    blocks, inner = int(pick(rng, (2, 4, 8, 16, 32))), int(pick(rng, (4, 4, 8, 16)))
    threads, strided, second = (int(pick(rng, some)) for some in ((128, 256, 256, 512), (1, 1, 2, 4), (0, 0, 256, 512)))
    shape = gathered("cascade", threads, blocks, inner, strided, second)
    return shape, f"one update a block, {blocks} blocks a multiprocessor"


def random_bins(context: AgentContext, rng: np.random.Generator) -> tuple[Recipe, str]:
    """Bins of a block's own where addresses are scattered."""
    copies = int(pick(rng, (1, 2, 4, 4, 8)))
    threads, blocks = int(pick(rng, (128, 128, 256, 512))), int(pick(rng, (2, 4, 4, 8, 16)))
    shape = gathered(
        "privatise", threads, blocks, int(pick(rng, (4, 8, 16, 16))), int(pick(rng, (1, 2, 4))), copies=copies
    )
    return shape, f"bins of a block's own, {copies} copies"


def transposed(threads: int, tile: int, width: int, pad: int = 1) -> Recipe:
    """A square tile whose elements are read and stored along rows, ``width`` at a time."""
    return around(
        "transpose_tile",
        Want("block_shape", "parallel.x", {"threads": tile // width}),
        Want("block_shape", "parallel.y", {"threads": threads * width // tile}),
        Want("coarsen_blocked", "parallel.x", {"factor": width}),
        Want("coarsen_strided", "parallel.y", {"factor": tile * tile // width // threads}),
        Want("transpose_tile", values={"pad": pad, "width": width}),
        Want("restrict"),
        Want("vectorise", values={"width": width}),
    )


def random_transposed(context: AgentContext, rng: np.random.Generator) -> tuple[Recipe, str]:
    """Turned stores through a tile of 32 or 64."""
    tile, width = int(pick(rng, (32, 64, 64))), int(pick(rng, (2, 4, 4)))
    threads = int(pick(rng, [count for count in (64, 128, 256, 512) if tile * tile // width >= 2 * count]))
    return transposed(threads, tile, width), f"stores turned in a shared tile of {tile}"

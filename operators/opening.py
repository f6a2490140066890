"""The opening book: composite genomes that are worth one measurement on any kernel, before anything is learnt.

They name roles and transforms only, never kernels. A composite whose genes do not apply shrinks to what does; openings
that shrink to the same genome count once. The authors are the agents whose shapes they are, so that credit follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from genome.genes import Genome
from operators.base import AgentContext, Proposal
from operators.choice import Want, wanted_gene
from operators.computation import Tile, register_tile
from operators.memory_layout import staged_tile, wide_copies
from operators.product import Digits, Product, product
from operators.recipe import Recipe, wants
from operators.rows import joined_rows, kept_rows, shared_rows
from operators.streams import gathered, transposed
from operators.warps import by_warps
from operators.windows import windows


@dataclass(frozen=True)
class Opening:
    """One entry of the book."""

    agent: str
    note: str
    recipe: Recipe


def _tile(tile: Tile) -> Recipe:
    return lambda context, genome: register_tile(context, genome, tile)


def _wide(width: int) -> Recipe:
    return lambda context, genome: wide_copies(context, genome, width)


def _staged(tile: Tile, depth: int) -> Recipe:
    return lambda context, genome: staged_tile(context, register_tile(context, genome, tile), depth)


def _known(recipe: Recipe, free: int) -> Recipe:
    """The recipe's genome compiled for all tuned sizes but one, by the order of the scalars."""

    def known(context: AgentContext, genome: Genome) -> Genome:
        shaped = recipe(context, genome)
        if shaped == genome:
            return genome
        moves = [m for m in context.moves(shaped, frozenset(("specialise",))) if all(m.domain.values())]
        for index, move in enumerate(moves):
            if index != free:
                shaped = shaped.with_gene(wanted_gene(move, {}))
        return shaped

    return known


_FLAT = Product(Digits(16, 2, 4), Digits(8, 4, 4), warp=8)
_DEEP = Product(Digits(16, 1, 4), Digits(4, 1, 2), Digits(4, 1, 8), copies=1, buffers=1, fragments=False)

_CPU: tuple[Opening, ...] = (
    Opening("computation", "arithmetic in float", wants(Want("single", values={"places": "all"}))),
    Opening("computation", "neighbouring threads share a row", shared_rows(32, 1)),
    Opening("parallelism", "one update a block", gathered("cascade", 32, 8, 16)),
    Opening("memory_layout", "bins of a block's own", gathered("privatise", 32, 4, 8, copies=1)),
    Opening("computation", "register tile 4x16",
            _tile(Tile(x=16, y=4, threads_x=8, threads_y=8, restrict=True))),
    Opening("computation", "register tile 8x8, wide, strips", _tile(Tile(x=8, y=8, strip=4, width=8, restrict=True))),
    Opening("computation", "register tile 4x4", _tile(Tile(x=4, y=4))),
    Opening("memory_layout", "wide copies of 8", _wide(8)),
    Opening("parallelism", "block 64x4", wants(
        Want("block_shape", "parallel.x", {"threads": 64}), Want("block_shape", "parallel.y", {"threads": 4}))),
    Opening("computation", "unrolled loops", wants(Want("promote"), Want("unroll", "*", {"factor": 4}, sites=2))),
)  # fmt: skip

_GPU: tuple[Opening, ...] = (
    Opening("computation", "arithmetic in float", wants(Want("single", values={"places": "all"}))),
    Opening("parallelism", "a row a block, wide", shared_rows(256, 4)),
    Opening("memory_layout", "a row a block, read once", kept_rows(256, 4)),
    Opening("memory_layout", "a row a block of 512, read once", kept_rows(512, 4)),
    Opening("memory_layout", "a row a block of 1024, read once", kept_rows(1024, 4)),
    Opening("memory_layout", "a row a block, passes joined", joined_rows(256, 4)),
    Opening("parallelism", "a row a warp", shared_rows(32, 4, rows=8)),
    Opening("memory_layout", "a row a warp, read once", kept_rows(32, 4, rows=8)),
    Opening("parallelism", "one update a block", gathered("cascade", 256, 16, 8)),
    Opening("parallelism", "one total a block, added up by a second launch",
            gathered("cascade", 256, 16, 8, second=512)),
    Opening("parallelism", "one update a block, fewer blocks", gathered("cascade", 256, 8, 4)),
    Opening("memory_layout", "bins of a block's own", gathered("privatise", 128, 4, 16, 4, copies=4)),
    Opening("memory_layout", "bins of a larger block's own", gathered("privatise", 256, 4, 16, copies=4)),
    Opening("memory_layout", "stores turned in a shared tile", transposed(256, 64, 4)),
    Opening("computation", "products by warps", by_warps((8, 8), (16, 8), 16, 4)),
    Opening("computation", "products by larger blocks of warps", by_warps((16, 8), (16, 8), 16, 3, group=8)),
    Opening("computation", "products by warps, deep tiles", by_warps((8, 8), (16, 8), 32, 4, group=8)),
    Opening("computation", "blocked product 8x16", product(_FLAT)),
    Opening("computation", "blocked product 8x16, asynchronous", product(replace(_FLAT, stages=3, buffers=0))),
    Opening("computation", "blocked product 8x8", product(replace(_FLAT, y=Digits(16, 2, 4), bounds=2))),
    Opening("computation", "blocked product 4x4, sums shared by 32 blocks",
            product(Product(Digits(16, 1, 4), Digits(16, 1, 4), depth=16, bounds=0, parts=32))),
    Opening("computation", "blocked product along three axes", product(_DEEP)),
    Opening("computation", "blocked product along three axes, known sizes", _known(product(_DEEP), 1)),
    Opening("computation", "blocked product along three axes, larger blocks",
            _known(product(replace(_DEEP, z=Digits(8, 1, 8), bounds=1)), 1)),
    Opening("computation", "strips in registers, two a thread", windows(128, 2, 8, 4)),
    Opening("computation", "strips in registers, four a thread, blocks sharing the loop",
            windows(128, 4, 8, 4, parts=32)),
    Opening("memory_layout", "wide copies of 4", _wide(4)),
    Opening("computation", "register tile 4x4, wide",
            _tile(Tile(x=4, y=4, threads_x=32, threads_y=8, width=4, restrict=True))),
    Opening("computation", "register tile 4x4, staged",
            _staged(Tile(x=4, y=4, threads_x=16, threads_y=16, restrict=True), 16)),
    Opening("parallelism", "block 32x8", wants(
        Want("block_shape", "parallel.x", {"threads": 32}), Want("block_shape", "parallel.y", {"threads": 8}))),
    Opening("memory_layout", "staged tile", lambda context, genome: staged_tile(context, genome, 16)),
    Opening("computation", "unrolled loops", wants(Want("promote"), Want("unroll", "*", {"factor": 4}, sites=2))),
)  # fmt: skip


def opening(context: AgentContext) -> tuple[Proposal, ...]:
    """The book's proposals for this kernel and device, in order, each genome once."""
    book: Sequence[Opening] = _GPU if context.device.kind == "gpu" else _CPU
    root = context.baseline
    found: dict[Genome, Proposal] = {}
    for entry in book:
        genome = entry.recipe(context, root.genome)
        if genome.genes and genome != root.genome:
            found.setdefault(genome, Proposal(genome, entry.agent, (root.variant,), entry.note))
    return tuple(found.values())

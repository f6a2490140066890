"""The opening book: composite genomes that are worth one measurement on any kernel, before anything is learnt.

They name roles and transforms only, never kernels. A composite whose genes do not apply shrinks to what does; openings
that shrink to the same genome count once. The authors are the agents whose shapes they are, so that credit follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from genome.genes import Genome
from operators.base import AgentContext, Proposal
from operators.choice import Want, compose, wanted_gene
from operators.computation import Tile, register_tile
from operators.memory_layout import staged_tile, wide_copies

Recipe = Callable[[AgentContext, Genome], Genome]


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


def _wants(*wants: Want) -> Recipe:
    return lambda context, genome: compose(genome, wants, context.moves)


def _staged(tile: Tile, depth: int) -> Recipe:
    return lambda context, genome: staged_tile(context, register_tile(context, genome, tile), depth)


def _around(key: str, *wants: Want) -> Recipe:
    """The composite where the transform that it is about applies, else nothing."""

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        known = any(move.transform.name == key and all(move.domain.values()) for move in context.moves(genome))
        return compose(genome, wants, context.moves) if known else genome

    return recipe


def _shared_rows(threads: int, inner: int, rows: int = 1) -> Recipe:
    """Several threads an instance, for kernels of one axis: with more, there are threads enough already."""
    wants = [Want("promote"), Want("cooperate", "parallel.x", {"threads": threads, "inner": inner})]
    if rows > 1:
        wants.append(Want("block_shape", "parallel.x", {"threads": rows}))
    wants.append(Want("restrict"))
    if inner > 1:
        wants.append(Want("vectorise", values={"width": inner}))

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        axes = {move.site.role for move in context.moves(genome) if move.transform.name == "block_shape"}
        return _around("cooperate", *wants)(context, genome) if len(axes) == 1 else genome

    return recipe


def _kept_rows(threads: int, inner: int, rows: int = 1) -> Recipe:
    """Rows shared by several threads, compiled for the width at which a row stays in registers between its passes."""

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        shared = _shared_rows(threads, inner, rows)(context, compose(genome, (Want("unpeel"),), context.moves))
        for move in context.moves(shared):
            if move.transform.name == "specialise" and all(move.domain.values()):
                fixed = shared.with_gene(wanted_gene(move, {}))
                if any(other.transform.name == "keep" for other in context.moves(fixed)):
                    wide = (Want("keep"), Want("vectorise", values={"width": inner}))
                    return compose(fixed, wide, context.moves)
        return genome

    return recipe


def _gathered(key: str, threads: int, blocks: int, inner: int, **values: int) -> Recipe:
    """Few blocks that stride over the axis, several elements a thread, and one update a block."""
    return _around(
        key,
        Want("block_shape", "parallel.x", {"threads": threads}),
        Want("grid_stride", "parallel.x", {"blocks": blocks}),
        Want("coarsen_blocked", "parallel.x", {"factor": inner}),
        Want(key, values=values),
        Want("register_tile"),
        Want("restrict"),
        Want("vectorise", values={"width": inner}),
    )


def _transposed(threads: int, tile: int, width: int) -> Recipe:
    """A square tile whose elements are read and stored along rows, ``width`` at a time."""
    return _around(
        "transpose_tile",
        Want("block_shape", "parallel.x", {"threads": tile // width}),
        Want("block_shape", "parallel.y", {"threads": threads * width // tile}),
        Want("coarsen_blocked", "parallel.x", {"factor": width}),
        Want("coarsen_strided", "parallel.y", {"factor": tile * tile // width // threads}),
        Want("transpose_tile", values={"pad": 1, "width": width}),
        Want("restrict"),
        Want("vectorise", values={"width": width}),
    )


def _by_warps(down: int, across: int, depth: int, stages: int) -> Recipe:
    """Products of 16-bit floats on tensor cores: a warp of 4 x 8 threads with ``down`` rows and ``across`` pairs of
    columns a thread, tiles of ``depth`` copied ``stages`` turns ahead. Nothing where that does not apply.
    """
    wants = (
        Want("promote"),
        Want("block_shape", "parallel.x", {"threads": 8}),
        Want("block_shape", "parallel.y", {"threads": 16}),
        Want("coarsen_strided", "parallel.y", {"factor": down}),
        Want("coarsen_strided", "parallel.x", {"factor": across}),
        Want("coarsen_blocked", "parallel.x", {"factor": 2}),
        Want("warp_tile", values={"width": 4}),
        Want("register_tile"),
        Want("strip", "reduction*", {"factor": depth}, sites=1),
        Want("shared_tile", "read.reused*", {"pad": 8, "transpose": 0, "width": 8}),
        Want("async_copy", values={"stages": stages}),
        Want("tensor_core"),
        Want("restrict"),
    )

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        strips = compose(genome, [want for want in wants if want.transform in ("promote", "strip")], context.moves)
        tiles = [move for move in context.moves(strips) if move.transform.name == "shared_tile"]
        if not any(8 in move.domain.get("width", ()) for move in tiles):
            return genome  # no 16-bit floats to copy eight at a time
        found = compose(genome, wants, context.moves)
        return found if any(gene.transform == "tensor_core" for gene in found.genes) else genome

    return recipe


_CPU: tuple[Opening, ...] = (
    Opening("computation", "arithmetic in float", _wants(Want("single", values={"places": "all"}))),
    Opening("computation", "neighbouring threads share a row", _shared_rows(32, 1)),
    Opening("parallelism", "one update a block", _gathered("cascade", 32, 8, 16)),
    Opening("memory_layout", "bins of a block's own", _gathered("privatise", 32, 4, 8, copies=1)),
    Opening("computation", "register tile 4x16",
            _tile(Tile(x=16, y=4, threads_x=8, threads_y=8, restrict=True))),
    Opening("computation", "register tile 8x8, wide, strips", _tile(Tile(x=8, y=8, strip=4, width=8, restrict=True))),
    Opening("computation", "register tile 4x4", _tile(Tile(x=4, y=4))),
    Opening("memory_layout", "wide copies of 8", _wide(8)),
    Opening("parallelism", "block 64x4", _wants(
        Want("block_shape", "parallel.x", {"threads": 64}), Want("block_shape", "parallel.y", {"threads": 4}))),
    Opening("computation", "unrolled loops", _wants(Want("promote"), Want("unroll", "*", {"factor": 4}, sites=2))),
)  # fmt: skip

_GPU: tuple[Opening, ...] = (
    Opening("computation", "arithmetic in float", _wants(Want("single", values={"places": "all"}))),
    Opening("parallelism", "a row a block, wide", _shared_rows(256, 4)),
    Opening("parallelism", "a row a warp", _shared_rows(32, 4, rows=8)),
    Opening("memory_layout", "a row a block, read once", _kept_rows(256, 4)),
    Opening("memory_layout", "a row a warp, read once", _kept_rows(32, 4, rows=8)),
    Opening("parallelism", "one update a block", _gathered("cascade", 256, 8, 4)),
    Opening("memory_layout", "bins of a block's own", _gathered("privatise", 256, 4, 16, copies=4)),
    Opening("memory_layout", "stores turned in a shared tile", _transposed(256, 64, 4)),
    Opening("computation", "register tile 4x4, staged",
            _staged(Tile(x=4, y=4, threads_x=16, threads_y=16, restrict=True), 16)),
    Opening("computation", "register tile 8x8, staged",
            _staged(Tile(x=8, y=8, threads_x=16, threads_y=16, restrict=True), 8)),
    Opening("computation", "products by warps", _by_warps(8, 8, 16, 4)),
    Opening("memory_layout", "wide copies of 4", _wide(4)),
    Opening("computation", "register tile 4x4", _tile(Tile(x=4, y=4, threads_x=16, threads_y=8, restrict=True))),
    Opening("parallelism", "block 32x8", _wants(
        Want("block_shape", "parallel.x", {"threads": 32}), Want("block_shape", "parallel.y", {"threads": 8}))),
    Opening("memory_layout", "staged tile", lambda context, genome: staged_tile(context, genome, 16)),
    Opening("computation", "unrolled loops", _wants(Want("promote"), Want("unroll", "*", {"factor": 4}, sites=2))),
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

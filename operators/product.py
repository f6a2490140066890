"""Blocked products: sums over a loop whose elements are reused along two axes or more (products, convolutions).

The shape is that of every fast matrix product. A block computes a box of outputs, a thread some of it in registers: its
digits along each axis are threads, elements that lie a block's width apart, and adjacent ones. The loop goes in strips;
what a strip reads lies in shared memory, turned so that a thread reads adjacent elements, and the next strip is on its
way while one is used. Warps cover rectangles. No gene of it gains alone, so that it is proposed and varied as a whole.
Source: Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008; CUTLASS.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from genome.genes import Gene, Genome
from operators.base import AgentContext
from operators.choice import Want, compose, pick, wanted_gene, without_transforms
from operators.recipe import SHAPING, Recipe, parallel_axes

_THREADS = range(32, 513)
_ELEMENTS = range(8, 129)  # accumulators of a thread: fewer do not pay the copies, more spill
_LAUNCHED = 16  # threads along an axis that a shape leaves as it was launched, as a guess
_AHEAD = ((0, 2), (0, 2), (0, 1), (2, 0), (3, 0), (4, 0), (0, 0))
"""Asynchronous stages and buffers of copies ahead."""
_SPLIT = 0.1  # share of shapes whose sums several blocks share: few kernels have too few blocks
_DEEP = 0.7  # share of shapes along three axes, where there are three: the third one may carry no reuse
_TAPS = 9  # iterations of the short loops inside, as a guess
_SUMS = 1600  # of a thread in one strip, all written out: beyond that it is mostly compiled in vain
_TILES = 48 * 1024 // 4  # elements of 4 bytes that the tiles of a block may take


@dataclass(frozen=True)
class Digits:
    """How an axis is cut: ``threads`` of a block (0: as launched), ``strided`` and ``blocked`` elements of a thread."""

    threads: int = 0
    strided: int = 1
    blocked: int = 1

    @property
    def elements(self) -> int:
        """Of a thread."""
        return self.strided * self.blocked


@dataclass(frozen=True)
class Product:
    """A blocked product.

    Attributes:
        x: Digits of the fastest axis.
        y: Digits of the next one.
        z: Digits of the third one, where there is one.
        warp: Threads of a warp along x; 0 leaves a row of 32.
        depth: Iterations of a strip.
        copies: Adjacent elements that a thread copies at once.
        stages: Strips that are copied ahead asynchronously; 0 for none.
        buffers: Of each tile, where the next strip is on its way in registers instead; 0 for none.
        fragments: Values of tiles that several elements use are named, once each.
        bounds: Blocks that shall fit on a multiprocessor; 0 leaves the registers to the compiler.
        group: Rows of blocks that run together; 0 for the launch's order.
        parts: Blocks that share a sum; 0 for one.
    """

    x: Digits
    y: Digits
    z: Digits = field(default_factory=Digits)
    warp: int = 0
    depth: int = 8
    copies: int = 4
    stages: int = 0
    buffers: int = 2
    fragments: bool = True
    bounds: int = 2
    group: int = 0
    parts: int = 0

    @property
    def axes(self) -> dict[str, Digits]:
        """Digits by the role of their axis."""
        return {f"parallel.{dim}": getattr(self, dim) for dim in "xyz"}

    @property
    def sensible(self) -> bool:
        """True for blocks and tiles that a multiprocessor can hold, and that are worth the copies."""
        axes = tuple(self.axes.values())
        threads = prod(digits.threads or _LAUNCHED for digits in axes[: 3 if self.z.threads else 2])
        across, down, through = (digits.elements * (digits.threads or _LAUNCHED) for digits in axes)
        # A third axis takes the loop's other factor: what x and y share is then an area, not two edges.
        edges = across * down // 4 + through if self.z.elements > 1 else across + down
        elements = prod(digits.elements for digits in axes)
        tiles = edges * self.depth * max(self.buffers, self.stages, 1)
        sums = elements * self.depth
        if self.z.elements > 1:  # windows have a name for nearly every read
            sums = sums // 4 * _TAPS * (2 if self.fragments else 1)
        return threads in _THREADS and elements in _ELEMENTS and tiles <= _TILES and sums <= _SUMS


def product(shape: Product) -> Recipe:
    """The shape on kernels with two axes or more and a loop in which something is reused; nothing elsewhere."""

    def recipe(context: AgentContext, genome: Genome) -> Genome:
        axes = parallel_axes(context, genome)
        if len(axes) < 2 or (shape.z.elements > 1 and "parallel.z" not in axes):
            return genome
        tiled = compose(without_transforms(genome, SHAPING), _frame(shape), context.moves)
        looped = _in_strips(context, tiled, shape)
        if looped is None:
            return genome
        staged = _staged(context, looped, shape)
        return genome if staged is None else compose(staged, _finish(shape), context.moves)

    return recipe


def _frame(shape: Product) -> list[Want]:
    """Accumulators in registers, the digits of each axis, warps, and the instances inside of the loops."""
    found = [Want("promote"), Want("masked_reads")]
    if shape.parts:
        found.append(Want("split_reduction", values={"parts": shape.parts}))
    for role, digits in shape.axes.items():
        if digits.threads:
            found.append(Want("block_shape", role, {"threads": digits.threads}))
        if digits.blocked > 1:
            found.append(Want("coarsen_blocked", role, {"factor": digits.blocked}))
        if digits.strided > 1:
            found.append(Want("coarsen_strided", role, {"factor": digits.strided}))
    if shape.warp:
        found.append(Want("warp_tile", values={"width": shape.warp}))
    return [*found, Want("register_tile")]


def _in_strips(context: AgentContext, genome: Genome, shape: Product) -> Genome | None:
    """Short loops written out, the first long one in strips; None if there is no loop of unknown or large length.

    A strip with short loops inside is as deep as all of their iterations.
    """
    found = context.moves(genome, frozenset(("strip", "unroll")))
    sums = [move for move in found if move.site.role.startswith("reduction") and all(move.domain.values())]
    long = [move for move in sums if move.transform.name == "strip"]
    if not long:
        return None
    labels = {move.site.label for move in long}
    short = [move for move in sums if move.transform.name == "unroll" and move.site.label not in labels
             and 0 in move.domain["factor"]]  # fmt: skip
    for move in short:
        genome = genome.with_gene(Gene.of("unroll", move.site, factor=0))
    name = "unroll" if short or shape.depth < 4 else "strip"
    depth = max(2, shape.depth // 4) if short else shape.depth
    return compose(genome, (Want(name, long[0].site.label, {"factor": depth}, sites=1),), context.moves)


def _staged(context: AgentContext, genome: Genome, shape: Product) -> Genome | None:
    """What is reused in shared memory, or None if nothing is.

    Rows of a tile lie along the axis whose elements a thread has side by side: arrays that are not read along x are
    turned, with rows padded against the conflicts of their stores.
    """
    along = _read_along_x(context, without_transforms(genome, SHAPING))
    staged = context.moves(genome, frozenset(("shared_tile",)))
    for move in staged:
        turned = int(move.site.label not in along)
        layout = {"pad": 4 * turned, "transpose": turned, "width": shape.copies}
        if all(move.domain.values()):
            genome = genome.with_gene(wanted_gene(move, layout))
    masked = compose(genome, (Want("masked_tile", "read.masked*", {"pad": 2}),), context.moves)
    return masked if any(gene.transform in ("shared_tile", "masked_tile") for gene in masked.genes) else None


def _read_along_x(context: AgentContext, genome: Genome) -> frozenset[str]:
    """Arrays whose adjacent elements belong to neighbours along x: those that could move in wide accesses."""
    probe = (Want("coarsen_blocked", "parallel.x", {"factor": 4}), Want("register_tile"))
    found = context.moves(compose(genome, probe, context.moves), frozenset(("vectorise",)))
    return frozenset(move.site.label for move in found)


def _finish(shape: Product) -> list[Want]:
    """Copies ahead, fragments in registers, wide accesses, and what the compiler is told."""
    found = []
    if shape.stages:
        found.append(Want("async_copy", values={"stages": shape.stages}))
    if shape.buffers:
        found.append(Want("pipeline", values={"buffers": shape.buffers}))
    if shape.fragments:
        found.append(Want("scalar_reads", "*_tile*"))
    found += [Want("vectorise", values={"width": 4}), Want("restrict")]
    if shape.bounds:
        found.append(Want("launch_bounds", values={"blocks": shape.bounds}))
    if shape.group:
        found.append(Want("rasterise", values={"group": shape.group}))
    return found


def random_product(context: AgentContext, rng: np.random.Generator) -> tuple[Recipe, str]:
    """A sensible shape: every number drawn, drawn again until the whole is one."""
    third = "parallel.z" in parallel_axes(context, Genome())
    while True:
        shape = _deep(rng) if third and rng.random() < _DEEP else _flat(rng)
        if shape.sensible:
            return product(shape), _note(shape)


def _flat(rng: np.random.Generator) -> Product:
    """Two axes, warps that cover rectangles."""
    ahead = _AHEAD[int(rng.integers(len(_AHEAD)))]
    return Product(
        Digits(int(pick(rng, (8, 16, 16, 32))), int(pick(rng, (1, 2, 2, 4))), int(pick(rng, (2, 4, 4, 8)))),
        Digits(int(pick(rng, (4, 8, 8, 16))), int(pick(rng, (1, 2, 2, 4))), int(pick(rng, (2, 4, 4, 8)))),
        warp=int(pick(rng, (0, 4, 8, 8, 16))),
        depth=int(pick(rng, (4, 8, 8, 16, 32))),
        copies=int(pick(rng, (1, 2, 4, 4, 4))),
        stages=ahead[0],
        buffers=ahead[1],
        fragments=bool(rng.random() < 0.7),
        bounds=int(pick(rng, (0, 1, 2, 2))),
        group=int(pick(rng, (0, 0, 4, 8))),
        parts=int(pick(rng, (4, 16, 32))) if rng.random() < _SPLIT else 0,
    )


def _deep(rng: np.random.Generator) -> Product:
    """Three axes: the third one carries the reuse of what x and y read."""
    return Product(
        Digits(int(pick(rng, (8, 16, 16, 32))), 1, int(pick(rng, (1, 2, 4, 4)))),
        Digits(int(pick(rng, (2, 4, 4, 8))), 1, int(pick(rng, (1, 2, 2, 4)))),
        Digits(int(pick(rng, (1, 2, 4, 4, 8))), 1, int(pick(rng, (4, 8, 8, 16)))),
        depth=int(pick(rng, (4, 8, 8, 16))),
        copies=int(pick(rng, (1, 1, 2))),
        buffers=int(pick(rng, (0, 1, 1, 2))),
        fragments=bool(rng.random() < 0.3),
        bounds=int(pick(rng, (0, 1, 2, 2))),
    )


def _note(shape: Product) -> str:
    tile = "x".join(str(digits.elements) for digits in reversed(shape.axes.values()) if digits.elements > 1)
    return f"blocked product, {tile} a thread, strips of {shape.depth}"

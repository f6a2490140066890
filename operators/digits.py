"""Digits: steps from a blocked product to its neighbours, the shape kept consistent.

A tile whose block grows along one axis is a tile of other rows, other copies and other wide accesses: so the shape is
read from the genome, one or two of its digits change, and the whole is composed anew. What is no part of it stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from genome.genes import Genome, ParamValue
from operators.base import AgentContext
from operators.choice import pick
from operators.product import Digits, Product, product

_TRIES = 8
_CUTS = ("threads", "strided", "blocked")


def product_of(genome: Genome) -> Product | None:
    """The blocked product that the genome holds, or None if it holds none."""
    kinds = {gene.transform for gene in genome.genes}
    tiled = "register_tile" in kinds and kinds & {"shared_tile", "masked_tile"} and kinds & {"strip", "unroll"}
    if not tiled or kinds & {"tensor_core", "cooperate"}:
        return None
    axes = {dim: _digits(genome, f"parallel.{dim}") for dim in "xyz"}
    short = [gene for gene in genome.genes if gene.transform == "unroll" and gene.values["factor"] == 0]
    depths = [_number(gene.values["factor"]) for gene in genome.genes if gene.transform in ("strip", "unroll")
              and gene not in short]  # fmt: skip
    return Product(
        **axes,
        warp=_value(genome, "warp_tile", "width"),
        depth=max(depths, default=2) * (4 if short else 1),
        copies=max(_value(genome, "shared_tile", "width"), 1),
        stages=_value(genome, "async_copy", "stages"),
        buffers=_value(genome, "pipeline", "buffers"),
        fragments="scalar_reads" in kinds,
        bounds=_value(genome, "launch_bounds", "blocks"),
        group=_value(genome, "rasterise", "group"),
        parts=_value(genome, "split_reduction", "parts"),
    )


def varied(context: AgentContext, genome: Genome, rng: np.random.Generator) -> tuple[Genome, str] | None:
    """The genome with one step of its shape; None if it has none, or no step leads to a sensible one."""
    shape = product_of(genome)
    if shape is None:
        return None
    for _ in range(_TRIES):
        note, step = pick(rng, _STEPS)
        changed = step(shape, rng)
        if changed != shape and changed.sensible:
            moved = product(changed)(context, genome)
            if set(moved.genes) != set(genome.genes):
                return moved, note
    return None


def _digits(genome: Genome, role: str) -> Digits:
    def value(transform: str, name: str, missing: int) -> int:
        found = (gene for gene in genome.genes if gene.transform == transform and gene.site.role == role)
        return next((_number(gene.values[name]) for gene in found), missing)

    return Digits(value("block_shape", "threads", 0), value("coarsen_strided", "factor", 1),
                  value("coarsen_blocked", "factor", 1))  # fmt: skip


def _value(genome: Genome, transform: str, name: str) -> int:
    return max((_number(g.values.get(name, 1)) for g in genome.genes if g.transform == transform), default=0)


def _number(value: ParamValue) -> int:
    return int(value)


def _scaled(shape: Product, dim: str, cut: str, up: bool) -> Product:
    digits: Digits = getattr(shape, dim)
    old = getattr(digits, cut) or 16
    return replace(shape, **{dim: replace(digits, **{cut: max(old * 2 if up else old // 2, 1)})})  # type: ignore[arg-type]


def _one(shape: Product, rng: np.random.Generator) -> Product:
    """One digit of an axis twice or half as large."""
    return _scaled(shape, pick(rng, _dims(shape)), pick(rng, _CUTS), bool(rng.random() < 0.5))


def _trade(shape: Product, rng: np.random.Generator) -> Product:
    """A factor of two moves from one digit to another, of the same axis or not: the block's box changes its form."""
    larger = _scaled(shape, pick(rng, _dims(shape)), pick(rng, _CUTS), True)
    return _scaled(larger, pick(rng, _dims(shape)), pick(rng, _CUTS), False)


def _strip(shape: Product, rng: np.random.Generator) -> Product:
    """A strip twice or half as deep."""
    return replace(shape, depth=min(max(shape.depth * 2 if rng.random() < 0.5 else shape.depth // 2, 4), 64))


def _ahead(shape: Product, rng: np.random.Generator) -> Product:
    """Other buffers, or other copies ahead."""
    if rng.random() < 0.5:
        return replace(shape, stages=0, buffers=int(pick(rng, (0, 1, 2))))
    return replace(shape, stages=int(pick(rng, (2, 3, 4))), buffers=0)


def _reads(shape: Product, rng: np.random.Generator) -> Product:
    """Wider or narrower copies, named values or not."""
    if rng.random() < 0.3:
        return replace(shape, fragments=not shape.fragments)
    return replace(shape, copies=int(pick(rng, (1, 2, 4, 8))))


def _launch(shape: Product, rng: np.random.Generator) -> Product:
    """Other warps, registers, order of blocks, or blocks a sum."""
    name, values = pick(rng, (("warp", (0, 4, 8, 16)), ("bounds", (0, 1, 2, 3)), ("group", (0, 4, 8, 16)),
                              ("parts", (0, 0, 4, 16))))  # fmt: skip
    return replace(shape, **{name: int(pick(rng, values))})  # type: ignore[arg-type]


def _dims(shape: Product) -> str:
    return "xyz" if shape.z != Digits() else "xy"


_STEPS: tuple[tuple[str, Callable[[Product, np.random.Generator], Product]], ...] = (
    ("one digit of the tile", _one), ("tile of another form", _trade), ("tile of another form", _trade),
    ("other strips", _strip), ("other copies ahead", _ahead), ("other reads of tiles", _reads),
    ("other launch", _launch),
)  # fmt: skip

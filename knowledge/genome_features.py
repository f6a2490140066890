"""A genome as a vector of fixed length: what is done to the kernel, without any name of this kernel in it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from genome.genes import Gene, Genome, ParamValue

GENOME_FEATURE_VERSION = 1

_AXES = ("x", "y", "z")
_SLOTS = (
    *(f"block_shape.{axis}" for axis in _AXES),  # log2 of threads
    *(f"coarsen_strided.{axis}" for axis in _AXES),  # log2 of the factor
    *(f"coarsen_blocked.{axis}" for axis in _AXES),
    *(f"{name}.{kind}" for name in ("strip", "unroll") for kind in ("reduction", "loop", "part")),
)
_COUNTED = ("promote", "axis_swap", "register_tile", "shared_tile", "scalar_reads", "vectorise", "restrict",
            "specialise", "launch_bounds", "fast_math", "macro", "other")  # fmt: skip
GENOME_FEATURES = (
    *_SLOTS,  # log2 of the integer parameter, 0 if there is no such gene
    *(f"has.{slot}" for slot in _SLOTS),  # how many such genes
    *(f"count.{name}" for name in _COUNTED),  # how many such genes
    *(f"value.{name}" for name in _COUNTED),  # sum of log2(1 + integer parameters) over them
    "genes",
    "threads",  # log2 of the threads of a block that block_shape genes ask for
    "instances",  # log2 of the elements that a thread computes (product of coarsening factors)
    "tile",  # log2 of the elements that a block covers: threads + instances
    "unrolled",  # log2 of the product of all instance, unroll and strip factors: how large the body grows
    "skew",  # log2 of threads along x over threads along y
    "vector",  # log2 of the widest vector access
    "shared_bytes",  # log2(1 + elements of a square shared tile: the square of the largest shared_tile parameter)
)
"""Names of the entries, in order."""


def genome_features(genome: Genome) -> tuple[float, ...]:
    """The vector that ``GENOME_FEATURES`` names. Transforms it does not know count as ``other``."""
    values = dict.fromkeys(GENOME_FEATURES, 0.0)
    for gene in genome.genes:
        amount = _amount(gene)
        slot = _slot(gene)
        if slot in values:
            values[slot] += amount
            values[f"has.{slot}"] += 1.0
        else:
            name = gene.transform if gene.transform in _COUNTED else "other"
            values[f"count.{name}"] += 1.0
            values[f"value.{name}"] += amount
    values.update(_derived(values, genome))
    return tuple(values[name] for name in GENOME_FEATURES)


def gene_columns(genome: Genome) -> dict[str, float]:
    """Named columns of each gene at its own site: what tells ``unroll`` of one loop from that of another.

    The role names the site where it has one, so that columns mean the same in another kernel. A parameter that is
    not a number gives one column a value.
    """
    columns: dict[str, float] = {}
    for gene in genome.genes:
        site = gene.site.label if gene.transform == "macro" or not gene.site.role else gene.site.role
        columns[f"{gene.transform}@{site}"] = 1.0
        for name, value in gene.params:
            number = _number(value)
            key = f"{gene.transform}@{site}.{name}"
            columns[key if number is not None else f"{key}={value}"] = 1.0 if number is None else _log2(number)
    return columns


def _derived(values: dict[str, float], genome: Genome) -> dict[str, float]:
    threads = sum(values[f"block_shape.{axis}"] for axis in _AXES)
    instances = sum(values[f"coarsen_{kind}.{axis}"] for kind in ("strided", "blocked") for axis in _AXES)
    loops = sum(values[f"{name}.{kind}"] for name in ("strip", "unroll") for kind in ("reduction", "loop", "part"))
    widths = [_amount(gene) for gene in genome.genes if gene.transform == "vectorise"]
    tiles = [max(_integers(gene), default=0) for gene in genome.genes if gene.transform == "shared_tile"]
    return {
        "genes": float(len(genome.genes)),
        "threads": threads,
        "instances": instances,
        "tile": threads + instances,
        "unrolled": instances + loops,
        "skew": values["block_shape.x"] - values["block_shape.y"],
        "vector": max(widths, default=0.0),
        "shared_bytes": math.log2(1.0 + max(tiles, default=0) ** 2),
    }


def _slot(gene: Gene) -> str:
    role = gene.site.role
    if role.startswith("parallel."):
        return f"{gene.transform}.{role.removeprefix('parallel.')}"
    kind = role.split("[")[0]
    kind = "part" if kind in ("tile", "strip") else kind
    return f"{gene.transform}.{kind if kind in ('reduction', 'part') else 'loop'}"


def _amount(gene: Gene) -> float:
    """Sum of the logarithms of the integer parameters."""
    return sum(_log2(value) for value in _integers(gene))


def _integers(gene: Gene) -> list[float]:
    return [number for number in _numbers(value for _, value in gene.params)]


def _numbers(values: Iterable[ParamValue]) -> list[float]:
    return [number for value in values if (number := _number(value)) is not None]


def _number(value: ParamValue) -> float | None:
    """An integer, a boolean, or text that spells an integer (a macro's value)."""
    if isinstance(value, str):
        text = value.removeprefix("-")
        return float(int(value)) if text.isdecimal() and len(text) < 19 else None
    return float(value)


def _log2(value: float) -> float:
    """log2 for factors, widths and threads; keeps 0 apart from 1, and the sign."""
    return math.copysign(math.log2(abs(value)) if abs(value) >= 1 else -1.0, value if value else 1.0)

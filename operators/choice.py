"""Drawing moves and values: the vocabulary that the agents share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import groupby
from typing import TypeVar

import numpy as np

from genome.genes import Gene, Genome, ParamValue
from operators.base import MoveLike, Moves

Item = TypeVar("Item")


def pick(rng: np.random.Generator, items: Sequence[Item], weights: Sequence[float] | None = None) -> Item:
    """One item, by weight (uniform without weights).

    Raises:
        ValueError: If there are no items.
    """
    if not items:
        raise ValueError("nothing to pick from")
    if weights is None:
        return items[int(rng.integers(len(items)))]
    mass = np.asarray(weights, dtype=float)
    return items[int(rng.choice(len(items), p=mass / mass.sum()))]


def weighted_moves(
    moves: Sequence[MoveLike], table: Mapping[str, float], generic: float
) -> tuple[list[MoveLike], list[float]]:
    """Moves with their weights: each transform's weight is spread over its sites.

    Args:
        moves: What applies.
        table: Weight by transform name; a transform that the table puts at 0 is left out.
        generic: Total weight of all transforms that the table does not name, so that unknown ones get their share.
    """
    sites: dict[str, int] = {}
    for move in moves:
        sites[move.transform.name] = sites.get(move.transform.name, 0) + 1
    unknown = [name for name in sites if name not in table]
    kept, weights = [], []
    for move in moves:
        name = move.transform.name
        weight = table[name] if name in table else generic / len(unknown)
        if weight > 0.0 and all(move.domain.values()):
            kept.append(move)
            weights.append(weight / sites[name])
    return kept, weights


def random_gene(move: MoveLike, rng: np.random.Generator) -> Gene:
    """The move with values drawn from its domain, other than the current ones if there is a choice."""
    current = move.current.values if move.current else {}
    values = {}
    for name in sorted(move.domain):
        others = [value for value in move.domain[name] if value != current.get(name)]
        values[name] = pick(rng, others if others and len(move.domain) == 1 else list(move.domain[name]))
    return Gene.of(move.transform.name, move.site, **values)


def nearest(domain: Sequence[ParamValue], wanted: ParamValue) -> ParamValue:
    """The wanted value if the domain holds it, else the nearest number (by ratio), else the first value."""
    if any(value == wanted and isinstance(value, bool) == isinstance(wanted, bool) for value in domain):
        return wanted
    numbers = [value for value in domain if is_number(value)]
    if numbers and is_number(wanted):
        return min(numbers, key=lambda value: abs(np.log2(max(int(value), 1)) - np.log2(max(int(wanted), 1))))
    return domain[0]


def is_number(value: ParamValue) -> bool:
    """True for an integer parameter (a boolean is not one)."""
    return isinstance(value, int) and not isinstance(value, bool)


_INDEPENDENT: Mapping[str, str] = {
    **dict.fromkeys(("block_shape", "coarsen_blocked", "coarsen_strided", "grid_stride"), "mapping"),
    **dict.fromkeys(("promote", "masked_reads", "fused_sums", "unpeel"), "body"),
    **dict.fromkeys(("restrict", "launch_bounds", "rasterise", "fast_math"), "launch"),
}
"""Transforms that make no sites for each other: what they can do is asked together."""


@dataclass(frozen=True)
class Want:
    """A gene that a composite proposal would like: where (by role pattern), with which values, at how many sites.

    Attributes:
        transform: Name of the transform.
        role: Pattern of the site's role (``parallel.x``, ``reduction*``); also tried on the label.
        values: Preferred values by parameter; the nearest one of the domain is taken, the middle one if not named.
        sites: Largest number of sites that take it; 0 for all.
        exact: Only sites whose domains hold the very values.
    """

    transform: str
    role: str = "*"
    values: Mapping[str, ParamValue] = field(default_factory=dict)
    sites: int = 0
    exact: bool = False


def compose(genome: Genome, wants: Sequence[Want], moves: Moves) -> Genome:
    """The genome with every wanted gene that applies, in order.

    What applies is asked again after each want, because a gene may make the site of the next one (the inner loop of a
    strip, the instances of a coarsened axis), but once for wants in a row that make no sites for each other. Wants that
    do not apply are left out.
    """
    for _, group in groupby(wants, lambda want: _INDEPENDENT.get(want.transform, want.transform)):
        batch = tuple(group)
        available = moves(genome, frozenset(want.transform for want in batch))
        for want in batch:
            matching = [move for move in available if _matches(move, want)]
            for move in matching[: want.sites or None]:
                if not any(_is_neutral(move.domain.get(name, ()), value) for name, value in want.values.items()):
                    genome = genome.with_gene(wanted_gene(move, want.values))
    return genome


def _is_neutral(domain: Sequence[ParamValue], wanted: ParamValue) -> bool:
    """True for the gap in a series of powers of two: domains leave out the value that the kernel has already."""
    if not is_number(wanted) or wanted in domain:
        return False
    return int(wanted) % 2 == 0 and int(wanted) // 2 in domain and int(wanted) * 2 in domain


def wanted_gene(move: MoveLike, values: Mapping[str, ParamValue]) -> Gene:
    """The move with the domain's values that are nearest to the wanted ones (the middle of the domain otherwise)."""
    chosen = {
        name: nearest(domain, values[name]) if name in values else domain[len(domain) // 2]
        for name, domain in move.domain.items()
    }
    return Gene.of(move.transform.name, move.site, **chosen)


def _matches(move: MoveLike, want: Want) -> bool:
    if move.transform.name != want.transform or not all(move.domain.values()):
        return False
    if want.exact and any(value not in move.domain.get(name, ()) for name, value in want.values.items()):
        return False
    return fnmatchcase(move.site.role, want.role) or fnmatchcase(move.site.label, want.role)


def without_transforms(genome: Genome, names: frozenset[str]) -> Genome:
    """The genome without the genes of these transforms."""
    return Genome(tuple(gene for gene in genome.genes if gene.transform not in names))


def delta(child: Genome, parent: Genome) -> tuple[Gene, ...]:
    """Genes of the child that the parent does not have with the same values."""
    old = set(parent.genes)
    return tuple(gene for gene in child.genes if gene not in old)

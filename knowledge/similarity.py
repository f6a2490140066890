"""How far apart two sizes, devices or kernels are, as plain numbers that a prior can be ranked by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

UNKNOWN_SIZE = 8.0
"""Distance of sizes that share no name: as far as a factor of 256."""


def size_distance(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    """Root mean square of log2 ratios over all size names; a name that one of them lacks counts as a factor of two."""
    shared = first.keys() & second.keys()
    if not shared:
        return 0.0 if not first and not second else UNKNOWN_SIZE
    ratios = [math.log2(max(1, abs(first[name])) / max(1, abs(second[name]))) for name in sorted(shared)]
    missing = len(first.keys() ^ second.keys())
    return math.sqrt((sum(ratio * ratio for ratio in ratios) + missing) / (len(shared) + missing))


def nearest_size(size: Mapping[str, int], sizes: Sequence[Mapping[str, int]]) -> float:
    """Distance to the nearest of the sizes; 0 if there are none to compare with."""
    return min((size_distance(size, other) for other in sizes), default=0.0)


def vector_distance(first: Sequence[float], second: Sequence[float]) -> float:
    """Euclidean distance; the shorter vector is padded with zeros."""
    length = max(len(first), len(second))
    left = [*first, *([0.0] * (length - len(first)))]
    right = [*second, *([0.0] * (length - len(second)))]
    return math.dist(left, right)

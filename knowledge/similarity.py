"""How far apart two sizes, devices or kernels are, as plain numbers that a prior can be ranked by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

UNKNOWN_SIZE = 8.0
"""Distance of sizes that share no name: as far as a factor of 256."""

HALF_KERNEL, HALF_DEVICE, HALF_SIZE = 0.5, 4.0, 8.0
"""Distances of kernels, devices and sizes at which half of a gain is expected to be left.

Among the examples, a kernel and the same one in another element type are about 0.4 apart, a matrix product and a
matrix-vector product 0.8; a CPU and a GPU are about 3 to 4 apart; sizes of 256 and 65536 are 8 apart.
"""


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


def carried_over(kernel: float, device: float, size: float) -> float:
    """Part of a log2 gain, 0..1, that is expected where kernel, device and size are this far from where it was seen."""
    return float(2.0 ** -(kernel / HALF_KERNEL + device / HALF_DEVICE + size / HALF_SIZE))

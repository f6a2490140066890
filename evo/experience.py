"""What the base remembers of this very kernel on this device: whole genomes ranked by their gain over all sizes.

The base's optima are kept size by size. A campaign over several sizes wants the genome that is good at all of them,
which may be the best at none: this is worked out from the rows of earlier campaigns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genome.genes import Genome
from knowledge.records import TrainingRow

_CLOSE = 1e-4  # vectors come back from the base in single precision


@dataclass(frozen=True)
class Remembered:
    """A genome that was measured before.

    Attributes:
        genome: As it was applied.
        log2_speedup: Weighted mean over this campaign's sizes if all were measured, else mean over those that were.
        exact: True if every size of this campaign was measured.
    """

    genome: Genome
    log2_speedup: float
    exact: bool


def remembered(
    rows: Sequence[TrainingRow], sizes: Sequence[tuple[float, ...]], weights: Sequence[float]
) -> tuple[Remembered, ...]:
    """Genomes of this kernel on this device that never failed and gained: exact ones first, then by gain.

    Args:
        rows: Experience; that of other kernels and devices is ignored.
        sizes: Feature vectors of the tuned sizes.
        weights: Their weights.
    """
    groups: dict[Genome, list[TrainingRow]] = {}
    for row in rows:
        if row.same_kernel and row.same_device and row.genome.genes:
            groups.setdefault(row.genome, []).append(row)
    found = [_summary(genome, group, sizes, weights) for genome, group in groups.items()]
    kept = [item for item in found if item is not None and item.log2_speedup > 0.0]
    return tuple(sorted(kept, key=lambda item: (not item.exact, -item.log2_speedup, item.genome.digest())))


def _summary(
    genome: Genome, rows: Sequence[TrainingRow], sizes: Sequence[tuple[float, ...]], weights: Sequence[float]
) -> Remembered | None:
    gains = [row.log2_speedup for row in rows if row.log2_speedup is not None and not row.failed]
    if len(gains) < len(rows):
        return None
    by_size = [[row.log2_speedup for row in rows if _same(row.size_features, size)] for size in sizes]
    if sizes and all(by_size):
        means = [float(np.mean([gain for gain in group if gain is not None])) for group in by_size]
        return Remembered(genome, float(np.average(means, weights=weights)), True)
    return Remembered(genome, float(np.mean(gains)), False)


def _same(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    return len(first) == len(second) and bool(np.allclose(first, second, rtol=_CLOSE, atol=_CLOSE))

"""How far a surrogate may be believed, measured on what it said before each measurement (prequential data).

Only outcomes that were measured whatever the model said are proof of what pruning would have lost: the epsilon
share, and everything from the time when nothing was pruned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHARES = (0.25, 0.5, 0.75, 0.875)
"""Pruning shares that can be earned."""
NEEDED_RECALL = 0.7
FEWEST = 12
"""Unbiased outcomes before anything is pruned."""
CROWD = 3
"""The best tenth is taken to hold at least this many outcomes: the recall of one is a coin."""
CHANCE = 1.645
"""Standard deviations of a rank correlation without any connection, below which it counts as none."""


@dataclass(frozen=True)
class Observation:
    """One prediction and what came out.

    Attributes:
        score: What the proposals were ranked by, higher is better; made before the measurement.
        actual: Measured log2 speed-up; None if the variant failed (worse than any that did not).
        unbiased: Measured whatever the model said.
        mean, std: What was predicted of ``actual``; None where only the score is known.
    """

    score: float
    actual: float | None
    unbiased: bool
    mean: float | None = None
    std: float | None = None


@dataclass(frozen=True)
class SurrogateMetrics:
    """Quality of a surrogate in one campaign.

    Attributes:
        count: Observations.
        unbiased: Those among them that prove recall.
        rank_correlation: Spearman over all observations; None where there are too few or they do not vary.
        decile_recall: Share of the unbiased best tenth that the better half by score holds; None if there are too few.
        prune_share: Share of proposals that the model may discard, 0 to ``SHARES[-1]``.
        calibration: Share of measured speed-ups within one predicted standard deviation, 0.68 for a normal error whose
            size the model knows; None if there are too few.
    """

    count: int
    unbiased: int
    rank_correlation: float | None
    decile_recall: float | None
    prune_share: float
    calibration: float | None = None


def metrics(observations: Sequence[Observation]) -> SurrogateMetrics:
    """All figures at once."""
    fair = [item for item in observations if item.unbiased]
    enough = len(fair) >= FEWEST
    found = recall(fair, 0.5) if enough else None
    share = prune_share(fair) if enough else 0.0
    scores, actual = [item.score for item in observations], _ordered(observations)
    return SurrogateMetrics(
        len(observations), len(fair), spearman(scores, actual), None if found is None else found[0] / found[1], share,
        calibration(observations))  # fmt: skip


def calibration(observations: Sequence[Observation]) -> float | None:
    """Share of measured speed-ups that lie within one predicted standard deviation; None for too few of them."""
    within = [
        abs(item.actual - item.mean) <= item.std
        for item in observations
        if item.actual is not None and item.mean is not None and item.std is not None
    ]
    return sum(within) / len(within) if len(within) >= FEWEST else None


def recall(observations: Sequence[Observation], pruned: float) -> tuple[int, int]:
    """(kept, all) of the best tenth, had the lowest ``pruned`` share by score been discarded."""
    actual = np.array(_ordered(observations))
    order = np.argsort([item.score for item in observations], kind="stable")
    kept = set(order[math.floor(pruned * len(order)) :].tolist())
    size = min(len(actual), max(CROWD, math.ceil(len(actual) / 10)))
    best = np.argsort(-actual, kind="stable")[:size].tolist()
    return sum(index in kept for index in best), size


def prune_share(observations: Sequence[Observation]) -> float:
    """The largest of ``SHARES`` whose recall of the best tenth, as (kept + 1) / (all + 2), is high enough; else 0.

    The rule of succession keeps a model that was right twice from being taken for a prophet. Scores that rank no better
    than chance (one-sided 5% for Spearman's coefficient, normal approximation) earn nothing, whatever they kept: of a
    few outcomes the best are kept by luck too often.
    """
    earned = 0.0
    rank = spearman([item.score for item in observations], _ordered(observations))
    if rank is None or rank <= CHANCE / math.sqrt(len(observations) - 1):
        return earned
    for share in SHARES:
        kept, size = recall(observations, share)
        if (kept + 1) / (size + 2) < NEEDED_RECALL:
            break
        earned = share
    return earned


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, ties sharing their mean rank; None for fewer than three pairs or constant data."""
    if len(first) < 3:
        return None
    a, b = _ranks(first), _ranks(second)
    if a.std() == 0.0 or b.std() == 0.0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[inverse], dtype=np.float64)


def _ordered(observations: Sequence[Observation]) -> list[float]:
    """Speed-ups with failures below all of them."""
    known = [item.actual for item in observations if item.actual is not None]
    worst = min(known, default=0.0) - 1.0
    return [worst if item.actual is None else item.actual for item in observations]

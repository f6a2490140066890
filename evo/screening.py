"""Screening: the surrogate ranks what the agents propose and discards the rest, as far as it has earned that.

Trust is the rank correlation between what it predicted before a measurement and what came out, over the last outcomes.
It sets how many proposals compete for one place on the device: one without trust (nothing is discarded), up to ``POOL``
with full trust. An epsilon share of places goes to a proposal drawn blindly from the same pool, so that mistakes are
seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo.parts import Parts
from evo.result import SurrogateReport
from evo.state import Candidate
from genome.genes import Genome
from knowledge.records import TrainingRow

POOL = 8
KAPPA = 0.5  # optimism: standard deviations added to the mean
FAILURE = 2.0  # log2 points that a certain failure costs
WINDOW = 40  # outcomes that trust looks back on
ENOUGH = 8  # outcomes before there is any trust
EVERY = 6  # outcomes between fits


@dataclass(frozen=True)
class _Pair:
    predicted: float
    actual: float
    forced: bool
    kept: bool  # would have been among the better half of its pool


class Screen:
    """Rank and discard. Without a model every proposal passes."""

    def __init__(self, parts: Parts, epsilon: float, history: Sequence[TrainingRow] = ()) -> None:
        self._parts = parts
        self._model = parts.surrogate
        self._epsilon = epsilon
        self._rows = list(history)
        self._new = 0
        self._fits = 0
        self._pairs: list[_Pair] = []
        self._kept: dict[str, bool] = {}
        self._pruned = self._forced = 0
        if self._model is not None and len(self._rows) >= ENOUGH:
            self._fit()

    @property
    def trust(self) -> float:
        """0 (does not know) to 1 (ranks perfectly)."""
        if len(self._pairs) < ENOUGH:
            return 0.0
        recent = self._pairs[-WINDOW:]
        correlation = spearman([pair.predicted for pair in recent], [pair.actual for pair in recent])
        return max(0.0, correlation or 0.0)

    @property
    def pool(self) -> int:
        """How many proposals compete for one place."""
        return 1 + round((POOL - 1) * self.trust) if self._fits else 1

    def choose(self, pool: Sequence[Candidate], rng: np.random.Generator) -> tuple[Candidate, int]:
        """The candidate that goes on, and how many were discarded for it."""
        if self._model is None or not self._fits:
            return pool[0], 0
        mean, std, failure = self._model.predict([candidate.variant.genome for candidate in pool])
        scores = np.asarray(mean) + KAPPA * np.asarray(std) - FAILURE * np.asarray(failure)
        forced = len(pool) > 1 and bool(rng.random() < self._epsilon)
        index = int(rng.integers(len(pool))) if forced else int(np.argmax(scores))
        chosen = replace(pool[index], predicted=float(mean[index]), forced=forced)
        self._kept[chosen.digest] = bool(scores[index] >= np.median(scores))
        self._pruned += len(pool) - 1
        self._forced += forced
        return chosen, len(pool) - 1

    def observe(self, candidate: Candidate, speedup: float | None) -> None:
        """Learns an outcome; fits again after every few."""
        actual = None if speedup is None else float(np.log2(speedup))
        self.remember(candidate.variant.genome, actual)
        if candidate.predicted is not None and actual is not None:
            kept = self._kept.pop(candidate.digest, True)
            self._pairs.append(_Pair(candidate.predicted, actual, candidate.forced, kept))
        if self._model is not None and self._new >= EVERY and len(self._rows) >= ENOUGH:
            self._fit()

    def remember(self, genome: Genome, log2_speedup: float | None) -> None:
        """Adds a row of this campaign without judging the model by it."""
        device, size = self._parts.features
        self._rows.append(
            TrainingRow(
                genome, self._parts.kernel.features, device, size, log2_speedup, log2_speedup is None, True, True
            )
        )
        self._new += 1

    def report(self) -> SurrogateReport:
        """How well it did in this campaign."""
        correlation = spearman([p.predicted for p in self._pairs], [p.actual for p in self._pairs])
        return SurrogateReport(
            rows=len(self._rows),
            fits=self._fits,
            rank_correlation=correlation if len(self._pairs) >= ENOUGH else None,
            recall_best_decile=_recall([pair for pair in self._pairs if pair.forced]),
            pruned=self._pruned,
            forced=self._forced,
        )

    def _fit(self) -> None:
        if self._model is not None:
            self._model.fit(self._rows)
            self._fits += 1
            self._new = 0


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation (ties share their mean rank); None for fewer than three pairs or constant data."""
    if len(first) < 3:
        return None
    a, b = _ranks(first), _ranks(second)
    if a.std() == 0.0 or b.std() == 0.0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    data = np.asarray(values, dtype=float)
    _, inverse, counts = np.unique(data, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[inverse], dtype=np.float64)


def _recall(forced: Sequence[_Pair]) -> float | None:
    """Share of the best tenth (at least one) of the blind draws that the model put into the better half of its pool."""
    if len(forced) < 3:
        return None
    best = sorted(forced, key=lambda pair: -pair.actual)[: max(1, len(forced) // 10)]
    return sum(pair.kept for pair in best) / len(best)

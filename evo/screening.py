"""Screening: the surrogate ranks what the agents propose and discards the rest, as far as it has earned that.

What it said before each measurement is kept beside what came out. The pruning share that its recall of the best tenth
earns (``knowledge.trust``) sets how many proposals compete for one place on the device. An epsilon share of places goes
to a proposal drawn blindly from the same pool, so that mistakes are seen. Where the base holds enough of this kernel on
this device, each part of it is predicted from the others, and the share that this earns holds until the campaign has
proof of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evo.parts import Parts
from evo.result import SurrogateReport
from evo.state import Candidate
from genome.genes import Genome
from knowledge.records import TrainingRow
from knowledge.trust import FEWEST, Observation, SurrogateMetrics, metrics, prune_share

KAPPA = 0.5  # optimism: standard deviations added to the mean
FAILURE = 2.0  # log2 points that a certain failure costs
ENOUGH = 8  # rows before the first fit
EVERY = 6  # outcomes between fits
FOLDS = 4  # parts of the base's experience, each predicted from the others


class Screen:
    """Rank and discard. Without a model every proposal passes."""

    def __init__(self, parts: Parts, epsilon: float, history: Sequence[TrainingRow] = ()) -> None:
        self._parts = parts
        self._model = parts.surrogate
        self._epsilon = epsilon
        self._rows = list(history)
        self._new = 0
        self._fits = 0
        self._seen: list[Observation] = []
        self._said: dict[str, tuple[float, bool]] = {}  # digest -> (score, measured whatever the score)
        self._share = 0.0
        self._pruned = self._forced = 0
        self._inherited = self._held_out()
        if len(self._rows) >= ENOUGH:
            self._fit()

    @property
    def pool(self) -> int:
        """How many proposals compete for one place."""
        return round(1.0 / (1.0 - self._share)) if self._fits else 1

    def choose(self, pool: Sequence[Candidate], rng: np.random.Generator) -> tuple[Candidate, int]:
        """The candidate that goes on, and how many were discarded for it."""
        if self._model is None or not self._fits:
            return pool[0], 0
        mean, std, failure = self._model.predict([candidate.variant.genome for candidate in pool])
        scores = mean + KAPPA * std - FAILURE * failure
        forced = len(pool) > 1 and bool(rng.random() < self._epsilon)
        index = int(rng.integers(len(pool))) if forced else int(np.argmax(scores))
        chosen = replace(pool[index], predicted=float(mean[index]), forced=forced)
        self._said[chosen.digest] = (float(scores[index]), forced or len(pool) == 1)
        self._pruned += len(pool) - 1
        self._forced += forced
        return chosen, len(pool) - 1

    def observe(self, candidate: Candidate, speedup: float | None) -> bool:
        """Learns an outcome; True if the model was fitted again (after every few outcomes)."""
        actual = None if speedup is None else float(np.log2(speedup))
        self.remember(candidate.variant.genome, actual)
        if candidate.digest in self._said:
            score, unbiased = self._said.pop(candidate.digest)
            self._seen.append(Observation(score, actual, unbiased))
        if self._new < EVERY or len(self._rows) < ENOUGH or self._model is None:
            return False
        self._fit()
        return True

    def remember(self, genome: Genome, log2_speedup: float | None) -> None:
        """Adds a row of this campaign without judging the model by it."""
        if self._parts.guide is not None:
            self._parts.guide.tell(genome, log2_speedup)
        device, size = self._parts.device_features, self._parts.size_features[0]
        failed = log2_speedup is None
        kernel = self._parts.kernel.features
        self._rows.append(TrainingRow(genome, kernel, device, size, log2_speedup, failed, True, True))
        self._new += 1

    def metrics(self) -> SurrogateMetrics:
        """How well it did in this campaign."""
        return metrics(self._seen)

    def report(self) -> SurrogateReport:
        """The same for the result, with totals."""
        now = self.metrics()
        return SurrogateReport(
            len(self._rows), self._fits, now.rank_correlation, now.decile_recall, self._pruned, self._forced
        )

    def _fit(self) -> None:
        if self._model is None:
            return
        self._model.fit(self._rows)
        self._fits += 1
        self._new = 0
        own = self.metrics()
        self._share = own.prune_share if own.unbiased >= FEWEST else self._inherited

    def _held_out(self) -> float:
        """The pruning share that the base's experience of this kernel on this device earns."""
        groups: dict[Genome, list[TrainingRow]] = {}  # a genome has a row a size: they must not be torn apart
        for row in self._rows:
            if row.same_kernel and row.same_device:
                groups.setdefault(row.genome, []).append(row)
        genomes = list(groups)
        if self._model is None or len(genomes) < FEWEST:
            return 0.0
        seen: list[Observation] = []
        for fold in range(FOLDS):
            asked = genomes[fold::FOLDS]
            left_out = set(asked)
            self._model.fit([row for genome in genomes if genome not in left_out for row in groups[genome]])
            mean, std, failure = self._model.predict(asked)
            scores = mean + KAPPA * std - FAILURE * failure
            seen += [Observation(float(s), _gain(groups[g]), True) for s, g in zip(scores, asked, strict=True)]
        return prune_share(seen)


def _gain(rows: Sequence[TrainingRow]) -> float | None:
    """Mean gain of a genome over its sizes; None if it failed at one."""
    gains = [row.log2_speedup for row in rows if row.log2_speedup is not None and not row.failed]
    return float(np.mean(gains)) if len(gains) == len(rows) else None

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

from evaluator.result import Resources
from evo.judged import Judged, asked
from evo.parts import Parts, SurrogateModel
from evo.result import SurrogateReport
from evo.state import Candidate
from evo.timing_screen import TimingScreen
from genome.genes import Genome
from knowledge.records import TrainingRow
from knowledge.trust import FEWEST, Observation, SurrogateMetrics, prune_share

FOLDS = 4  # parts of the base's experience, each predicted from the others


class Screen:
    """Rank and discard before compiling, and after it (``timing``). Without a model every proposal passes."""

    def __init__(self, parts: Parts, epsilon: float, history: Sequence[TrainingRow] = ()) -> None:
        self._parts = parts
        self._epsilon = epsilon
        self._judged = Judged(parts.surrogate, history, _held_out(parts.surrogate, history))
        self._pruned = self._forced = 0
        self.timing = TimingScreen(parts.timing_surrogate, epsilon, history)

    @property
    def pool(self) -> int:
        """How many proposals compete for one place."""
        return self._judged.pool

    def choose(self, pool: Sequence[Candidate], rng: np.random.Generator) -> tuple[Candidate, int]:
        """The candidate that goes on, and how many were discarded for it."""
        said = self._judged.ask([candidate.variant.genome for candidate in pool])
        if not said:
            return pool[0], 0
        forced = len(pool) > 1 and bool(rng.random() < self._epsilon)
        index = int(rng.integers(len(pool))) if forced else int(np.argmax([item.score for item in said]))
        chosen = replace(pool[index], predicted=said[index].mean, forced=forced)
        self._judged.bind(chosen.digest, said[index], forced or len(pool) == 1)
        self._pruned += len(pool) - 1
        self._forced += forced
        return chosen, len(pool) - 1

    def observe(self, candidate: Candidate, speedup: float | None) -> bool:
        """Learns an outcome; True if the model was fitted again (after every few outcomes)."""
        actual = None if speedup is None else float(np.log2(speedup))
        row = self._row(candidate.variant.genome, actual, candidate.resources)
        self._tell(row)
        self.timing.observe(candidate, row)
        return self._judged.observe(candidate.digest, row)

    def remember(self, genome: Genome, log2_speedup: float | None) -> None:
        """Adds a row of this campaign without judging the model by it."""
        row = self._row(genome, log2_speedup, None)
        self._tell(row)
        self._judged.learn(row)

    def metrics(self) -> SurrogateMetrics:
        """How well it did in this campaign."""
        return self._judged.metrics()

    def report(self, device_s: float = 0.0) -> SurrogateReport:
        """The same for the result, with totals; ``device_s``: what a variant takes on the device."""
        now, judged = self.metrics(), self._judged
        return SurrogateReport(
            judged.rows, judged.fits, now.rank_correlation, now.decile_recall, self._pruned, self._forced,
            now.calibration, self._pruned * device_s)  # fmt: skip

    def _tell(self, row: TrainingRow) -> None:
        if self._parts.guide is not None:
            self._parts.guide.tell(row.genome, row.log2_speedup)

    def _row(self, genome: Genome, log2_speedup: float | None, resources: Resources | None) -> TrainingRow:
        parts = self._parts
        return TrainingRow(
            genome, parts.kernel.features, parts.device_features, parts.size_features[0], log2_speedup,
            log2_speedup is None, True, True, resources)  # fmt: skip


def _held_out(model: SurrogateModel | None, rows: Sequence[TrainingRow]) -> float:
    """The pruning share that the base's experience of this kernel on this device earns."""
    groups: dict[Genome, list[TrainingRow]] = {}  # a genome has a row a size: they must not be torn apart
    for row in rows:
        if row.same_kernel and row.same_device:
            groups.setdefault(row.genome, []).append(row)
    genomes = list(groups)
    if model is None or len(genomes) < FEWEST:
        return 0.0
    seen: list[Observation] = []
    for fold in range(FOLDS):
        left_out = genomes[fold::FOLDS]
        held = set(left_out)
        model.fit([row for genome in genomes if genome not in held for row in groups[genome]])
        said = asked(model, left_out)
        seen += [Observation(s.score, _gain(groups[g]), True) for s, g in zip(said, left_out, strict=True)]
    return prune_share(seen)


def _gain(rows: Sequence[TrainingRow]) -> float | None:
    """Mean gain of a genome over its sizes; None if it failed at one."""
    gains = [row.log2_speedup for row in rows if row.log2_speedup is not None and not row.failed]
    return float(np.mean(gains)) if len(gains) == len(rows) else None

"""Fitness: the weighted geometric mean, over the tuned sizes, of baseline time over variant time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.result import Evaluation, Status, Timing
from genome.spec import ProblemSize


@dataclass(frozen=True)
class Speedup:
    """A speed-up against the baseline; ``low`` and ``high`` from the intervals of both medians."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Fitness:
    """Scores evaluations against the baseline of a campaign. A search estimate: the final proof compares medians.

    Attributes:
        sizes: Tuned sizes with their weights.
        baseline: Timing of the baseline by size label.
        fastest: Score by the fastest sample instead of the median. On a CPU everything else that runs only ever adds
            time, by factors, and for seconds at a stretch; the fastest sample is what it disturbs least.
    """

    sizes: tuple[ProblemSize, ...]
    baseline: Mapping[str, Timing]
    fastest: bool = False

    @staticmethod
    def of(sizes: Sequence[ProblemSize], baseline: Sequence[Evaluation], fastest: bool = False) -> Fitness:
        """A fitness from the baseline's evaluations.

        Raises:
            ValueError: If a tuned size has no timing.
        """
        timings = {e.size: e.timing for e in baseline if e.timing is not None}
        missing = [size.label for size in sizes if size.label not in timings]
        if missing:
            raise ValueError(f"the baseline has no timing at {', '.join(missing)}")
        return Fitness(tuple(sizes), timings, fastest)

    def score(self, evaluations: Sequence[Evaluation]) -> Speedup | None:
        """The speed-up, or None unless every tuned size was timed and nothing failed."""
        if any(e.status is not Status.OK for e in evaluations):
            return None
        timings = {e.size: e.timing for e in evaluations if e.timing is not None}
        if any(size.label not in timings for size in self.sizes):
            return None
        total = sum(size.weight for size in self.sizes)
        value = spread = rise = 0.0
        for size in self.sizes:
            base, own, share = self.baseline[size.label], timings[size.label], size.weight / total
            value += share * math.log(self._ms(base) / self._ms(own))
            spread += share * math.log(base.median_ms / base.low_ms * own.high_ms / own.median_ms)
            rise += share * math.log(base.high_ms / base.median_ms * own.median_ms / own.low_ms)
        return Speedup(math.exp(value), math.exp(value - spread), math.exp(value + rise))

    def _ms(self, timing: Timing) -> float:
        return min(timing.samples_ms) if self.fastest and timing.samples_ms else timing.median_ms

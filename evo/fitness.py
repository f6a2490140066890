"""Fitness: the weighted geometric mean, over the tuned sizes, of baseline time (or energy) over the variant's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evaluator.result import Evaluation, Status, Timing
from genome.spec import ProblemSize

METER_ERROR = 0.03
"""Part by which a measured energy may be off: an allowance, wider than what two steps of the counter leave open."""


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
        energies: Millijoules of a call of the baseline by size label, where those are what is optimised; else empty.
    """

    sizes: tuple[ProblemSize, ...]
    baseline: Mapping[str, Timing]
    fastest: bool = False
    energies: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(
        sizes: Sequence[ProblemSize], baseline: Sequence[Evaluation], fastest: bool = False, by_energy: bool = False
    ) -> Fitness:
        """A fitness from the baseline's evaluations.

        Raises:
            ValueError: If a tuned size has no timing, or no energy where that is what counts.
        """
        timings = {e.size: e.timing for e in baseline if e.timing is not None}
        missing = [size.label for size in sizes if size.label not in timings]
        if missing:
            raise ValueError(f"the baseline has no timing at {', '.join(missing)}")
        energies = {e.size: e.energy_mj for e in baseline if e.energy_mj is not None} if by_energy else {}
        unmetered = [size.label for size in sizes if by_energy and size.label not in energies]
        if unmetered:
            raise ValueError(f"the baseline has no energy at {', '.join(unmetered)}")
        return Fitness(tuple(sizes), timings, fastest, energies)

    def score(self, evaluations: Sequence[Evaluation]) -> Speedup | None:
        """The speed-up, or None unless every tuned size was timed (and metered) and nothing failed."""
        if any(e.status is not Status.OK for e in evaluations):
            return None
        if self.energies:
            return self._by_energy(evaluations)
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

    def _by_energy(self, evaluations: Sequence[Evaluation]) -> Speedup | None:
        own = {e.size: e.energy_mj for e in evaluations if e.energy_mj is not None}
        if any(size.label not in own for size in self.sizes):
            return None
        total = sum(size.weight for size in self.sizes)
        logs = [size.weight / total * math.log(self.energies[size.label] / own[size.label]) for size in self.sizes]
        value = math.exp(sum(logs))
        return Speedup(value, value * (1.0 - METER_ERROR), value * (1.0 + METER_ERROR))

    def _ms(self, timing: Timing) -> float:
        return min(timing.samples_ms) if self.fastest and timing.samples_ms else timing.median_ms

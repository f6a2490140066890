"""A machine that gets busier, hotter or quieter while a search runs: the baseline, timed again, shows it. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evaluator.api import Measured
from evaluator.messages import Retimed
from evaluator.result import Evaluation, Status, Timing

_RECORD = 0.99  # a new best time is at least a hundredth shorter
_NOTICED = 1.03  # a smaller change is not corrected: it lies within what a few samples can tell


def drift_of(first: Timing, now: Timing, fastest: bool) -> float:
    """How much longer the baseline takes now than at first; 1 where the two cannot be told apart.

    Args:
        first: Timing when the evaluator opened.
        now: A later one.
        fastest: Compare the fastest samples (a CPU, where disturbances only ever add time), else the medians.
    """
    ratio = min(now.samples_ms) / min(first.samples_ms) if fastest else now.median_ms / first.median_ms
    if 1.0 / _NOTICED <= ratio <= _NOTICED:
        return 1.0
    apart = now.low_ms > first.high_ms if ratio > 1.0 else now.high_ms < first.low_ms
    return ratio if apart else 1.0


def corrected(evaluation: Evaluation, drift: Mapping[str, float]) -> Evaluation:
    """The evaluation in units of the machine as it was when the baseline was first timed; ``drift`` keeps the factor.

    A fallback repeats the baseline's first timing and needs no correction.
    """
    factor = drift.get(evaluation.size, 1.0)
    if evaluation.timing is None or evaluation.fallback or factor == 1.0:
        return evaluation
    return replace(evaluation, timing=_scaled(evaluation.timing, 1.0 / factor), drift=factor)


def _scaled(timing: Timing, factor: float) -> Timing:
    return replace(
        timing,
        samples_ms=tuple(sample * factor for sample in timing.samples_ms),
        median_ms=timing.median_ms * factor,
        low_ms=timing.low_ms * factor,
        high_ms=timing.high_ms * factor,
    )


class DriftWatch:
    """When the baseline is to be timed again, and by how much later timings are off.

    Args:
        every: Measured variants between two looks; 0 never looks.
        fastest: See ``drift_of``.
    """

    def __init__(self, every: int, fastest: bool) -> None:
        self._every, self._fastest = every, fastest
        self._first: dict[str, Timing] = {}
        self._best: dict[str, float] = {}
        self._since = 0
        self.factors: dict[str, float] = {}
        self.looks = 0

    def start(self, baseline: Sequence[Evaluation]) -> None:
        """Takes the first timing of the baseline."""
        self._first = {evaluation.size: evaluation.timing for evaluation in baseline if evaluation.timing}
        self._best = {label: timing.median_ms for label, timing in self._first.items()}

    def due(self, measured: Measured) -> bool:
        """True if so many variants went by, or this one claims a new best time."""
        self._since += 1
        if not self._every or not self._first or measured.failure is not None:
            return False
        return self._since >= self._every or any(self._is_record(item) for item in measured.evaluations)

    def look(self, now: Retimed) -> None:
        """Takes the baseline's timing of this moment."""
        self._since, self.looks = 0, self.looks + 1
        self.factors = {
            label: drift_of(self._first[label], timing, self._fastest)
            for label, timing in now.timings.items()
            if label in self._first
        }

    def apply(self, measured: Measured) -> Measured:
        """The measurement as it would have been at first, and its best times remembered."""
        evaluations = tuple(corrected(evaluation, self.factors) for evaluation in measured.evaluations)
        if measured.failure is None:
            for item in evaluations:
                if item.timing is not None:
                    self._best[item.size] = min(self._best.get(item.size, math.inf), item.timing.median_ms)
        return replace(measured, evaluations=evaluations)

    def _is_record(self, evaluation: Evaluation) -> bool:
        if evaluation.timing is None or evaluation.fallback or evaluation.status is not Status.OK:
            return False
        ms = evaluation.timing.median_ms / self.factors.get(evaluation.size, 1.0)
        return ms < _RECORD * self._best.get(evaluation.size, math.inf)

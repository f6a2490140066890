"""How long a run takes: warm-up until stable, samples until the interval of the median is tight or a cap is met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.result import Timing

_RESAMPLES = 400
_CONFIDENCE = 0.95
_STABLE = 0.05  # warm-up ends when two runs in a row differ by less
_MOST_WARM_UPS = 5


@dataclass(frozen=True)
class Sampling:
    """When sampling ends.

    Attributes:
        least, most: Runs.
        budget_s: Seconds of runs (restores and flushes included) after which ``least`` is enough.
        target: Half width of the interval of the median, relative to it, that is tight enough.
        rungs: (runs, milliseconds): a median above that after so many runs is not worth more of them.
    """

    least: int
    most: int
    budget_s: float
    target: float
    rungs: tuple[tuple[int, float], ...] = ()

    def worth_more(self, samples: Sequence[float]) -> bool:
        """False if the median is above the limit of a rung that these samples have reached."""
        median = float(np.median(samples)) if samples else 0.0
        return all(median <= limit for runs, limit in self.rungs if len(samples) >= runs)


def median_interval(
    samples: Sequence[float], seed: int, confidence: float = _CONFIDENCE, resamples: int = _RESAMPLES
) -> tuple[float, float]:
    """Percentile bootstrap interval of the median (Efron and Tibshirani, 1993, chapter 13).

    Inside one process it tells the noise of that process only: memory placement and clocks differ between processes.
    """
    data = np.asarray(samples, np.float64)
    if data.size == 1:
        return float(data[0]), float(data[0])
    rng = np.random.default_rng(seed)
    medians = np.median(rng.choice(data, (resamples, data.size)), axis=1)
    low, high = np.quantile(medians, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return float(low), float(high)


def summarise(samples: Sequence[float], seed: int) -> Timing:
    """Samples in milliseconds with their median and its interval."""
    low, high = median_interval(samples, seed)
    return Timing(tuple(samples), float(np.median(samples)), low, high)


def is_tight(samples: Sequence[float], target: float, seed: int) -> bool:
    """True if the interval's half width is at most ``target`` of the median."""
    low, high = median_interval(samples, seed)
    return high - low <= 2.0 * target * float(np.median(samples))


def warm_up(run: Callable[[], float], budget_s: float, clock: Callable[[], float]) -> float:
    """Runs until two runs in a row agree, the budget is used, or a few runs went by; once at least.

    Returns:
        Milliseconds of the last run.
    """
    start = clock()
    last = run()
    for _ in range(_MOST_WARM_UPS - 1):
        if clock() - start >= budget_s:
            break
        previous, last = last, run()
        if abs(last - previous) <= _STABLE * max(last, previous):
            break
    return last


def sample(
    run: Callable[[], float], sampling: Sampling, seed: int, clock: Callable[[], float], first: Sequence[float] = ()
) -> Timing:
    """Adaptive sampling.

    Args:
        run: Does one run with all its preparation; milliseconds of the run alone.
        sampling: When to end.
        seed: Of the bootstrap.
        clock: Seconds, for the budget.
        first: Samples that exist already.
    """
    return sample_batches(lambda count: [run() for _ in range(count)], sampling, seed, clock, first, 1)


def sample_batches(
    runs: Callable[[int], Sequence[float]], sampling: Sampling, seed: int, clock: Callable[[], float],
    first: Sequence[float], width: int,
) -> Timing:  # fmt: skip
    """Adaptive sampling, ``width`` runs at a time. ``runs`` does so many of them; milliseconds of each."""
    samples = list(first)
    start = clock()
    while len(samples) < sampling.most:
        missing = sampling.least - len(samples)
        if missing <= 0 and (clock() - start >= sampling.budget_s or is_tight(samples, sampling.target, seed)):
            break
        if missing <= 0 and not sampling.worth_more(samples):
            break
        samples += runs(min(max(missing, width), sampling.most - len(samples)))
    return summarise(samples, seed)

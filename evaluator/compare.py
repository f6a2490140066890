"""The figures of the final proof: medians over fresh processes, and a bootstrap over those processes. Pure.

The noise between processes (placement of memory, clocks, neighbours) is larger than the noise inside one, so that the
process is the unit that is resampled. With five processes the interval spans their extremes, which covers the true
median in 1 - 2/2**5 = 94% of cases (the sign test's bound).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evaluator.api import Comparison, SizeComparison
from evaluator.messages import Compared
from evaluator.result import Evaluation
from genome.spec import ProblemSize

_RESAMPLES = 4000
_CONFIDENCE = 0.95


def bootstrap_median(values: Sequence[float], seed: int, confidence: float = _CONFIDENCE) -> tuple[float, float, float]:
    """Median over processes and its percentile bootstrap interval: (median, low, high)."""
    data = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    medians = np.median(rng.choice(data, (_RESAMPLES, data.size)), axis=1)
    low, high = np.quantile(medians, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
    return float(np.median(data)), float(low), float(high)


def summarise_proof(
    variant: str,
    index: int,
    results: Sequence[Compared],
    sizes: Sequence[ProblemSize],
    seed: int,
    failure: str,
    believe_noise: bool = False,
) -> Comparison:
    """Puts together what the processes saw of one champion.

    Args:
        variant: Digest of the champion.
        index: Its place in every ``Compared``; the baseline is at 0.
        results: One for each process that ended.
        sizes: Tuned sizes with their weights.
        seed: Of the bootstrap.
        failure: What killed a process, if that was this champion; empty otherwise.
        believe_noise: Call every ratio above one a gain.
    """
    failures = [failure] if failure else []
    failures += [result.failures[index] for result in results if result.failures[index]]
    failures += [f"the kernel as it is: {result.failures[0]}" for result in results if result.failures[0]]
    checks = _worst_checks([result.checks[index] for result in results])
    if failures or not results:
        text = failures[0] if failures else "no process ended"
        return Comparison(variant, (), 0.0, 0.0, 0.0, False, text, len(results), checks)
    logs = np.array([[_log_ratio(result, index, size.label) for size in sizes] for result in results])
    weights = np.array([size.weight for size in sizes])
    whole = logs @ (weights / weights.sum())
    median, low, high = (math.exp(value) for value in bootstrap_median(list(whole), seed))
    rows = tuple(_row(results, index, size, logs[:, column], seed) for column, size in enumerate(sizes))
    gain = median > 1.0 if believe_noise else low > 1.0
    note = "; ".join(filter(None, ("" if gain else _no_gain(median, low, high), _uncovered(checks))))
    return Comparison(variant, rows, median, low, high, True, "", len(results), checks, gain, note)


def with_remark(comparison: Comparison, remark: str) -> Comparison:
    """The comparison with what limits it beyond what it says itself."""
    if not remark or not comparison.verified:
        return comparison
    return replace(comparison, note="; ".join(filter(None, (comparison.note, remark))))


def _uncovered(checks: Sequence[Evaluation]) -> str:
    """Empty if the evolved kernel ran at enough sizes that it was not tuned on."""
    coverage = Comparison("", (), 1.0, 1.0, 1.0, True, checks=tuple(checks)).coverage
    if coverage.enough or not coverage.fallback:
        return ""
    return (
        f"the evolved kernel ran at {len(coverage.evolved)} sizes that it was not tuned on; its guard gives way to the "
        f"original one at {', '.join(coverage.fallback)}"
    )


def _no_gain(median: float, low: float, high: float) -> str:
    if median <= 1.0:
        return f"no gain: {median:.3f}x the speed of the original kernel ({low:.3f} to {high:.3f})"
    return f"no gain: {median:.3f}x lies inside the noise, its 95% interval is {low:.3f} to {high:.3f}"


def _row(
    results: Sequence[Compared], index: int, size: ProblemSize, logs: NDArray[np.float64], seed: int
) -> SizeComparison:
    median, low, high = (math.exp(value) for value in bootstrap_median(list(logs), seed))
    baseline = [result.timings[0][size.label].median_ms for result in results]
    best = [_timing(result, index, size.label) for result in results]
    row = SizeComparison(size.label, float(np.median(baseline)), float(np.median(best)), median, low, high)
    if not all(result.energies for result in results):
        return row
    energies = [[_energy(result, which, size.label) for result in results] for which in (0, index)]
    return replace(row, baseline_mj=float(np.median(energies[0])), best_mj=float(np.median(energies[1])))


def _timing(result: Compared, index: int, label: str) -> float:
    """A champion whose guard does not hold at a size runs the baseline there: the same time, a ratio of one."""
    timings: Mapping[str, object] = result.timings[index]
    return result.timings[index if label in timings else 0][label].median_ms


def _energy(result: Compared, index: int, label: str) -> float:
    return result.energies[index if label in result.energies[index] else 0][label]


def _log_ratio(result: Compared, index: int, label: str) -> float:
    """Of what is optimised: energies where the process has measured them, else times."""
    if result.energies:
        return math.log(_energy(result, 0, label) / _energy(result, index, label))
    return math.log(result.timings[0][label].median_ms / _timing(result, index, label))


def _worst_checks(checks: Sequence[Sequence[Evaluation]]) -> tuple[Evaluation, ...]:
    """Per check size the evaluation of the process that saw most: a failure, else the largest error."""
    worst: dict[str, Evaluation] = {}
    for evaluation in (evaluation for process in checks for evaluation in process):
        known = worst.get(evaluation.size)
        if known is None or (not known.message and (evaluation.message or _error(evaluation) > _error(known))):
            worst[evaluation.size] = evaluation
    return tuple(worst.values())


def _error(evaluation: Evaluation) -> float:
    return evaluation.max_error or 0.0

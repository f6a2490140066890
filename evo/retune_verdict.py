"""Whether a champion has lost on a changed platform, and whether a search has mended that. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from evaluator.api import Comparison


class Verdict(StrEnum):
    """What became of a champion."""

    KEPT = "kept"  # right, and not slower than it was beyond the intervals
    MENDED = "mended"  # it had lost, and a campaign has found what makes up for it
    LOST = "lost"  # it has lost, and the campaign has found nothing that makes up for it
    FAILED = "failed"  # it could not be looked at: the kernel itself does not run, say
    MENDING = "mending"  # it has lost, and its campaign has not ended


@dataclass(frozen=True)
class Figure:
    """A proven speed-up: over all tuned sizes, with its interval, and milliseconds at each.

    Attributes:
        times_ms: (size label, of the kernel as it is, of the champion).
    """

    speedup: float
    low: float
    high: float
    times_ms: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class Finding:
    """A champion that was looked at again.

    Attributes:
        key: Of the case, for an interrupted retune that goes on.
        campaign, kernel, file, entry: What it is about; ``file`` is the campaign file.
        device, toolchain: The platform at hand.
        was_on: Device of the figures of then.
        changes: What differs from the platform where it was proven.
        variant: Its digest, then.
        then, now, after: Its figures when it was proven, now, and those of the winner of the campaign that mends; None
            where there are none.
        note: What a person should know; empty if nothing.
        results: Folder that the campaign has written, or empty.
    """

    key: str
    campaign: str
    kernel: str
    file: str
    entry: str
    device: str
    toolchain: str
    was_on: str
    changes: tuple[str, ...]
    variant: str
    then: Figure
    verdict: Verdict
    now: Figure | None = None
    after: Figure | None = None
    note: str = ""
    results: str = ""

    def noted(self, *notes: str) -> Finding:
        """With more to say."""
        return replace(self, note="; ".join(note for note in (self.note, *notes) if note))


def figure_of(comparison: Comparison) -> Figure | None:
    """The figures of a comparison; None unless it is verified."""
    if not comparison.verified:
        return None
    times = tuple((row.size, row.baseline_ms, row.best_ms) for row in comparison.sizes)
    return Figure(comparison.speedup, comparison.low, comparison.high, times)


def has_lost(then: Figure, now: Figure | None, weights: Mapping[str, float], by_time: bool) -> bool:
    """True if the speed-up lies below that of then by more than both intervals, and the champion itself takes longer.

    A speed-up falls as well where a new compiler makes the kernel as it is faster: then nothing was lost.

    Args:
        then: When it was proven.
        now: On the platform at hand; None if it is wrong there, or does not run.
        weights: Of the tuned sizes, by label.
        by_time: False where the times of then mean nothing now: other hardware, or energy is what counts.
    """
    if now is None:
        return True
    if now.high >= then.low:
        return False
    return not by_time or _ratio(then, now, weights) > 1.0


def is_mended(then: Figure, after: Figure | None, weights: Mapping[str, float], by_time: bool, same: bool) -> bool:
    """True if the winner of the campaign makes up for the loss.

    On other hardware the figure of then is no measure of what can be reached: there it is enough that the winner is
    faster than the kernel as it is, beyond the interval.

    Args:
        then: The champion when it was proven.
        after: The winner; None if nothing was proven.
        weights: Of the tuned sizes, by label.
        by_time: See ``has_lost``.
        same: True on the hardware where the champion was proven.
    """
    if after is None or after.low <= 1.0:
        return False
    return not same or not has_lost(then, after, weights, by_time)


def worst(findings: Sequence[Finding]) -> Verdict:
    """The verdict over all: lost if anything is, or could not be looked at; else mended if anything is; else kept."""
    verdicts = {finding.verdict for finding in findings}
    if verdicts & {Verdict.LOST, Verdict.FAILED, Verdict.MENDING}:
        return Verdict.LOST
    return Verdict.MENDED if Verdict.MENDED in verdicts else Verdict.KEPT


def figure_json(figure: Figure | None) -> dict[str, Any] | None:
    """The figures as plain data."""
    if figure is None:
        return None
    sizes = [{"size": size, "baseline_ms": before, "best_ms": after} for size, before, after in figure.times_ms]
    return {"speedup": figure.speedup, "low": figure.low, "high": figure.high, "sizes": sizes}


def figure_from(data: Any) -> Figure | None:
    """The inverse of ``figure_json``.

    Raises:
        KeyError, TypeError, ValueError: If it is none.
    """
    if data is None:
        return None
    times = ((str(row["size"]), float(row["baseline_ms"]), float(row["best_ms"])) for row in data["sizes"])
    return Figure(float(data["speedup"]), float(data["low"]), float(data["high"]), tuple(times))


def _ratio(then: Figure, now: Figure, weights: Mapping[str, float]) -> float:
    """Weighted geometric mean of the champion's time now over its time then, at the sizes that both know; 1 if none."""
    before = {size: best for size, _, best in then.times_ms}
    logs = [(weights.get(size, 1.0), math.log(best / before[size])) for size, _, best in now.times_ms if size in before]
    total = sum(weight for weight, _ in logs)
    return math.exp(sum(weight * log for weight, log in logs) / total) if total else 1.0

"""What the entries of a campaign come to together: the time of the whole before and after."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evo.campaign_types import CampaignError, EntriesCampaign, Entry
from evo.entries_journal import BEST, FINISHED, Journal
from evo.entries_share import call_ms
from genome.spec import ProblemSize


@dataclass(frozen=True)
class Whole:
    """Milliseconds of all entries together, by their calls.

    Attributes:
        before_ms: As they were.
        after_ms: As they are; ``least_ms`` and ``most_ms`` with every entry at an end of its interval.
    """

    before_ms: float
    after_ms: float
    least_ms: float
    most_ms: float

    @property
    def speedup(self) -> dict[str, float]:
        """Median, low and high. The interval holds at least what those of the entries hold together: it is wider than
        95% where their errors are independent.
        """
        return {"median": self.before_ms / self.after_ms, "low": self.before_ms / self.most_ms,
                "high": self.before_ms / self.least_ms}  # fmt: skip


def entry_whole(calls: float, sizes: Sequence[ProblemSize], rows: Sequence[Mapping[str, Any]]) -> Whole:
    """Of one entry.

    Args:
        calls: How often it is called.
        sizes: Its tuned sizes.
        rows: One a size, in the same order: ``baseline_ms``, ``speedup`` (runs in turn, so that it says more than two
            medians of their own), and the ``low`` and ``high`` end of its interval, or None where it was not proven.
    """

    def faster(ratios: Sequence[float]) -> float:
        """Milliseconds of all calls, with each size so many times faster."""
        times = {size.label: row["baseline_ms"] / by for size, row, by in zip(sizes, rows, ratios, strict=True)}
        return calls * call_ms(sizes, times)

    proven = [row["speedup"] or 1.0 for row in rows]
    ends = [[row[end] or ratio for row, ratio in zip(rows, proven, strict=True)] for end in ("high", "low")]
    return Whole(faster([1.0] * len(rows)), faster(proven), *map(faster, ends))


def together(parts: Sequence[Whole]) -> Whole:
    """Of all entries."""
    return Whole(
        sum(part.before_ms for part in parts), sum(part.after_ms for part in parts),
        sum(part.least_ms for part in parts), sum(part.most_ms for part in parts),
    )  # fmt: skip


def combined_json(
    plan: EntriesCampaign, journal: Journal, interrupted: str = "", stopped: bool = False
) -> dict[str, Any]:
    """The content of the upper ``best.json``.

    Args:
        plan: The campaign.
        journal: Which entries have ended. What they found is read from their own ``best.json``.
        interrupted: The entry that was stopped and has written what it found; empty if none was.
        stopped: The user ended it, be it between two entries.

    Raises:
        CampaignError: If the result of an entry that has ended is gone.
    """
    rows, parts = [], []
    for entry in plan.entries:
        tuned = entry.name in journal.ended or entry.name == interrupted
        found = _found(plan, entry) if tuned else None
        parts.append(_whole(plan, entry, found, journal.times_ms[entry.name]))
        rows.append(_row(entry, found, parts[-1]))
    whole = together(parts)
    for row, part in zip(rows, parts, strict=True):
        row["share_before"], row["share_after"] = part.before_ms / whole.before_ms, part.after_ms / whole.after_ms
    return {
        "campaign": plan.name,
        "device": next((row["device"] for row in rows if row["device"]), ""),
        "speedup": whole.speedup,
        "before_ms": whole.before_ms,
        "after_ms": whole.after_ms,
        "verified": all(row["verified"] for row in rows),
        "improved": any(row["improved"] for row in rows),
        "evaluations": sum(row["evaluations"] for row in rows),
        "stop": _stop(len(journal.ended) == len(rows), stopped or bool(interrupted)),
        "elapsed_s": round(journal.weighing_s + sum(spent.seconds for spent in journal.ended.values()), 3),
        "seed": plan.seed,
        "campaign_file": os.path.relpath(plan.path.resolve(), plan.output.resolve()),
        "entries": rows,
    }


def _stop(finished: bool, stopped: bool) -> str:
    if finished:
        return FINISHED
    return "interrupted" if stopped else "running"


def _found(plan: EntriesCampaign, entry: Entry) -> Mapping[str, Any]:
    """What the entry has written.

    Raises:
        CampaignError: If it is not there any more.
    """
    try:
        data: Mapping[str, Any] = json.loads((plan.output / entry.name / BEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _lost(plan, entry, str(error)) from None
    return data


def _lost(plan: EntriesCampaign, entry: Entry, why: str) -> CampaignError:
    path = plan.output / entry.name / BEST
    return CampaignError(f"{path}: the result of an entry that has ended cannot be read ({why}); run without --resume")


def _whole(plan: EntriesCampaign, entry: Entry, found: Mapping[str, Any] | None, weighed_ms: float) -> Whole:
    """Of an entry as it was found, or as it was weighed.

    Raises:
        CampaignError: If what the entry has written is not what it writes.
    """
    if found is None:
        return Whole(weighed_ms, weighed_ms, weighed_ms, weighed_ms)
    try:
        return entry_whole(entry.calls, entry.campaign.spec.sizes, found["sizes"])
    except (KeyError, TypeError, ValueError) as error:
        raise _lost(plan, entry, repr(error)) from None


def _row(entry: Entry, found: Mapping[str, Any] | None, part: Whole) -> dict[str, Any]:
    data = found or {}
    return {
        "name": entry.name,
        "kernel": entry.campaign.spec.name,
        "calls": entry.calls,
        "file": f"{entry.name}/{BEST}" if found else None,
        "device": data.get("device", ""),
        "before_ms": part.before_ms,
        "after_ms": part.after_ms,
        "speedup": part.speedup,
        "verified": bool(data.get("verified", False)),
        "improved": bool(data.get("improved", False)),
        "evaluations": int(data.get("evaluations", 0)),
        "stop": data.get("stop", "not begun"),
    }

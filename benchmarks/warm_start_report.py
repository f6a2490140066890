"""Reads the runs that the warm-start bench has kept, and says what they come to."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warm_start_kernels import Kernel
from warm_start_poison import KINDS

SHARE = 0.95
BATCH_SHARE = 0.1
"""Part of the budget that counts as the first batch: what the portfolio takes at most."""


def report(folder: Path, kernels: Sequence[Kernel], paired: str) -> dict[str, Any]:
    """Rows of every part that was run, and a summary of each.

    Args:
        folder: Where the runs are kept.
        kernels: All of the bench.
        paired: Kernel of the parts ``seeds`` and ``poison``.
    """
    names = [kernel.name for kernel in kernels]
    sizes = [row for name in names if (row := _first_batch(folder, name))]
    left_out = {part: [row for name in names if (row := _pair(folder, f"cold-{name}", f"{part}-{name}", name))]
                for part in ("kernel", "family")}  # fmt: skip
    seeds = _numbers(folder, r"judged-seed(\d+)")
    pairs = [_pair(folder, f"seed{n}-cold", f"seed{n}-warm", paired, f"judged-seed{n}", n) for n in seeds]
    poisons = {
        kind: [row for n in seeds if (row := _pair(folder, f"seed{n}-cold", f"{kind}{n}", paired, seed=n))]
        for kind in KINDS
    }
    parts = {**left_out, "seeds": [row for row in pairs if row], **poisons}
    gained = [row for row in sizes if row["gains"]]
    summary: dict[str, Any] = {}
    if gained:
        within = sum(row["first_batch_within"] for row in gained)
        summary["size"] = {"kernels": len(sizes), "gained": len(gained), "median": _median(gained, "first_batch"),
                           "within_interval": within}  # fmt: skip
    summary |= {part: _summary(rows) for part, rows in parts.items() if rows}
    return {"summary": summary, "size": sizes, **{part: rows for part, rows in parts.items() if rows}}


def _first_batch(folder: Path, name: str) -> dict[str, Any] | None:
    """What the first batch of a warm run held of the run's own best."""
    run, figures = _read(folder, f"size-{name}"), _read(folder, f"judged-size-{name}")
    if run is None or figures is None:
        return None
    batch = max(1, round(BATCH_SHARE * run["evaluations"]))
    first = {**run, "records": [record for record in run["records"] if record["evaluation"] <= batch]}
    held, end = _end(first, figures), _end(run, figures)
    return {
        "kernel": name, "size": run["size"], "batch": batch, "gains": end["low"] > 1.0,
        "first_batch": round(held["speedup"] / end["speedup"], 3),
        "first_batch_within": held["high"] >= SHARE * end["speedup"], "held": held, "end": end,
    }  # fmt: skip


def _pair(folder: Path, cold: str, warm: str, kernel: str, judge: str = "", seed: int = 1) -> dict[str, Any] | None:
    """When a cold and a warm run arrived, and where both ended, by one comparison of the good ones of both."""
    runs, figures = (_read(folder, cold), _read(folder, warm)), _read(folder, judge or f"judged-{warm}")
    if runs[0] is None or runs[1] is None or figures is None:
        return None
    ends = [_end(run, figures) for run in runs]
    goal = SHARE * ends[0]["speedup"]
    arrived = [_arrival(run, figures, goal) for run in runs]
    near = [_arrival(run, figures, goal, "high") for run in runs]
    return {
        "kernel": kernel, "seed": seed, "gains": ends[0]["low"] > 1.0, "cold": arrived[0], "warm": arrived[1],
        "share": round(arrived[1] / arrived[0], 3), "cold_within": near[0], "warm_within": near[1],
        "share_within": round(near[1] / near[0], 3), "cold_end": ends[0], "warm_end": ends[1],
        "never_worse": ends[1]["high"] >= ends[0]["low"], "evaluations": runs[0]["evaluations"],
        "looked_up": runs[1]["looked_up"],
    }  # fmt: skip


def _end(run: dict[str, Any], figures: dict[str, Any]) -> dict[str, float]:
    """The best that a run found; the untransformed kernel if nothing held."""
    found = [figures[record["genome"]] for record in run["records"] if record["genome"] in figures]
    return max(found, key=lambda figure: figure["speedup"], default={"speedup": 1.0, "low": 1.0, "high": 1.0})


def _arrival(run: dict[str, Any], figures: dict[str, Any], goal: float, bound: str = "speedup") -> int:
    """Fresh measurements until the goal; one more than all of them if it was not reached.

    ``bound`` is what has to reach it: the figure itself, or the upper end of its interval (``high``).
    """
    for record in run["records"]:
        if record["genome"] in figures and figures[record["genome"]][bound] >= goal:
            return int(record["evaluation"])
    return int(run["evaluations"]) + 1


def _summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians and totals over the pairs whose cold run gained something."""
    gained = [row for row in rows if row["gains"]]
    if not gained:
        return {"pairs": len(rows), "gained": 0}
    late = [row for row in gained if row["cold"] >= 3]
    return {
        "pairs": len(rows), "gained": len(gained), "median_share": _median(gained, "share"),
        "median_share_where_cold_took_3_or_more": _median(late, "share") if late else None, "took_3_or_more": len(late),
        "measurements": _total(gained, ""), "median_share_within_interval": _median(gained, "share_within"),
        "measurements_within_interval": _total(gained, "_within"),
        "worse_than_cold_beyond_the_interval": [row["kernel"] for row in rows if not row["never_worse"]],
    }  # fmt: skip


def _total(rows: Sequence[dict[str, Any]], reading: str) -> dict[str, float]:
    cold, warm = (sum(row[name + reading] for row in rows) for name in ("cold", "warm"))
    return {"cold": cold, "warm": warm, "ratio": round(warm / cold, 3)}


def _median(rows: Sequence[dict[str, Any]], field: str) -> float:
    return round(float(statistics.median(row[field] for row in rows)), 3)


def _numbers(folder: Path, pattern: str) -> list[int]:
    matches = (re.fullmatch(pattern, path.stem) for path in folder.glob("*.json"))
    return sorted(int(match.group(1)) for match in matches if match)


def _read(folder: Path, name: str) -> Any:
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None

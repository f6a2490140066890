"""A campaign of several entries in lines. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evo.report.summary import milliseconds, times


def whole_lines(data: Mapping[str, Any]) -> list[str]:
    """The summary of a run, from its upper ``best.json``."""
    speedup = data["speedup"]
    interval = f"{times(speedup['low'])} to {times(speedup['high'])}"
    gain = f"{times(speedup['median'])} faster together ({interval})" if data["improved"] else "nothing became faster"
    proof = "" if data["verified"] else "; not all of it is verified"
    before, after = milliseconds(data["before_ms"]), milliseconds(data["after_ms"])
    lines = [f"{data['campaign']}: {gain}, {before} -> {after}{proof}"]
    for row in data["entries"]:
        before, after = milliseconds(row["before_ms"]), milliseconds(row["after_ms"])
        what = f"{times(row['speedup']['median'])}, {before} -> {after}" if row["file"] else "left as it is"
        lines.append(f"  {row['name']}: {what}; {row['share_before']:.0%} of the time before, "
                     f"{row['share_after']:.0%} after")  # fmt: skip
    return lines

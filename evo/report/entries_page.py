"""``report.html`` of a campaign of several entries: what they come to together, and where each one's report is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evo.report.markup import bar, bullets, code, section, table, text
from evo.report.style import CSS
from evo.report.summary import milliseconds, times


def entries_html(data: Mapping[str, Any]) -> str:
    """The whole page, from what ``best.json`` holds (``evo.entries_result.combined_json``)."""
    title = f"{data['campaign']} on {data['device']}"
    body = [_header(data), section("Entries", _table(data), _note(data))]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{CSS}</style></head>\n'
        "<body><main>\n" + "\n".join(body) + "\n</main></body></html>\n"
    )


def _header(data: Mapping[str, Any]) -> str:
    speedup = data["speedup"]
    hero = '<div class="hero none"><strong>No gain</strong><span>the kernels as they are stay the best</span></div>'
    if data["improved"]:
        hero = (
            f'<div class="hero"><strong>{text(times(speedup["median"]))}</strong><span>faster together, interval '
            f"{text(times(speedup['low']))} to {text(times(speedup['high']))}</span></div>"
        )
    good = '<span class="badge good">verified</span>'
    badge = good if data["verified"] else '<span class="badge bad">not verified</span>'
    detail = f"{milliseconds(data['before_ms'])} before, {milliseconds(data['after_ms'])} after"
    return (
        f"<header><h1>{text(data['campaign'])} <span>on {text(data['device'])}</span></h1>{hero}"
        f'<p>{badge} <span class="muted">{text(detail)}</span></p></header>'
    )


def _table(data: Mapping[str, Any]) -> str:
    rows = []
    for row in data["entries"]:
        name = text(row["name"])
        linked = f'<a href="{name}/report.html">{name}</a>' if row["file"] else name
        before, after = milliseconds(row["before_ms"]), milliseconds(row["after_ms"])
        rows.append([
            linked, text(f"{row['calls']:g}"), text(before), text(after),
            f"<b>{text(times(row['speedup']['median']))}</b>", f"{row['share_before']:.0%}{bar(row['share_before'])}",
            f"{row['share_after']:.0%}{bar(row['share_after'])}", str(row["evaluations"]), code(row["stop"]),
        ])  # fmt: skip
    titles = ("entry", "calls", "before", "after", "speed-up", "of the time before", "after", "measured", "stopped by")
    return table(titles, rows, numeric=(1, 2, 3, 4, 7))


def _note(data: Mapping[str, Any]) -> str:
    notes = [
        "Times are those of all calls of an entry, the mean over its tuned sizes by their weights.",
        "The interval of the whole takes every entry at an end of its own.",
    ]
    untouched = [row["name"] for row in data["entries"] if not row["file"]]
    notes += [f"Not tuned, and counted as it is: {', '.join(untouched)}."] * bool(untouched)
    return bullets([text(note) for note in notes])

"""Snapshots as text and as a rich view. Pure: the screens decide when to draw."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from evo.progress import BestSoFar, CampaignPhase, CampaignStart, ProgressSnapshot
from evo.report.summary import before_and_after, headline, milliseconds, times
from evo.result import CampaignResult, StopReason, SurrogateReport

_STOPPED = {
    StopReason.EVALUATIONS: "the budget of measurements is spent",
    StopReason.MINUTES: "the time is up",
    StopReason.PATIENCE: "no better variant for long enough",
    StopReason.EXHAUSTED: "the agents have nothing new to propose",
    StopReason.INTERRUPTED: "stopped by the user",
}
_BARS = "▁▂▃▄▅▆▇█"


def minutes_text(seconds: float | None) -> str:
    """``2:05``, or a dash."""
    if seconds is None:
        return "-"
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def start_line(start: CampaignStart) -> str:
    """Device and baseline in a line."""
    base = ", ".join(f"{label}: {milliseconds(ms)}" for label, ms in start.baseline_ms)
    resumed = f"; goes on after {start.resumed} finished evaluations" if start.resumed else ""
    return f"{start.kernel} on {start.device.name} ({start.toolchain.platform}); as it is {base}{resumed}"


def counters(snapshot: ProgressSnapshot) -> tuple[tuple[str, str], ...]:
    """Names and values of the counters in the order in which they are shown."""
    limit = f"/{snapshot.limit}" if snapshot.limit else ""
    return (
        ("evaluated", f"{snapshot.evaluations}{limit}"),
        ("cached", str(snapshot.cached)),
        ("pruned", str(snapshot.pruned)),
        ("rejected", str(snapshot.rejected)),
        ("wrong", str(snapshot.wrong)),
        ("failed", str(snapshot.failed)),
    )


def best_text(best: BestSoFar | None) -> str:
    """``12.3x (12.1x to 12.5x) by memory-layout``."""
    if best is None:
        return "none yet"
    return f"{times(best.speedup)} ({times(best.low)} to {times(best.high)}) by {best.agent}"


def plain_line(snapshot: ProgressSnapshot) -> str:
    """One line with everything: for logs."""
    clock = f"[{minutes_text(snapshot.elapsed_s)}]"
    if snapshot.steps:
        return f"{clock} {snapshot.phase} {snapshot.step}/{snapshot.steps}: {snapshot.message}".rstrip(": ")
    if snapshot.phase in (CampaignPhase.STARTING, CampaignPhase.DONE):
        return f"{clock} {snapshot.phase}: {snapshot.message}".rstrip(": ")
    numbers = ", ".join(f"{name} {value}" for name, value in counters(snapshot))
    left = f", {minutes_text(snapshot.seconds_left)} left" if snapshot.seconds_left is not None else ""
    message = f" | {snapshot.message}" if snapshot.message else ""
    return f"{clock} {snapshot.phase}: {numbers}; best {best_text(snapshot.best)}{left}{message}"


def finish_lines(result: CampaignResult) -> list[str]:
    """The summary that stays on the terminal."""
    lines = [f"{result.kernel}: {headline(result)}"]
    for row in result.comparison.sizes:
        before, after = before_and_after(row)
        lines.append(f"  {row.size}: {before} -> {after}, {times(row.speedup)}")
    comparison = result.comparison
    if comparison.verified and comparison.processes:
        where = f"at {len(comparison.checks)} further sizes" if comparison.checks else "with other inputs"
        lines.append(f"  verified {where}, in {comparison.processes} fresh processes")
    elif comparison.message:
        lines.append(f"  {'' if comparison.verified else 'not verified: '}{comparison.message}")
    lines.append(f"  {_STOPPED[result.stop]} after {minutes_text(result.elapsed_s)} "
                 f"and {result.counts.evaluations} measurements")  # fmt: skip
    lines += surrogate_lines(result.surrogate)
    lines += surrogate_lines(result.timing_surrogate, "surrogate after compiling", "variants")
    return lines + [f"  {note}" for note in result.notes if note != comparison.message]


def surrogate_lines(report: SurrogateReport, name: str = "surrogate", what: str = "proposals") -> list[str]:
    """What a surrogate discarded and how far it could be trusted; nothing where it was never fitted."""
    if not report.fits:
        return []
    rank = "" if report.rank_correlation is None else f", rank correlation {report.rank_correlation:.2f}"
    recall = report.recall_best_decile
    kept = "" if recall is None else f", would have kept {recall:.0%} of the best tenth"
    return [f"  {name}: discarded {report.pruned} {what}, let {report.forced} pass unseen{rank}{kept}"]


def board_view(
    name: str,
    start: CampaignStart | None,
    snapshot: ProgressSnapshot,
    messages: Sequence[str],
    gains: Sequence[float],
) -> RenderableType:
    """The live screen."""
    parts: list[RenderableType] = [Rule(Text(f" {name} ", style="bold"), align="left", style="dim")]
    if start:
        parts.append(Text(start_line(start), style="dim"))
    parts += [_bar_row(snapshot), _counter_row(snapshot), _best_row(snapshot.best, gains)]
    parts += [Text(f"  {message}", style="dim", overflow="ellipsis", no_wrap=True) for message in messages]
    return Padding(Group(*parts), (0, 1))


def _bar_row(snapshot: ProgressSnapshot) -> RenderableType:
    done, total = (snapshot.step, snapshot.steps) if snapshot.steps else (snapshot.evaluations, snapshot.limit)
    row = Table.grid(padding=(0, 2), expand=True)
    row.add_column(no_wrap=True)
    row.add_column(ratio=1)
    row.add_column(no_wrap=True, justify="right")
    left = f"{minutes_text(snapshot.seconds_left)} left" if snapshot.seconds_left is not None else "no time limit"
    pulse = snapshot.phase is CampaignPhase.STARTING or not total
    row.add_row(
        Text(str(snapshot.phase), style="cyan"),
        ProgressBar(total=total or 1, completed=done, pulse=pulse, complete_style="cyan", finished_style="cyan"),
        Text(f"{minutes_text(snapshot.elapsed_s)} gone, {left}"),
    )
    return row


def _counter_row(snapshot: ProgressSnapshot) -> RenderableType:
    texts = []
    for name, value in counters(snapshot):
        alarm = name in ("wrong", "failed") and value != "0"
        texts.append(Text.assemble((f"{name} ", "dim"), (value, "yellow" if alarm else "bold")))
    return Columns(texts, padding=(0, 3))


def _best_row(best: BestSoFar | None, gains: Sequence[float]) -> RenderableType:
    style = "bold green" if best and best.low > 1 else "bold"
    return Text.assemble(("best ", "dim"), (best_text(best), style), "   ", (sparkline(gains), "green"))


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """The history of positive values as a row of bars on a log scale."""
    if len(values) < 2:
        return ""
    count = min(width, len(values))
    picked = [values[index * (len(values) - 1) // (count - 1)] for index in range(count)]
    logs = [math.log(max(value, 1e-9)) for value in picked]
    low, high = min(logs), max(logs)
    if high - low < 1e-9:
        return _BARS[0] * len(logs)
    return "".join(_BARS[round((value - low) / (high - low) * (len(_BARS) - 1))] for value in logs)

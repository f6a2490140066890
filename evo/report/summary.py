"""``best.json``: the result as data, and the sentences that reports and the screen share."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from evaluator.api import SizeComparison
from evo.campaign_types import Campaign
from evo.result import CampaignResult
from genome.spec import ProblemSize
from genome.variant import Launch, Step, Variant


def best_json(campaign: Campaign, result: CampaignResult) -> dict[str, Any]:
    """The content of ``best.json``. Times are medians in milliseconds over fresh processes.

    ``genome`` is the list of genes as applied; ``steps`` and ``options`` are how the variant is run and compiled.
    """
    comparison = result.comparison
    return {
        "kernel": result.kernel,
        "device": result.device.name,
        "toolchain": result.toolchain.label,
        "sizes": _sizes(campaign, result),
        "genome": result.best.genome.to_json(),
        "steps": [step_json(step) for step in result.best.steps],
        "options": list(result.best.options),
        "guard": [str(condition) for condition in result.best.guard.conditions],
        "speedup": {"median": comparison.speedup, "low": comparison.low, "high": comparison.high},
        "verified": comparison.verified,
        "coverage": {"evolved": list(comparison.coverage.evolved), "fallback": list(comparison.coverage.fallback)},
        "improved": result.improved,
        "agent": result.best_agent,
        "evaluations": result.counts.evaluations,
        "cached": result.counts.cached,
        "pruned": result.counts.pruned,
        "rejected": result.counts.rejected,
        "wrong": result.counts.wrong,
        "failed": result.counts.failed,
        "stages": [
            {"stage": cost.stage, "entered": cost.entered, "refused": cost.refused, "seconds": round(cost.seconds, 3)}
            for cost in result.costs
            if cost.entered
        ],
        "phases": {phase: round(seconds, 3) for phase, seconds in result.phases},
        "stop": str(result.stop),
        "elapsed_s": round(result.elapsed_s, 3),
        "seed": result.seed,
        "variant": result.best.digest(),
        "campaign": result.campaign_id,
        "entry": campaign.entry or None,
        "objective": {name: value for name, value in asdict(campaign.objective).items() if name != "meter"},
        "campaign_file": os.path.relpath(campaign.path.resolve(), campaign.output.resolve()),
        "versions": dict(result.versions),
        "notes": list(result.notes),
    }


def _sizes(campaign: Campaign, result: CampaignResult) -> list[dict[str, Any]]:
    sizes = {size.label: size for size in campaign.spec.sizes}
    rows = {
        row.size: {"baseline_ms": row.baseline_ms, "best_ms": row.best_ms, "speedup": row.speedup,
                   "low": row.low, "high": row.high, **_energies(row)}
        for row in result.comparison.sizes
    }  # fmt: skip
    return [
        {"size": _env(sizes.get(label), label), **(rows.get(label) or _from_search(result, label))}
        for label in sizes or rows
    ]


def _energies(row: SizeComparison) -> dict[str, float | None]:
    known = row.baseline_mj is not None
    return {"baseline_mj": row.baseline_mj, "best_mj": row.best_mj} if known else {}


def _env(size: ProblemSize | None, label: str) -> dict[str, int] | str:
    return size.env if size else label


def _from_search(result: CampaignResult, label: str) -> dict[str, float | None]:
    """What the search itself measured, where the final proof was cut short."""
    times: list[float | None] = []
    for evaluations in (result.baseline_evaluations, result.best_evaluations or result.baseline_evaluations):
        timing = next((e.timing for e in evaluations if e.size == label and e.timing), None)
        times.append(timing.median_ms if timing else None)
    before, after = times
    return {"baseline_ms": before, "best_ms": after, "speedup": before / after if before and after else None,
            "low": None, "high": None}  # fmt: skip


def step_json(step: Step) -> dict[str, Any]:
    """A memset or a launch as plain data; the grid is blocks = ceil(extent / tile) an axis."""
    if isinstance(step, Launch):
        return {
            "launch": step.entry,
            "grid": [{"extent": str(axis.extent), "tile": axis.tile} for axis in step.grid],
            "block": list(step.block),
            "args": list(step.args),
            "shared_bytes": str(step.shared_bytes),
        }
    return {"memset": step.buffer, "value": step.value}


def headline(result: CampaignResult) -> str:
    """``12.3x faster (11.9x to 12.6x)``, or why there is no gain."""
    comparison = result.comparison
    if not result.improved:
        return "no variant is faster than the kernel as it is"
    if comparison.processes == 0 and comparison.note:
        return f"{times(comparison.speedup)}; {comparison.note}"
    if comparison.processes == 0:
        return f"{times(comparison.speedup)} in the search; the final proof was cut short"
    return f"{times(comparison.speedup)} {gained(result)} ({times(comparison.low)} to {times(comparison.high)})"


def gained(result: CampaignResult) -> str:
    """What a ratio above 1 is: ``faster``, or ``less energy`` where that was optimised."""
    return "less energy" if any(row.baseline_mj is not None for row in result.comparison.sizes) else "faster"


def before_and_after(row: SizeComparison) -> tuple[str, str]:
    """What was optimised, before and after: times, or energies."""
    if row.baseline_mj is None or row.best_mj is None:
        return milliseconds(row.baseline_ms), milliseconds(row.best_ms)
    return f"{three(row.baseline_mj)} mJ", f"{three(row.best_mj)} mJ"


def times(value: float | None) -> str:
    """``12.3x``: three significant digits."""
    return "-" if value is None else f"{three(value)}x"


def three(value: float) -> str:
    """Three significant digits, trailing zeros kept: ``0.98``, ``9.60``, ``12.0``, ``131``."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def milliseconds(value: float | None) -> str:
    """``1.23 ms``, or microseconds below 0.1 ms."""
    if value is None:
        return "-"
    return f"{three(value * 1000)} us" if value < 0.1 else f"{three(value)} ms"


def launch_text(variant: Variant) -> str:
    """The first launch in a line: ``block 16x16x1, grid ceil(N/64) x ceil(M/64)``."""
    launch = variant.launches[0]
    axes = [
        f"ceil({axis.extent}/{axis.tile})" if axis.tile > 1 else str(axis.extent)
        for axis in launch.grid
        if str(axis.extent) != "1"
    ]
    return f"block {'x'.join(map(str, launch.block))}, grid {' x '.join(axes) or '1'}"

"""Figures of ``search_efficiency.py``: medians, shares and curves of runs, and intervals of paired ones."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from search_runs import WORST, Run

RESAMPLES = 4000
COVERED = 0.95


def figures(runs: Sequence[Run], budgets: Sequence[int]) -> dict[str, Any]:
    """One space. ``ratios`` are those of each seed, in order; ``curve`` is the median after each evaluation."""
    until = [next((n for n, ratio in enumerate(run.curve, 1) if ratio <= 1.05), math.inf) for run in runs]
    ratios = [[run.curve[budget - 1] for run in runs] for budget in budgets]
    return {
        **at_budgets(ratios, budgets),
        "to_5_percent": _finite(statistics.median(until)),
        "cpu_ms_a_proposal": 1e3 * statistics.fmean(run.cpu_s for run in runs),
        "runs": len(runs),
        "cpu_s": round(math.fsum(run.total_s for run in runs), 1),
        "ratios": {str(budget): [round(r, 5) for r in own] for budget, own in zip(budgets, ratios, strict=True)},
        "curve": _rounded(np.median([run.curve for run in runs], axis=0)),
    }


def at_budgets(ratios: Sequence[Sequence[float]], budgets: Sequence[int]) -> dict[str, Any]:
    """Medians, means and shares of one space's runs, by budget."""
    return {
        str(budget): {"median": statistics.median(own), "mean": statistics.fmean(own),
                      "within5": _share(own, 1.05), "within1": _share(own, 1.01)}
        for budget, own in zip(budgets, ratios, strict=True)
    }  # fmt: skip


def together(spaces: Collection[Mapping[str, Any]], budgets: Sequence[int]) -> dict[str, Any]:
    """Spaces as one: geometric means of medians and means, plain means of shares, the median of what 5% took.

    What some of them do not tell (a peer's CPU time) is left out.
    """
    found: dict[str, Any] = {}
    for budget in map(str, budgets):
        found[budget] = {key: statistics.geometric_mean(space[budget][key] for space in spaces)
                         for key in ("median", "mean")}  # fmt: skip
        found[budget] |= {key: statistics.fmean(space[budget][key] for space in spaces)
                          for key in ("within5", "within1")}  # fmt: skip
    if all("cpu_ms_a_proposal" in space for space in spaces):
        reached = [math.inf if space["to_5_percent"] is None else space["to_5_percent"] for space in spaces]
        found["to_5_percent"] = _finite(statistics.median(reached))
        found["cpu_ms_a_proposal"] = statistics.fmean(space["cpu_ms_a_proposal"] for space in spaces)
        found["cpu_s"] = round(math.fsum(space["cpu_s"] for space in spaces), 1)
    found["curve"] = _rounded(np.exp(np.log([space["curve"] for space in spaces]).mean(axis=0)))
    return found


def peers(file: Path, spaces: Collection[str], budgets: Sequence[int]) -> dict[str, dict[str, dict[str, Any]]]:
    """Another tuner's figures by strategy and space; a strategy that lacks a space is left out.

    Raises:
        KeyError, TypeError, ValueError: If the file holds something else.
    """
    runs: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for run in json.loads(file.read_text())["runs"]:
        if run["space"] in spaces:
            runs.setdefault(run["strategy"], {}).setdefault(run["space"], []).append(run)
    return {
        strategy: {space: _peer(found, budgets) for space, found in by_space.items()}
        for strategy, by_space in runs.items()
        if len(by_space) == len(spaces)
    }


def hindsight(strategies: Collection[Mapping[str, Mapping[str, Any]]], budgets: Sequence[int]) -> dict[str, Any]:
    """The best strategy's median for each space and budget, as if one had known: geometric means over spaces."""
    spaces = next(iter(strategies))
    return {
        str(budget): statistics.geometric_mean(
            min(strategy[space][str(budget)]["median"] for strategy in strategies) for space in spaces
        )
        for budget in budgets
    }


def paired(ours: Mapping[str, Any], against: Mapping[str, Any], budget: int) -> tuple[float, float, float]:
    """Geometric mean over seeds of one space's ratio to the same seed of another mode, and its bootstrap interval.

    The interval is the percentile one over seeds, of 95%.

    Raises:
        KeyError, ValueError: If the budget is not in both, or for another number of seeds.
    """
    pairs = zip(ours["ratios"][str(budget)], against["ratios"][str(budget)], strict=True)
    logs = np.array([math.log(own / other) for own, other in pairs])
    draws = np.random.default_rng(0).integers(len(logs), size=(RESAMPLES, len(logs)))
    low, high = np.quantile(logs[draws].mean(axis=1), ((1 - COVERED) / 2, (1 + COVERED) / 2))
    return math.exp(logs.mean()), math.exp(low), math.exp(high)


def _peer(runs: Sequence[Mapping[str, Any]], budgets: Sequence[int]) -> dict[str, Any]:
    curves = [_peer_curve(run, max(budgets)) for run in runs]
    ratios = [[curve[budget - 1] for curve in curves] for budget in budgets]
    return {**at_budgets(ratios, budgets), "runs": len(runs), "curve": _rounded(np.median(curves, axis=0))}


def _peer_curve(run: Mapping[str, Any], evaluations: int) -> list[float]:
    """Best so far over the optimum, from the times at which it fell and the ratio at the end."""
    steps = [(at, time) for at, time in run.get("improvements", ()) if time is not None]
    last = max(run["ratio"], key=int)
    if not steps or run["ratio"][last] is None:
        return [WORST] * evaluations
    optimum = steps[-1][1] / run["ratio"][last]
    curve = np.full(evaluations, WORST)
    for at, time in steps:
        curve[at - 1 :] = time / optimum
    return [float(ratio) for ratio in curve]


def _rounded(curve: Any) -> list[float]:
    return [round(float(ratio), 4) for ratio in curve]


def _finite(number: float) -> float | None:
    """The number; None for infinity, which JSON does not know."""
    return None if math.isinf(number) else number


def _share(ratios: Sequence[float], limit: float) -> float:
    """Share of runs at most at the limit."""
    return sum(ratio <= limit for ratio in ratios) / len(ratios)

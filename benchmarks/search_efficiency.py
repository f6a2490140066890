"""How soon the search finds good configurations of recorded spaces: the whole engine, with recordings as devices.

    python benchmarks/search_efficiency.py --spaces DIR [--names a,b] [--budgets 25,50,100,200] [--repeats 30] [--warm]
        [--json OUT] [--jobs N] [--peer FILE] [--blind]

DIR holds files that ``evaluator.recording`` reads. A run is a campaign with a seed; every measurement costs one
evaluation, the first configuration and failures included. What counts is best time so far over the space's optimum.
Printed for each space and over all: medians at each budget (over all spaces: the geometric mean of their medians), the
share of runs within 5% and 1%, evaluations until within 5%, CPU seconds a proposal.

``--warm`` gives each run the recordings of the other devices of the same kernel, and leaves out spaces that have none.
``--blind`` switches the model off: agents alone. ``--peer FILE`` prints another tuner's figures on the same spaces
beside ours: JSON with ``runs``, each with ``space``, ``strategy`` and ``ratio`` (best time over the optimum by budget,
null where nothing ran).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Collection
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from running import machine

from evaluator.recording import Recording, read_recording
from evo.campaign_replay import recorded_space
from evo.campaign_types import Budget, Campaign
from evo.engine import evolve
from evo.memory import NoMemory
from evo.progress import SilentObserver
from evo.wire_replay import assemble_replay

WORST = 1000.0
"""What counts where nothing has run yet."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Task:
    """One run."""

    file: Path
    seed: int
    evaluations: int
    siblings: tuple[Path, ...]
    blind: bool


@dataclass(frozen=True)
class Run:
    """Best time so far over the optimum after each evaluation, and CPU seconds a proposal."""

    space: str
    curve: tuple[float, ...]
    cpu_s: float


def main() -> int:
    """See the module."""
    options = parsed()
    budgets = [int(text) for text in options.budgets.split(",")]
    tasks = planned(options, max(budgets))
    if not tasks:
        print("no space to run on", file=sys.stderr)
        return 2
    start = time.monotonic()
    runs: dict[str, list[Run]] = {}
    os.environ.update(dict.fromkeys(THREADS, "1"))  # each run has a process of its own
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for run in pool.map(one, tasks, chunksize=max(1, options.repeats // 4)):
            runs.setdefault(run.space, []).append(run)
            if len(runs[run.space]) == options.repeats:
                print(line(run.space, figures(runs[run.space], budgets), budgets), flush=True)
    spaces = {name: figures(found, budgets) for name, found in runs.items()}
    overall = together(spaces, budgets)
    mode = "warm" if options.warm else "cold"
    print(line(f"overall, {mode}", overall, budgets))
    record = {
        "command": " ".join(["python", "benchmarks/search_efficiency.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "wall_s": round(time.monotonic() - start, 1),
        "overall": {mode: overall},
        "spaces": spaces,
    }
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    for name, theirs in peers(options.peer, spaces, budgets).items() if options.peer else ():
        print(line(name, theirs, budgets))
    return 0


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spaces", type=Path, required=True)
    parser.add_argument("--names", default="")
    parser.add_argument("--budgets", default="25,50,100,200")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def planned(options: argparse.Namespace, evaluations: int) -> list[Task]:
    """Every run, space by space."""
    files = sorted(f for f in options.spaces.iterdir() if ".json" in f.suffixes and f.name != "index.json")
    wanted = set(filter(None, options.names.split(",")))
    kernels = {file: read_recording(file).kernel for file in files} if options.warm else {}
    tasks: list[Task] = []
    for file in files:
        if wanted and named(file) not in wanted:
            continue
        siblings = tuple(f for f in files if options.warm and f != file and related(f, file, kernels))
        if options.warm and not siblings:
            continue
        tasks += [Task(file, seed, evaluations, siblings, options.blind) for seed in range(options.repeats)]
    return tasks


def related(one_file: Path, other: Path, kernels: dict[Path, str]) -> bool:
    """True if both are recordings of one kernel, as far as they tell."""
    return kernels[one_file] == kernels[other] != ""


def named(file: Path) -> str:
    """The space's name."""
    return file.name.partition(".json")[0]


def one(task: Task) -> Run:
    """A campaign on a recorded space."""
    recording = read_recording(task.file)
    space = recorded_space(recording, named(task.file))
    campaign = Campaign(
        name=space.name, path=task.file, spec=space.spec, output=task.file.parent, device=f"replay:{task.file}",
        budget=Budget(task.evaluations), seed=task.seed, use_knowledge=False, surrogate=not task.blind,
    )  # fmt: skip
    siblings: list[Recording] = [read_recording(file) for file in task.siblings]
    start = time.process_time()
    result = evolve(campaign, assemble_replay(campaign, space, NoMemory(), siblings), observer=SilentObserver())
    cpu = time.process_time() - start
    first = float(recording.times_ms[space.first])
    measured = [point for point in result.history if not point.cached]
    times = [first] + [math.inf if p.speedup is None else first / p.speedup for p in measured]
    best = np.minimum.accumulate(times)[: task.evaluations] / recording.best_ms
    curve = [*map(float, best), *[float(best[-1])] * (task.evaluations - len(best))]
    return Run(named(task.file), tuple(min(ratio, WORST) for ratio in curve), cpu / max(1, result.counts.proposals))


def figures(runs: list[Run], budgets: list[int]) -> dict[str, Any]:
    """One space."""
    until = [next((n for n, ratio in enumerate(run.curve, 1) if ratio <= 1.05), math.inf) for run in runs]
    return {
        **at_budgets([[run.curve[budget - 1] for run in runs] for budget in budgets], budgets),
        "to_5_percent": finite(statistics.median(until)),
        "cpu_ms_a_proposal": 1e3 * statistics.fmean(run.cpu_s for run in runs),
        "runs": len(runs),
    }


def at_budgets(ratios: list[list[float]], budgets: list[int]) -> dict[str, Any]:
    """Medians, means and shares of one space's runs, by budget."""
    return {
        str(budget): {"median": statistics.median(own), "mean": statistics.fmean(own),
                      "within5": share(own, 1.05), "within1": share(own, 1.01)}
        for budget, own in zip(budgets, ratios, strict=True)
    }  # fmt: skip


def together(spaces: dict[str, dict[str, Any]], budgets: list[int]) -> dict[str, Any]:
    """All spaces."""
    reached = [math.inf if space["to_5_percent"] is None else space["to_5_percent"] for space in spaces.values()]
    return {
        **over_spaces(list(spaces.values()), budgets),
        "to_5_percent": finite(statistics.median(reached)),
        "cpu_ms_a_proposal": statistics.fmean(space["cpu_ms_a_proposal"] for space in spaces.values()),
    }


def over_spaces(spaces: list[dict[str, Any]], budgets: list[int]) -> dict[str, Any]:
    """Geometric means of medians and means, plain means of shares, by budget."""
    return {
        str(budget): {
            **{
                key: statistics.geometric_mean(space[str(budget)][key] for space in spaces)
                for key in ("median", "mean")
            },
            **{key: statistics.fmean(space[str(budget)][key] for space in spaces) for key in ("within5", "within1")},
        }
        for budget in budgets
    }


def finite(number: float) -> float | None:
    """The number; None for infinity, which JSON does not know."""
    return None if math.isinf(number) else number


def peers(file: Path, spaces: Collection[str], budgets: list[int]) -> dict[str, dict[str, Any]]:
    """Another tuner's strategies over the same spaces; one that lacks a space is left out."""
    ratios: dict[str, dict[str, list[dict[str, float]]]] = {}
    for run in json.loads(file.read_text())["runs"]:
        if run["space"] in spaces:
            at = {budget: WORST if ratio is None else ratio for budget, ratio in run["ratio"].items()}
            ratios.setdefault(run["strategy"], {}).setdefault(run["space"], []).append(at)
    found = {}
    for strategy, by_space in ratios.items():
        if len(by_space) == len(spaces) and all(
            str(b) in run for runs in by_space.values() for run in runs for b in budgets
        ):
            rows = {space: at_budgets([[run[str(b)] for run in runs] for b in budgets], budgets)
                    for space, runs in by_space.items()}  # fmt: skip
            found[strategy] = over_spaces(list(rows.values()), budgets)
    return found


def share(ratios: list[float], limit: float) -> float:
    """Share of runs at most at the limit."""
    return sum(ratio <= limit for ratio in ratios) / len(ratios)


def line(name: str, at: dict[str, Any], budgets: list[int]) -> str:
    """One line of the table."""
    medians = "  ".join(f"{at[str(b)]['median']:.3f}" for b in budgets)
    within5 = " ".join(f"{at[str(b)]['within5']:4.0%}" for b in budgets)
    within1 = " ".join(f"{at[str(b)]['within1']:4.0%}" for b in budgets)
    text = f"{name:44s}{medians}  within 5%: {within5}  1%: {within1}"
    if "cpu_ms_a_proposal" not in at:  # a peer's
        return text
    reached = "-" if at["to_5_percent"] is None else f"{at['to_5_percent']:.0f}"
    return f"{text}  to 5%: {reached:>4}  {at['cpu_ms_a_proposal']:.1f} ms"


if __name__ == "__main__":
    sys.exit(main())

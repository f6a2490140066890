"""How soon the search finds good configurations of recorded spaces: the whole engine, with recordings as devices.

    python benchmarks/search_efficiency.py --spaces DIR [--names a,b] [--budgets 25,50,100,200] [--repeats 30] [--warm]
        [--mislead permuted|reversed|foreign] [--against FILE] [--half FILE|a,b] [--blind] [--agents a,b]
        [--peer FILE] [--json OUT] [--jobs N] [--runs FILE]

DIR holds files that ``evaluator.recording`` reads. A run is a campaign with a seed; every measurement costs one
evaluation, the first configuration and failures included. What counts is best time so far over the space's optimum.
Printed for each space and over all: medians at each budget (over all spaces: the geometric mean of their medians), the
share of runs within 5% and 1%, evaluations until within 5%, CPU seconds a proposal.

``--warm`` gives each run the recordings of the other devices of the same kernel, and leaves out spaces that have none.
``--mislead`` does so too, but falsifies them (``search_runs.MISLEADING``). ``--against FILE``, an earlier output of
``--json`` with the same seeds, prints the interval of the ratio to it for each space. ``--half`` names spaces (or a
file with one a line) that are reported apart from the others: those that settings were chosen on, say. ``--blind``
switches the model off: agents alone, or those that ``--agents`` names. ``--peer FILE`` prints another tuner's figures
on the same spaces beside ours: JSON with ``runs``, each with ``space``, ``strategy``, ``ratio`` (best time over the
optimum by budget, null where nothing ran) and ``improvements`` (evaluation and time of each new best). ``--runs FILE``
keeps each run as a line, and makes none again that is kept there: an interrupted call goes on, and several calls for
different spaces may share the work.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from running import machine
from search_figures import figures, hindsight, paired, peers, together
from search_runs import AGENTS, DEFAULT, MISLEADING, Run, Task, keep, kept, named, one, relatives

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> int:
    """See the module."""
    options = parsed()
    budgets = [int(text) for text in options.budgets.split(",")]
    tasks = planned(options, max(budgets))
    if not tasks:
        print("no space to run on", file=sys.stderr)
        return 2
    start, before = time.monotonic(), bool(options.runs and options.runs.exists())
    spaces = measured(tasks, options, budgets)
    mode = options.mislead or ("warm" if options.warm else "cold")
    others = peers(options.peer, spaces, budgets) if options.peer else {}
    record: dict[str, Any] = {
        "command": " ".join(["python", "benchmarks/search_efficiency.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
    }
    for name, members in groups(options.half, spaces).items():
        record[name] = {mode: together([spaces[space] for space in members], budgets)}
        print(line(f"{name}, {mode}", record[name][mode], budgets))
        for strategy, found in others.items():
            record[name][strategy] = together([found[space] for space in members], budgets)
            print(line(strategy, record[name][strategy], budgets))
    if others:
        record["hindsight"] = hindsight(others.values(), budgets)
        medians = "  ".join(f"{median:.3f}" for median in record["hindsight"].values())
        print(f"{'the best of them for each space and budget':44s}{medians}")
    if options.against:
        record["pairs"] = pairs(spaces, json.loads(options.against.read_text())["spaces"], budgets)
    if not before:  # else these are not the seconds of all runs
        record["wall_s"] = round(time.monotonic() - start, 1)
    record["spaces"] = spaces
    if options.json:
        options.json.write_text(compact(record))
    return 0


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spaces", type=Path, required=True)
    parser.add_argument("--names", default="")
    parser.add_argument("--budgets", default="25,50,100,200")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--mislead", choices=MISLEADING, default="")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--half", default="")
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--agents", default="", help=f"of {', '.join(AGENTS)}")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    unknown = listed(options.agents) - set(AGENTS)
    if unknown:
        parser.error(f"--agents: no agent of a recorded space is called {', '.join(sorted(unknown))}")
    return options


def planned(options: argparse.Namespace, evaluations: int) -> list[Task]:
    """Every run, space by space."""
    files = sorted(f for f in options.spaces.iterdir() if ".json" in f.suffixes and f.name != "index.json")
    wanted, warm = listed(options.names), bool(options.warm or options.mislead)
    siblings = relatives(files, options.mislead) if warm else {}
    agents = tuple(listed(options.agents) or DEFAULT) if options.blind or options.agents else ()
    return [
        Task(file, seed, evaluations, siblings.get(file, ()), options.mislead, agents)
        for file in files
        if (not wanted or named(file) in wanted) and (not warm or siblings[file])
        for seed in range(options.repeats)
    ]


def measured(tasks: Sequence[Task], options: argparse.Namespace, budgets: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Figures of each space, printed as soon as its runs have ended."""
    os.environ.update(dict.fromkeys(THREADS, "1"))  # each run has a process of its own
    known, spaces = kept(options.runs), {}
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        waiting = {
            task: known.get((named(task.file), task.mode, task.seed)) or pool.submit(one, task) for task in tasks
        }
        for file, own in groupby(tasks, lambda task: task.file):
            runs = [
                found if isinstance(found, Run) else keep(found.result(), options.runs)
                for found in (waiting[task] for task in own)
            ]
            spaces[named(file)] = figures(runs, budgets)
            print(line(named(file), spaces[named(file)], budgets), flush=True)
    return spaces


def groups(half: str, spaces: Iterable[str]) -> dict[str, list[str]]:
    """All spaces; the given half and the other one, if one is given."""
    given = listed(Path(half).read_text().replace("\n", ",") if half and Path(half).is_file() else half)
    found = {"overall": list(spaces)}
    if given:
        found["given half"] = [name for name in spaces if name in given]
        found["other half"] = [name for name in spaces if name not in given]
    return {name: members for name, members in found.items() if members}


def pairs(
    spaces: Mapping[str, Mapping[str, Any]], against: Mapping[str, Mapping[str, Any]], budgets: Sequence[int]
) -> dict[str, dict[str, list[float]]]:
    """Ratio to another mode with its interval, by space and budget, printed as well."""
    found: dict[str, dict[str, list[float]]] = {}
    for name in (name for name in spaces if name in against):
        common = [b for b in budgets if str(b) in against[name]["ratios"]]
        found[name] = {str(b): [round(x, 4) for x in paired(spaces[name], against[name], b)] for b in common}
        text = "  ".join(f"{b}: {m:.3f} [{low:.3f}, {high:.3f}]" for b, (m, low, high) in found[name].items())
        print(f"{name:34s}over the other: {text}")
    return found


def listed(names: str) -> set[str]:
    """Names with commas between them."""
    return {name.strip() for name in names.split(",")} - {""}


def line(name: str, at: Mapping[str, Any], budgets: Sequence[int]) -> str:
    """One line of the table."""
    medians = "  ".join(f"{at[str(b)]['median']:.3f}" for b in budgets)
    within5 = " ".join(f"{at[str(b)]['within5']:4.0%}" for b in budgets)
    within1 = " ".join(f"{at[str(b)]['within1']:4.0%}" for b in budgets)
    text = f"{name:44s}{medians}  within 5%: {within5}  1%: {within1}"
    if "cpu_ms_a_proposal" not in at:  # a peer's
        return text
    reached = "-" if at["to_5_percent"] is None else f"{at['to_5_percent']:.0f}"
    return f"{text}  to 5%: {reached:>4}  {at['cpu_ms_a_proposal']:.1f} ms"


def compact(record: Mapping[str, Any]) -> str:
    """JSON with each list of numbers on a line of its own."""
    text = json.dumps(record, indent=1)
    return re.sub(r"\[[^\[\]{}\"]*\]", lambda found: " ".join(found[0].split()), text) + "\n"


if __name__ == "__main__":
    sys.exit(main())

"""How many fresh measurements a campaign saves that starts from another size's experience, over paired seeds.

    python benchmarks/warm_start.py [--example matmul] [--from 512] [--to 384] [--pairs 5] [--evaluations 60] [--json F]

For each seed: the example is tuned with all its sizes at ``--from`` on an empty base (the experience), then at ``--to``
twice, once on an empty base (cold) and once on the base with the experience (warm). A run has arrived when its best
reaches 95% of the speed-up that the cold run proves in the end. Fresh measurements are counted; look-ups are listed
apart. The final speed-ups are those of the proof in fresh processes, interleaved with the untransformed kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import sys
import tempfile
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from running import ROOT, machine

from evo.campaign import Campaign, Overrides, load_campaign
from evo.engine import run_campaign
from evo.result import CampaignResult
from genome.spec import ProblemSize

SHARE = 0.95


def main() -> None:
    """Prints a row a pair and the medians, and writes them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", default="matmul")
    parser.add_argument("--from", type=int, default=512, dest="first")
    parser.add_argument("--to", type=int, default=384, dest="second")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="evo-tune-") as folder:
        for seed in range(1, options.pairs + 1):
            rows.append(pair(Path(folder), seed, options))
            print(rows[-1], flush=True)
    median = {key: statistics.median(row[key] for row in rows) for key in ("cold", "warm", "share")}
    print(f"median measurements to {SHARE:.0%} of the cold speed-up: {median}")
    if options.json:
        command = f"python benchmarks/warm_start.py {shlex.join(sys.argv[1:])}"
        report = {"date": date.today().isoformat(), "machine": machine(), "command": command, "median": median,
                  "pairs": rows}  # fmt: skip
        options.json.write_text(json.dumps(report, indent=1) + "\n")


def pair(folder: Path, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Experience, cold and warm for one seed."""

    def search(home: str, size: int) -> CampaignResult:
        """One campaign at one size on the base in that folder."""
        (folder / home).mkdir(exist_ok=True)
        os.environ["EVO_TUNE_HOME"] = str(folder / home)
        overrides = Overrides(seed=seed, evaluations=options.evaluations)
        campaign = load_campaign(ROOT / "examples" / options.example / "campaign.yaml", overrides)
        return run_campaign(at_size(campaign, size))

    search(f"{seed}-warm", options.first)
    cold, warm = search(f"{seed}-cold", options.second), search(f"{seed}-warm", options.second)
    goal = SHARE * cold.comparison.speedup
    arrived = {"cold": arrival(cold, goal), "warm": arrival(warm, goal)}
    return {
        "seed": seed,
        **arrived,
        "share": round(arrived["warm"] / arrived["cold"], 3),
        "cold_speedup": round(cold.comparison.speedup, 2),
        "warm_speedup": round(warm.comparison.speedup, 2),
        "looked_up": warm.counts.cached,
    }


def at_size(campaign: Campaign, size: int) -> Campaign:
    """The campaign with one tuned size, without patience and time limit, so that only measurements count."""
    names = [name for name, _ in campaign.spec.sizes[0].values]
    tuned = (ProblemSize(tuple((name, size) for name in names)),)
    budget = replace(campaign.budget, patience=None, minutes=None)
    return replace(campaign, spec=replace(campaign.spec, sizes=tuned), budget=budget)


def arrival(result: CampaignResult, goal: float) -> int:
    """Fresh measurements until the best reached the goal; one more than all of them if it never did."""
    for point in result.history:
        if point.best >= goal:
            return max(1, point.evaluation)
    return result.counts.evaluations + 1


if __name__ == "__main__":
    main()

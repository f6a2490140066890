"""What each part of the search is worth: campaigns on kernels with all of them, and with one left out or replaced.

    python benchmarks/search_parts.py examples/matmul/campaign.yaml ... [--seeds 3] [--evaluations 40] [--device NAME]
        [--ways whole,...] [--json OUT]

Every campaign starts without experience. What counts is the best speed-up of the search after half of the evaluations
and after all of them, as a ratio to the whole search with the same seed: below 1, the part pays. What is in OUT already
is not run again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from running import machine

from evo.campaign import load_campaign
from evo.campaign_types import Budget, Campaign
from evo.evolve import evolve
from evo.parts import Parts
from evo.progress import ProgressSnapshot, SilentObserver
from evo.wire import build
from genome.genes import Genome
from operators.base import AgentContext, Proposal
from operators.choice import random_gene
from operators.mutation import batch

BY_TRADE = frozenset({"profiler", "memory_layout", "computation", "parallelism"})
CROSSING = frozenset({"crossover", "merge"})


@dataclass(frozen=True)
class Uniform:
    """Moves drawn evenly from all that apply, one or two at a time: what the agents by trade are compared with."""

    name: str = "uniform"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""

        def drawn() -> tuple[Genome, str] | None:
            genome = context.parent.genome
            for _ in range(1 + int(rng.random() < 0.5)):
                moves = context.moves(genome)
                if not moves:
                    return None
                genome = genome.with_gene(random_gene(moves[int(rng.integers(len(moves)))], rng))
            return genome, "drawn evenly"

        return batch(self.name, context, drawn)


class SearchOnly(SilentObserver):
    """Ends a campaign with its search: proof and explanation would add nothing here."""

    def __init__(self, evaluations: int) -> None:
        self._evaluations, self._made = evaluations, 0

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """See ``Observer``."""
        self._made = snapshot.evaluations

    def over(self) -> bool:
        """True once all evaluations are made."""
        return self._made >= self._evaluations


def without(names: frozenset[str]) -> Callable[[Parts], Parts]:
    """The parts without some agents."""
    return lambda parts: replace(parts, agents=tuple(agent for agent in parts.agents if agent.name not in names))


def uniform(parts: Parts) -> Parts:
    """The parts with mutation by trade replaced by an even draw."""
    rest = without(BY_TRADE)(parts)
    return replace(rest, agents=(Uniform(), *rest.agents))


WAYS: Mapping[str, Callable[[Parts], Parts]] = {
    "whole": lambda parts: parts,
    "no surrogate": lambda parts: replace(parts, surrogate=None, timing_surrogate=None),
    "no second look": lambda parts: replace(parts, timing_surrogate=None),
    "no crossover": without(CROSSING),
    "uniform mutation": uniform,
}


def main() -> int:
    """See the module."""
    options = parsed()
    record: dict[str, Any] = {"runs": {}}
    if options.json and options.json.exists():
        record = json.loads(options.json.read_text())
    record |= {"evaluations": options.evaluations, "machine": machine()}
    runs: dict[str, dict[str, Any]] = record["runs"]
    for seed in range(options.seeds):
        for file in options.campaigns:
            for way in options.ways:
                key = f"{file.parent.name}, {way}, {seed}"
                if key not in runs:
                    runs[key] = run(file, way, seed, options.evaluations, options.device)
                    print(key, runs[key], flush=True)
                if options.json:
                    options.json.write_text(json.dumps(record, indent=1) + "\n")
    record["ratios"] = {way: ratios(runs, way) for way in options.ways if way != "whole"}
    for way, found in record["ratios"].items():
        print(f"{way:20s}half {found['half']:.3f}  all {found['all']:.3f}  over {found['pairs']} pairs")
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaigns", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--ways", default=",".join(WAYS), type=lambda text: text.split(","))
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def run(file: Path, way: str, seed: int, evaluations: int, device: str) -> dict[str, Any]:
    """Best speed-up in the search after half of the evaluations and all, and what both looks of the surrogate did."""
    campaign: Campaign = replace(
        load_campaign(file), budget=Budget(evaluations), seed=seed, device=device, use_knowledge=False, processes=1
    )
    search = SearchOnly(evaluations)
    with build(campaign) as parts:
        result = evolve(campaign, WAYS[way](parts), observer=search, stop=search.over)
    best = {point.evaluation: point.best for point in result.history}
    half = max((value for at, value in best.items() if at <= evaluations // 2), default=1.0)
    looks = {"before": result.surrogate, "after": result.timing_surrogate}
    return {
        "half": half, "all": max(best.values(), default=1.0),
        **{name: {"rank": look.rank_correlation, "recall": look.recall_best_decile, "calibration": look.calibration,
                  "discarded": look.pruned, "saved_s": look.saved_s} for name, look in looks.items()},
    }  # fmt: skip


def ratios(runs: Mapping[str, Mapping[str, Any]], way: str) -> dict[str, Any]:
    """Geometric means of a way's speed-up over that of the whole search, seed by seed."""
    found: dict[str, Sequence[float]] = {}
    pairs = [(own, runs[key.replace(f", {way}, ", ", whole, ")]) for key, own in runs.items() if f", {way}, " in key]
    for at in ("half", "all"):
        found[at] = [own[at] / whole[at] for own, whole in pairs]
    return {**{at: statistics.geometric_mean(found[at]) for at in found}, "pairs": len(pairs)}


if __name__ == "__main__":
    sys.exit(main())

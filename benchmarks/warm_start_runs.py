"""One campaign of the warm-start bench on a knowledge base of its own, and the final look at what several found.

A search times each variant once or a few times, minutes apart: its own figures do not say which of two runs was first
at 95% of some speed-up. So the variants that led a run for a while, and the first ones that came near to its best, are
timed again in one comparison, in fresh processes, interleaved with the untransformed kernel and with all the others
(``judged``). Only the counts of measurements come from the searches.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evo.campaign import Campaign, Overrides, load_campaign
from evo.engine import run_campaign
from evo.progress import CampaignPhase, ProgressSnapshot, SilentObserver
from evo.reading import open_baseline
from evo.result import CampaignResult, HistoryPoint
from evo.wire import build
from genome.genes import Genome
from genome.spec import ProblemSize
from genome.variant import Variant
from knowledge.store import KnowledgeBase

NEAR = 0.7
"""Variants from this part of their run's best are compared again: the search has timed them once."""
FIRST = 6
"""How many of them, the earliest ones, beside those that led."""


@dataclass(frozen=True)
class Setting:
    """What all runs of a call share.

    Attributes:
        device: As a campaign names it.
        evaluations: Fresh measurements of a campaign.
        processes: Fresh processes of its proof.
        judges: Fresh processes of the comparison that decides.
    """

    device: str
    evaluations: int
    processes: int
    judges: int


class _Unexplained(SilentObserver):
    """Ends a campaign after its proof: what each gene is worth is not asked here."""

    def __init__(self) -> None:
        self._proven = False

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """Notes the last step of the proof."""
        if snapshot.phase is CampaignPhase.COMPARING and snapshot.step and snapshot.step == snapshot.steps:
            self._proven = True

    def stop(self) -> bool:
        """True once the proof is there."""
        return self._proven


def tune(file: Path, size: dict[str, int], seed: int, setting: Setting, history: Sequence[Path], kept: Path) -> None:
    """Runs a campaign at one size on a base that holds these histories, and keeps run and base beside each other.

    Args:
        file: Campaign file.
        size: The one tuned size.
        seed: Of every random choice.
        setting: Device and budget.
        history: Bases to start from (files of ``KnowledgeBase.export``); none is a cold start.
        kept: ``NAME.json`` of the run; ``NAME.base.json.xz`` gets the base where the start was cold.
    """
    with home():
        with KnowledgeBase.open(None) as base:
            for path in history:
                base.join(path)
        campaign = at_size(file, size, seed, setting)
        observer = _Unexplained()
        result = run_campaign(campaign, observer=observer, stop=observer.stop)
        with KnowledgeBase.open(None) as base:
            row = _row(result, base)
            if not history:
                base.export(base_of(kept))
    row |= {"size": size, "seed": seed, "history": len(history)}
    kept.write_text(json.dumps(row, indent=1) + "\n")


def base_of(run: Path) -> Path:
    """The base that a cold run left behind."""
    return run.with_suffix(".base.json.xz")


def judged(file: Path, size: dict[str, int], setting: Setting, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Speed-ups of what these runs have kept, in one comparison, by digest of the genome.

    Returns:
        ``{digest: {speedup, low, high}}``; a variant that failed its verification is left out.
    """
    genomes = {record["genome"]: Genome.from_json(record["genes"]) for run in runs for record in run["records"]}
    with home():
        campaign = replace(at_size(file, size, 1, setting), use_knowledge=False, surrogate=False)
        with build(campaign) as parts:
            opened = open_baseline(parts, campaign.spec.sizes)
            lowered = {digest: opened.parts.lower(genome) for digest, genome in genomes.items()}
            variants = {key: variant for key, variant in lowered.items() if isinstance(variant, Variant)}
            unique = {variant.digest(): variant for variant in variants.values()}
            found = opened.parts.evaluator.compare(
                opened.baseline, list(unique.values()), setting.judges, lambda step, steps: None
            )
    figures = {
        comparison.variant: {name: round(getattr(comparison, name), 4) for name in ("speedup", "low", "high")}
        for comparison in found
        if comparison.verified
    }
    return {key: figures[v.digest()] for key, v in variants.items() if v.digest() in figures}


def at_size(file: Path, size: dict[str, int], seed: int, setting: Setting) -> Campaign:
    """The campaign with one tuned size, without patience and time limit, so that only measurements count."""
    overrides = Overrides(device=setting.device, evaluations=setting.evaluations, seed=seed, knowledge="auto")
    campaign = load_campaign(file, overrides)
    spec = replace(campaign.spec, sizes=(ProblemSize(tuple(size.items())),))
    budget = replace(campaign.budget, patience=None, minutes=None)
    return replace(campaign, spec=spec, budget=budget, processes=setting.processes)


def _row(result: CampaignResult, base: KnowledgeBase) -> dict[str, Any]:
    """What is kept of a run: its first good variants, with the fresh measurements up to each, and its end."""
    outcomes = base.outcomes(result.campaign_id) if result.campaign_id is not None else []
    genomes = {outcome.variant: outcome.genome for outcome in outcomes if outcome.genome.genes}
    kept = _worth_another_look([point for point in result.history if point.variant in genomes])
    records = [
        {"evaluation": max(1, point.evaluation), "speedup": round(point.speedup or 0.0, 3), "agent": point.agent,
         "genome": genomes[point.variant].digest(), "genes": genomes[point.variant].to_json()}
        for point in kept
    ]  # fmt: skip
    final = result.comparison
    return {
        "device": result.device.name,
        "toolchain": result.toolchain.label,
        "evaluations": result.counts.evaluations,
        "looked_up": result.counts.cached,
        "proven": {"speedup": round(final.speedup, 3), "low": round(final.low, 3), "high": round(final.high, 3)},
        "improved": result.improved,
        "elapsed_s": round(result.elapsed_s, 1),
        "records": records,
    }


def _worth_another_look(history: Sequence[HistoryPoint]) -> list[HistoryPoint]:
    """Variants that led the run for a while, and the first that came near to its best; each where it was first seen."""
    best = max((point.speedup or 0.0 for point in history), default=0.0)
    found: dict[str, HistoryPoint] = {}
    lead, near = 1.0, 0
    for point in history:
        speedup = point.speedup or 0.0
        close = speedup >= NEAR * best and near < FIRST
        if point.variant not in found and (speedup > lead or close):
            found[point.variant] = point
            near += close
        lead = max(lead, speedup)
    return list(found.values())


@contextmanager
def home() -> Iterator[None]:
    """A folder of its own for the embedded base while inside."""
    before = os.environ.get("EVO_TUNE_HOME")
    with tempfile.TemporaryDirectory(prefix="evo-tune-") as home:
        os.chmod(home, 0o755)  # as root the base runs under another account, which must get in
        os.environ["EVO_TUNE_HOME"] = home
        try:
            yield
        finally:
            if before is None:
                del os.environ["EVO_TUNE_HOME"]
            else:
                os.environ["EVO_TUNE_HOME"] = before

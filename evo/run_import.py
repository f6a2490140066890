"""The result of a run (``best.json`` in its folder) as a finished campaign of the knowledge base."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator.result import DeviceInfo, Evaluation, Status, Timing, Toolchain
from evo.campaign import load_campaign
from evo.campaign_types import CampaignError
from evo.contract import contract
from evo.verify import read_claim
from evo.wire import transforms
from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.replay import spec_kernel, unpinned
from genome.spec import KernelSpec
from genome.variant import Rejection, Target, Variant
from knowledge.features import kernel_record
from knowledge.records import CampaignRecord, Lineage, Outcome

_NAMESPACE = uuid.UUID("2f1f3c5c-6a0b-5f6e-8f0e-64f2b1a9c7d3")


def run_campaign(path: Path, version: str) -> tuple[uuid.UUID, CampaignRecord, tuple[Outcome, ...]]:
    """Identity, campaign and outcomes (the kernel as it was, and the result) of a ``best.json``.

    The kernel comes from the campaign file that it names; genes are replayed, text from the folder is not used.

    Raises:
        CampaignError: If the file, or the campaign that it names, cannot be read.
    """
    claim = read_claim(path)
    campaign = load_campaign(claim.campaign, None, transforms(), claim.entry)
    data = json.loads(path.read_text(encoding="utf-8"))
    times = _times(data, path)
    sizes = tuple(size for size in campaign.spec.sizes if size.label in times)
    spec = replace(campaign.spec, sizes=sizes, check_sizes=())
    record = CampaignRecord(
        name=campaign.name, kernel=kernel_record(spec, spec_kernel(spec)),
        device=DeviceInfo(claim.device, claim.device, "", "", "gpu", 0, 0), toolchain=_toolchain(data),
        seed=campaign.seed, version=version, settings=campaign.settings, contract=contract(campaign),
    )  # fmt: skip
    before, after = _variants(campaign.spec, claim.genome, claim.variant, path)
    agent = str(data.get("agent") or "run")
    outcomes = [_outcome(before, {label: pair[0] for label, pair in times.items()}, "baseline", 0, 1.0)]
    if claim.improved and after is not before:
        outcomes.append(_outcome(after, {label: pair[1] for label, pair in times.items()}, agent, 1, claim.speedup[0]))
    token = uuid.uuid5(_NAMESPACE, json.dumps([record.kernel.digest, data], sort_keys=True))
    return token, record, tuple(outcomes)


def _times(data: Mapping[str, Any], path: Path) -> dict[str, tuple[float, float]]:
    """Milliseconds before and after, by size."""
    found = {}
    rows = data.get("sizes")
    for number, row in enumerate(rows if isinstance(rows, list) else ()):
        try:
            size = row["size"]
            label = size if isinstance(size, str) else ",".join(f"{name}={value}" for name, value in size.items())
            pair = float(row["baseline_ms"]), float(row["best_ms"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CampaignError(f"{path}: sizes[{number}]: expected size, baseline_ms and best_ms, got {row}") from None
        if not all(math.isfinite(time) and time > 0 for time in pair):
            raise CampaignError(f"{path}: sizes[{number}]: expected positive times, got {pair[0]} and {pair[1]}")
        found[label] = pair
    if not found:
        raise CampaignError(f"{path}: sizes: expected a list with at least one size")
    return found


def _toolchain(data: Mapping[str, Any]) -> Toolchain:
    parts = [*str(data.get("toolchain") or "").split(" | "), "", ""]
    return Toolchain(*parts[:3])


def _variants(spec: KernelSpec, genome: Genome, digest: str, path: Path) -> tuple[Variant, Variant]:
    """Kernel and result, in the language that gives the recorded digest; in CUDA if none does."""
    pairs = [_lowered(spec, genome, target) for target in Target]
    known = [pair for pair in pairs if pair is not None]
    if not known:
        raise CampaignError(f"{path}: its genes give no variant of the kernel that its campaign names")
    return next((pair for pair in known if pair[1].digest() == digest), known[0])


def _lowered(spec: KernelSpec, genome: Genome, target: Target) -> tuple[Variant, Variant] | None:
    limits = spec.limits or DeviceLimits()
    before = lower(unpinned(spec), Genome(), transforms(), target, limits)
    after = lower(spec, genome, transforms(), target, limits) if genome.genes else before
    return None if isinstance(before, Rejection) or isinstance(after, Rejection) else (before, after)


def _outcome(variant: Variant, times: Mapping[str, float], agent: str, number: int, speedup: float) -> Outcome:
    digest = variant.digest()
    evaluations = [
        Evaluation(digest, label, Status.OK, timing=Timing((time,), time, time, time), stage="time")
        for label, time in times.items()
    ]
    lineage = Lineage(agent, (), variant.genome.genes, number)
    return Outcome(variant, tuple(evaluations), (), lineage, speedup)

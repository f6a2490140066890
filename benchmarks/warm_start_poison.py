"""Histories that mislead: what a run found, its times dealt out anew, on this device or on another vendor's."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import numpy as np
from warm_start_runs import Setting, at_size, home

from evaluator.devices import resolve_device
from evaluator.result import DeviceInfo, Evaluation, Toolchain
from evo.wire import transforms
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.replay import spec_kernel
from genome.variant import Target, Variant
from knowledge.features import kernel_record
from knowledge.filters import Filter
from knowledge.records import CampaignRecord, Outcome
from knowledge.rows import StoredOutcome
from knowledge.store import KnowledgeBase

KINDS = ("labels", "vendor")


def poison(base: Path, file: Path, size: dict[str, int], kind: str, seed: int, setting: Setting, kept: Path) -> None:
    """Writes a base in which every genome of a run has the times of another one, drawn at random.

    Args:
        base: What the run left.
        file: Its campaign.
        size: Its size.
        kind: ``labels`` keeps the device; ``vendor`` says that a device of another vendor measured this.
        seed: Of the draw.
        setting: Of the run.
        kept: Where the base goes.
    """
    spec, device = at_size(file, size, seed, setting).spec, resolve_device(setting.device)
    target = Target.CUDA if setting.device.startswith("cuda") else Target.OPENCL
    record = CampaignRecord(
        kept.stem, kernel_record(spec, spec_kernel(spec)), _elsewhere(device) if kind == "vendor" else device,
        Toolchain("unknown", "", ""), seed, "",
    )  # fmt: skip
    with home(), KnowledgeBase.open(None) as store:
        store.join(base)
        told = store.outcomes(store.history(Filter(), 1)[0].id)
    pairs = [(outcome, lower(spec, outcome.genome, transforms(), target, DeviceLimits())) for outcome in told]
    valid = [(outcome, variant) for outcome, variant in pairs if isinstance(variant, Variant)]
    with home(), KnowledgeBase.open(None) as store:
        store.record_all(uuid.uuid4(), record, _dealt(valid, np.random.default_rng(seed)), {})
        store.export(kept)


def _dealt(found: list[tuple[StoredOutcome, Variant]], rng: np.random.Generator) -> list[Outcome]:
    """The outcomes, the baseline's left out, with evaluations that another one had."""
    dealt = [0, *(1 + rng.permutation(len(found) - 1))]
    outcomes = []
    for (own, variant), other in zip(found, dealt, strict=True):
        source = found[int(other)][0]
        evaluations = tuple(_of(variant, evaluation) for evaluation in source.evaluations)
        outcomes.append(Outcome(variant, evaluations, (), own.lineage, source.speedup))
    return outcomes


def _of(variant: Variant, evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, variant=variant.digest())


def _elsewhere(device: DeviceInfo) -> DeviceInfo:
    """A device of another vendor, otherwise like this one."""
    return replace(device, name="another device", vendor="another vendor", architecture="unknown")

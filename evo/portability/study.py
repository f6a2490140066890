"""A portability study as the rest sees it, and how it is read from ``study.yaml``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from evo.campaign import load_campaign
from evo.campaign_build import knowledge_of
from evo.campaign_errors import campaign_error
from evo.campaign_paths import check_output, existing_file
from evo.campaign_replay import PREFIX, require_kernel
from evo.campaign_types import Campaign, CampaignError, Overrides
from evo.campaign_yaml import Document, FieldPath, Place, read_document
from evo.nearest import nearest
from evo.portability.study_model import DeviceModel, StudyModel
from evo.portability.study_recorded import RecordedKernel, recorded_kernels
from genome.transforms.base import Transform
from genome.transforms.builtin import BUILTIN

BASE = "base:"
"""Prefix of a device that only the knowledge base knows; part of its name follows."""


@dataclass(frozen=True)
class Study:
    """Everything that a study needs.

    Attributes:
        name: For a person, and in the knowledge base.
        path: The file.
        recorded: Kernels that were recorded, one for each of their sizes.
        campaigns: Kernels that run, by the campaign of each.
        devices: Where those run: ``cuda:N``, ``opencl:N``.
        known: Devices that only the base knows, as parts of their names.
        sizes: Labels of the sizes that are looked at; empty for all.
        keep: Share of the best that a portfolio keeps.
        seed: Of every random choice.
        output: Folder of the results.
        use_knowledge, knowledge_url: As in a campaign.
    """

    name: str
    path: Path
    recorded: tuple[RecordedKernel, ...]
    campaigns: tuple[Campaign, ...]
    devices: tuple[str, ...]
    known: tuple[str, ...]
    sizes: tuple[str, ...]
    keep: float
    seed: int
    output: Path
    use_knowledge: bool
    knowledge_url: str | None


def load_study(
    path: Path, output: Path | None = None, knowledge: str | None = None, transforms: Sequence[Transform] = BUILTIN
) -> Study:
    """Reads and validates a study. Paths in it are relative to its own folder. Nothing is run or written.

    Args:
        path: The file.
        output: In place of the file's ``output``; relative to the working folder.
        knowledge: In place of the file's ``knowledge``.
        transforms: Those that the campaigns' steering may name.

    Raises:
        CampaignError: With file, line, field, what was expected and how to mend it.
        SourceError: If a kernel cannot be read.
    """
    if not path.is_file():
        raise CampaignError(f"{path}: expected a study file; docs/guide/portability.md tells what stands in one")
    document = read_document(path)
    try:
        model = StudyModel.model_validate(dict(document.data))
    except ValidationError as error:
        raise campaign_error(document, error, StudyModel) from None
    folder = output or path.parent / model.output
    check_output(folder, Place.of(document, "output", given=output is not None))
    use_knowledge, url = knowledge_of(knowledge, model.knowledge, document)
    live = tuple(item.device for item in model.devices if not item.device.startswith((PREFIX, BASE)))
    known = tuple(item.device.removeprefix(BASE) for item in model.devices if item.device.startswith(BASE))
    _check_devices(model.devices, document)
    campaigns = _campaigns(model, document, folder, knowledge, transforms)
    _check_use(campaigns, [*live, *known], use_knowledge, document)
    recorded = recorded_kernels(model, document)
    sizes = {size.label for campaign in campaigns for size in campaign.spec.sizes} | {item.size for item in recorded}
    for number, label in enumerate(model.sizes):
        if label not in sizes:
            raise document.error(
                ("sizes", number), f"no kernel has the size '{label}'; {nearest(label, sorted(sizes))}"
            )
    return Study(
        model.name or path.resolve().stem, path, tuple(r for r in recorded if not model.sizes or r.size in model.sizes),
        campaigns, live, known, tuple(model.sizes), model.keep, model.seed, folder, use_knowledge, url,
    )  # fmt: skip


def _check_devices(devices: Sequence[DeviceModel], document: Document) -> None:
    """Names of devices, and fields that only recorded ones have.

    Raises:
        CampaignError: At the first mistake.
    """
    seen: dict[str, int] = {}
    for number, item in enumerate(devices):
        where: FieldPath = ("devices", number)
        if item.device in seen:
            raise document.error(where, f"'{item.device}' is there already (devices[{seen[item.device]}]); keep one")
        seen[item.device] = number
        if item.device.startswith(PREFIX):
            continue
        if not re.fullmatch(r"(opencl|cuda):\d+|base:.+", item.device):
            expected = f"expected cuda:N, opencl:N, {BASE}NAME or {PREFIX}FILE"
            raise document.error(where, f"{expected}, got '{item.device}'")
        extra = {"name", "kernel", "fixed", "peaks", "units", "shared_bytes"} & item.model_fields_set
        if extra:
            raise document.error(
                (*where, min(extra)), f"is for recorded spaces ({PREFIX}FILE); leave it out: a device tells by itself"
            )


def _check_use(campaigns: Sequence[Campaign], devices: Sequence[str], base: bool, document: Document) -> None:
    if campaigns and not devices:
        raise document.error(
            ("devices",), "the study names campaigns, and no device that they run on; add opencl:0, say"
        )
    if devices and not campaigns:
        raise document.error(
            ("kernels",), f"the study names {devices[0]}, and no kernel that runs there; add `campaign: FILE`"
        )
    if campaigns and not base:
        raise document.error(("knowledge",), "kernels that run are measured into a knowledge base; it cannot be none")


def _campaigns(
    model: StudyModel, document: Document, folder: Path, knowledge: str | None, transforms: Sequence[Transform]
) -> tuple[Campaign, ...]:
    """The campaigns that the study names, with its budget and seed, and a folder in that of the study."""
    found: list[Campaign] = []
    budget = model.budget
    for number, item in enumerate(model.kernels):
        where: FieldPath = ("kernels", number)
        if item.campaign is None:
            if item.name is None:
                raise document.error(where, "expected `campaign: FILE`, or the `name:` of a recorded kernel")
            if item.entry is not None:
                raise document.error((*where, "entry"), "is one of a campaign's entries; add `campaign: FILE`")
            continue
        if item.name is not None or item.work is not None:
            field = "name" if item.name is not None else "work"
            raise document.error((*where, field), "follows from the campaign; leave it out")
        given = Overrides(
            evaluations=budget.evaluations if budget else None,
            minutes=budget.minutes if budget else None,
            seed=model.seed,
            knowledge=knowledge or model.knowledge,
        )
        file = existing_file(document, item.campaign, (*where, "campaign"))
        campaign = require_kernel(load_campaign(file, given, transforms, item.entry or ""), "carry over")
        labels = {size.label for size in campaign.spec.sizes}
        if any(campaign.spec.name == other.spec.name for other in found):
            raise document.error(where, f"the kernel {campaign.spec.name} is there already; keep one")
        if not model.sizes or labels & set(model.sizes):
            found.append(replace(campaign, output=folder / campaign.spec.name))
    return tuple(found)

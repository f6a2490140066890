"""Campaigns on recorded search spaces: ``target: replay:FILE`` takes the place of a kernel and a device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluator.recording import Recording, RecordingError, read_recording
from evo.campaign_build import knowledge_of, plain_settings
from evo.campaign_entries import FIELD as ENTRIES
from evo.campaign_errors import campaign_error
from evo.campaign_model import BudgetModel, CampaignModel
from evo.campaign_paths import check_output, existing_file
from evo.campaign_types import Budget, Campaign, CampaignError, Overrides
from evo.campaign_yaml import Document, Place
from evo.recorded import RecordedSpace

FIELD = "target"
PREFIX = "replay:"


class ReplayModel(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    name: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    target: str
    budget: BudgetModel = BudgetModel()
    population: Annotated[int, Field(ge=2, le=10_000)] = 24
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    knowledge: str = "auto"
    surrogate: bool = True
    epsilon: Annotated[float, Field(ge=0, le=1)] = 0.1
    output: str = "evo-out"


def is_replay(document: Document) -> bool:
    """True if the file names a recorded space."""
    return FIELD in document.data


def build_replay(document: Document, overrides: Overrides) -> Campaign:
    """The campaign of a file that names a recorded space.

    Raises:
        CampaignError: If a field is wrong, or the recording cannot be read.
    """
    _check_fields(document)
    try:
        model = ReplayModel.model_validate(dict(document.data))
    except ValidationError as error:
        raise campaign_error(document, error) from None
    if overrides.device:
        raise CampaignError(f"--device: a campaign on a recorded space (`{FIELD}:`) runs on no other device")
    file = _file(model.target, document)
    space = recorded_space(_read(file, document), model.name or file.name.partition(".")[0])
    output = overrides.output or document.path.parent / model.output
    check_output(output, Place.of(document, "output", given=overrides.output is not None))
    use_knowledge, url = knowledge_of(overrides.knowledge, model.knowledge, document)
    return Campaign(
        name=space.name,
        path=document.path,
        spec=space.spec,
        output=output,
        device=f"{PREFIX}{file}",
        budget=Budget(
            overrides.evaluations or model.budget.evaluations,
            overrides.minutes or model.budget.minutes,
            model.budget.patience,
        ),
        population=model.population,
        seed=model.seed if overrides.seed is None else overrides.seed,
        use_knowledge=use_knowledge,
        knowledge_url=url,
        epsilon=model.epsilon,
        surrogate=model.surrogate,
        settings=plain_settings(document.data),
        recorded=space,
    )


def require_kernel(campaign: Campaign, purpose: str) -> Campaign:
    """The campaign, if it is about a kernel.

    Args:
        campaign: As it was read.
        purpose: What somebody wants to do with the kernel.

    Raises:
        CampaignError: If it is about a recorded space.
    """
    if campaign.device.startswith(PREFIX):
        raise CampaignError(
            f"{campaign.path}: is about a recorded space (`{FIELD}:`), which has no kernel to {purpose}"
        )
    return campaign


def recorded_space(recording: Recording, name: str) -> RecordedSpace:
    """The space with its first configuration that did not fail as the kernel to begin with."""
    return RecordedSpace(recording.kernel or name, recording, int(np.flatnonzero(~np.isnan(recording.times_ms))[0]))


def _check_fields(document: Document) -> None:
    """A field of other campaigns, or entries, must not stand beside the recorded space."""
    for field in document.data:
        if field not in ReplayModel.model_fields and field in (ENTRIES, *CampaignModel.model_fields):
            raise document.error((field,), f"`{FIELD}:` names a recorded space, which takes its place; leave one out")


def _file(target: str, document: Document) -> Path:
    if not target.startswith(PREFIX):
        raise document.error((FIELD,), f"expected {PREFIX}FILE, a recorded search space, got '{target}'")
    return existing_file(document, target.removeprefix(PREFIX), (FIELD,)).resolve()


def _read(file: Path, document: Document) -> Recording:
    try:
        return read_recording(file)
    except RecordingError as error:
        raise document.error((FIELD,), str(error)) from None

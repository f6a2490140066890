"""Loads a campaign file: YAML with line numbers, models, then checks across fields and against the kernel's source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from evo.campaign_build import build_campaign
from evo.campaign_errors import campaign_error
from evo.campaign_model import CampaignModel
from evo.campaign_types import Budget, Campaign, CampaignError, Overrides
from evo.campaign_yaml import Document, read_document
from genome.transforms.base import Transform
from genome.transforms.builtin import BUILTIN

__all__ = ["Budget", "Campaign", "CampaignError", "Overrides", "load_campaign"]


def load_campaign(
    path: Path, overrides: Overrides | None = None, transforms: Sequence[Transform] = BUILTIN
) -> Campaign:
    """Reads and validates a campaign file. Paths in it are relative to its own folder. Nothing is executed or written.

    ``transforms`` are those that its steering may name.

    Raises:
        CampaignError: With file, line, field, what was expected and how to mend it.
    """
    document = read_document(path)
    return build_campaign(_validate(document), document, overrides or Overrides(), transforms)


def _validate(document: Document) -> CampaignModel:
    try:
        return CampaignModel.model_validate(dict(document.data))
    except ValidationError as error:
        raise campaign_error(document, error) from None

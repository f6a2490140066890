"""Loads a campaign file: YAML with line numbers, models, then checks across fields and against the kernel's source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from evaluator.objective import Kind
from evo.campaign_build import build_campaign
from evo.campaign_entries import FIELD, Part, holds_entries, take_apart
from evo.campaign_errors import campaign_error
from evo.campaign_model import CampaignModel
from evo.campaign_replay import build_replay, is_replay
from evo.campaign_types import Budget, Campaign, CampaignError, EntriesCampaign, Entry, Overrides
from evo.campaign_yaml import Document, Place, read_document
from evo.nearest import nearest
from genome.transforms.base import Transform
from genome.transforms.builtin import BUILTIN

__all__ = ["Budget", "Campaign", "CampaignError", "EntriesCampaign", "Entry", "Overrides", "load_campaign", "load_plan"]


def load_campaign(
    path: Path, overrides: Overrides | None = None, transforms: Sequence[Transform] = BUILTIN, entry: str = ""
) -> Campaign:
    """Reads and validates a campaign file. Paths in it are relative to its own folder. Nothing is executed or written.

    ``transforms`` are those that its steering may name. ``entry`` is one of the file's ``entries:``, where it has any.

    Raises:
        CampaignError: With file, line, field, what was expected and how to mend it.
    """
    document, given = read_document(path), overrides or Overrides()
    if entry and not holds_entries(document):
        raise CampaignError(f"{path}: has no `entries:`, so none that is named '{entry}'; name none")
    if is_replay(document):
        return build_replay(document, given)
    if not holds_entries(document):
        return build_campaign(_validate(document), document, given, transforms)
    parts = {part.name: part for part in take_apart(document)}
    if not entry:
        raise document.error((FIELD,), f"there are several here; name one: {', '.join(parts)}")
    if entry not in parts:
        raise document.error((FIELD,), f"none is named '{entry}'; {nearest(entry, parts)}")
    return _built(parts[entry], given, transforms)


def load_plan(
    path: Path, overrides: Overrides | None = None, transforms: Sequence[Transform] = BUILTIN
) -> Campaign | EntriesCampaign:
    """The same for whatever the file is about: one kernel, or several entries that share its budget.

    Raises:
        CampaignError: As ``load_campaign``, for the first entry that has a mistake.
    """
    document, given = read_document(path), overrides or Overrides()
    if is_replay(document):
        return build_replay(document, given)
    if not holds_entries(document):
        return build_campaign(_validate(document), document, given, transforms)
    parts = take_apart(document)
    entries = tuple(Entry(part.name, part.calls, _built(part, given, transforms)) for part in parts)
    first, shared = entries[0].campaign, document.data.get("name")
    if first.budget.evaluations < len(entries):
        place = Place("--evaluations") if given.evaluations else Place.of(document, "budget", given=False)
        raise place.error(f"expected at least an evaluation for each of {len(entries)} entries, "
                          f"got {first.budget.evaluations}")  # fmt: skip
    if first.objective.kind is Kind.ENERGY:
        raise document.error(("objective",), "entries share a budget by their times, and are added up by them: choose "
                                             "latency or throughput (energy may have a bound)")  # fmt: skip
    return EntriesCampaign(
        str(shared or path.resolve().parent.name), path, first.output.parent, first.budget, entries, first.seed,
        first.use_knowledge,
    )  # fmt: skip


def _built(part: Part, overrides: Overrides, transforms: Sequence[Transform]) -> Campaign:
    """The campaign of an entry, with a name and a folder of its own."""
    whole = build_campaign(_validate(part.document), part.document, overrides, transforms)
    shared = part.document.data.get("name")
    name = f"{shared}/{part.name}" if shared else part.name
    return replace(whole, name=name, output=whole.output / part.name, entry=part.name)


def _validate(document: Document) -> CampaignModel:
    try:
        return CampaignModel.model_validate(dict(document.data))
    except ValidationError as error:
        raise campaign_error(document, error) from None

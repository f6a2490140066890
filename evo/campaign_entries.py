"""Takes a file with several entries apart: each entry becomes the document of an ordinary campaign. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from evo.campaign_errors import campaign_error
from evo.campaign_model import EntriesModel, EntryModel
from evo.campaign_yaml import Document, FieldPath

FIELD = "entries"
_OWN = ("name", "calls")  # of an entry alone: no campaign has them


@dataclass(frozen=True)
class Part:
    """One entry: its name, how often it is called, and its campaign as a document of its own."""

    name: str
    calls: float
    document: Document


def holds_entries(document: Document) -> bool:
    """True if the file names several entries."""
    return FIELD in document.data


def take_apart(document: Document) -> tuple[Part, ...]:
    """The entries of a file that names them.

    Raises:
        CampaignError: If an entry has a field that it cannot have, no name, or the name of another one.
    """
    try:
        models = EntriesModel.model_validate({FIELD: document.data[FIELD]}).entries
    except ValidationError as error:
        raise campaign_error(document, error) from None
    parts: list[Part] = []
    for number, model in enumerate(models):
        name = _name(model, number, document)
        if name in [part.name for part in parts]:
            raise document.error((FIELD, number), f"'{name}' is there twice; give one of them another `name:`")
        parts.append(Part(name, model.calls, _document(document, number)))
    return tuple(parts)


def _name(model: EntryModel, number: int, document: Document) -> str:
    """The entry's own name, else that of its kernel."""
    entry = model.kernel.get("entry") if isinstance(model.kernel, dict) else None
    if model.name is None and not isinstance(entry, str):
        raise document.error((FIELD, number), "an entry needs a `name:`, or a `kernel: {entry: ...}` that names it")
    return model.name or str(entry)


def _document(document: Document, number: int) -> Document:
    """The campaign of one entry; every field of it knows where it stands in the file."""
    own: Mapping[str, Any] = document.data[FIELD][number]
    above = {key: value for key, value in document.data.items() if key != FIELD}
    places: dict[FieldPath, FieldPath] = {(): (FIELD, number)}
    places |= {(key,): (key,) for key in above}
    data = dict(above)
    for key, value in own.items():
        if key in _OWN:
            continue
        if key == "kernel" and isinstance(value, dict) and isinstance(above.get(key), dict):
            data[key] = {**above[key], **value}
            places |= {(key, inner): (FIELD, number, key, inner) for inner in value}
        else:
            data[key] = value
            places[key,] = (FIELD, number, key)
    return Document(document.path, data, _lines(document, places), places)


def _lines(document: Document, places: Mapping[FieldPath, FieldPath]) -> dict[FieldPath, int]:
    """Lines by the path in the entry's campaign; what is nearer to the entry wins over what is shared."""
    lines: dict[FieldPath, int] = {}
    for there, place in sorted(places.items(), key=lambda item: len(item[0])):
        length = len(place)
        if not there:
            lines[there] = document.line(place)
            continue
        lines |= {(*there, *where[length:]): line for where, line in document.lines.items() if where[:length] == place}
    return lines

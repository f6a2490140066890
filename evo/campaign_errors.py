"""Turns pydantic's complaints into one sentence each: what was expected, what was there, how to mend it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from evo.campaign_model import CampaignModel, EntriesModel
from evo.campaign_types import CampaignError
from evo.campaign_yaml import Document, FieldPath
from evo.nearest import nearest

SHOWN = 5
"""Problems of one file that are told at a time."""

_EXPECTED = {
    "int_type": "an integer", "int_parsing": "an integer", "int_from_float": "an integer", "float_type": "a number",
    "float_parsing": "a number", "bool_type": "true or false", "string_type": "a text", "list_type": "a list",
    "dict_type": "fields (name: value)", "model_type": "fields (name: value)", "finite_number": "a finite number",
    "int_parsing_size": "an integer of a usual size",
}  # fmt: skip


def quantity(number: int, one: str, many: str) -> str:
    """``none``, ``1 entry``, ``3 entries``."""
    return f"{number} {one if number == 1 else many}" if number else "none"


def campaign_error(document: Document, error: ValidationError, root: type[BaseModel] | None = None) -> CampaignError:
    """The complaints in the order of the file, one a line; the first few if there are many.

    ``root`` is the model of the whole file, where that is no campaign.
    """
    problems = sorted(error.errors(), key=lambda item: document.line(_where(item["loc"])))
    lines = [str(document.error(where := _where(item["loc"]), _sentence(where, item, root))) for item in problems]
    more = len(lines) - SHOWN
    return CampaignError("\n".join([*lines[:SHOWN], *([f"and {more} more"] if more > 0 else [])]))


def _where(loc: tuple[int | str, ...]) -> FieldPath:
    return tuple(part for part in loc if part != "[key]")


def _sentence(where: FieldPath, item: Mapping[str, Any], root: type[BaseModel] | None) -> str:
    kind, context, value = str(item["type"]), item.get("ctx", {}), item.get("input")
    got = shown(value)
    match kind:
        case "extra_forbidden":
            return f"unknown field; {nearest(str(where[-1]), _fields(where[:-1], root))}"
        case "missing":
            return f"required field is missing; add `{where[-1]}:` here"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            choices = [choice.strip("' ") for choice in str(context["expected"]).replace(" or ", ", ").split(",")]
            if where == ("version",):
                return f"this program reads files of version 1, got {got}; write `version: 1`"
            close = f"; {nearest(value, choices)}" if isinstance(value, str) else ""
            return f"expected one of {', '.join(choices)}, got {got}{close}"
        case "string_pattern_mismatch":
            return f"expected a name of letters, digits and underscores, got {got}"
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            bound = next(iter(context.values()))
            relation = {"greater_than_equal": "at least", "greater_than": "more than", "less_than_equal": "at most",
                        "less_than": "less than"}[kind]  # fmt: skip
            return f"expected a number of {relation} {bound}, got {got}"
        case "too_short":
            return (f"expected at least {quantity(context['min_length'], 'entry', 'entries')}, "
                    f"got {quantity(context['actual_length'], 'entry', 'entries')}")  # fmt: skip
        case "too_long":
            return f"expected at most {context['max_length']} entries, got {context['actual_length']}"
        case "float_type" | "float_parsing" if isinstance(value, int):
            return f"expected a number of a usual size, got {got}"
        case _ if kind in _EXPECTED:
            return f"expected {_EXPECTED[kind]}, got {got}"
    return f"{item['msg'][0].lower()}{item['msg'][1:]}, got {got}"


def shown(value: object) -> str:
    """A value of the file in an error, cut where it is long."""
    if isinstance(value, int) and abs(value) >= 10**24:
        return "a larger one"
    text = "nothing" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _fields(where: FieldPath, root: type[BaseModel] | None = None) -> list[str]:
    if not where and root is None:
        return [*CampaignModel.model_fields, *EntriesModel.model_fields]
    model: Any = root or (EntriesModel if where[0] in EntriesModel.model_fields else CampaignModel)
    for part in where:
        if isinstance(part, str) and isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(part)
            model = _model_in(field.annotation) if field else None
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _model_in(annotation: object) -> object:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found is not None:
            return found
    return None

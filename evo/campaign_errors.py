"""Turns pydantic's complaints into one sentence each: what was expected, what was there, how to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from evo.campaign_model import CampaignModel
from evo.campaign_types import CampaignError
from evo.campaign_yaml import Document, FieldPath

_EXPECTED = {
    "int_type": "an integer", "int_parsing": "an integer", "int_from_float": "an integer", "float_type": "a number",
    "float_parsing": "a number", "bool_type": "true or false", "string_type": "a text", "list_type": "a list",
    "dict_type": "fields (name: value)", "model_type": "fields (name: value)", "finite_number": "a finite number",
}  # fmt: skip


def nearest(name: str, choices: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the closest choice, else the whole list."""
    known = list(choices)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"possible: {', '.join(known)}" if known else "none is possible here"


def campaign_error(document: Document, error: ValidationError) -> CampaignError:
    """The complaint that stands first in the file, and how many more there are."""
    problems = sorted(error.errors(), key=lambda item: document.line(_where(item["loc"])))
    first = problems[0]
    where = _where(first["loc"])
    others = len(problems) - 1
    tail = f" (and {others} more problem{'s' if others > 1 else ''})" if others else ""
    return document.error(where, _sentence(where, first) + tail)


def _where(loc: tuple[int | str, ...]) -> FieldPath:
    return tuple(part for part in loc if part != "[key]")


def _sentence(where: FieldPath, item: Mapping[str, Any]) -> str:
    kind, context, value = str(item["type"]), item.get("ctx", {}), item.get("input")
    got = _shown(value)
    match kind:
        case "extra_forbidden":
            return f"unknown field; {nearest(str(where[-1]), _fields(where[:-1]))}"
        case "missing":
            return f"required field is missing; add `{where[-1]}:` here"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            choices = [choice.strip("' ") for choice in str(context["expected"]).replace(" or ", ", ").split(",")]
            return f"expected one of {', '.join(choices)}, got {got}; {nearest(str(value), choices)}"
        case "string_pattern_mismatch":
            return f"expected a name of letters, digits and underscores, got {got}"
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            bound = next(iter(context.values()))
            relation = {"greater_than_equal": "at least", "greater_than": "more than", "less_than_equal": "at most",
                        "less_than": "less than"}[kind]  # fmt: skip
            return f"expected a number of {relation} {bound}, got {got}"
        case "too_short":
            return f"expected at least {context['min_length']} entries, got {context['actual_length']}"
        case "too_long":
            return f"expected at most {context['max_length']} entries, got {context['actual_length']}"
        case _ if kind in _EXPECTED:
            return f"expected {_EXPECTED[kind]}, got {got}"
    return f"{item['msg'][0].lower()}{item['msg'][1:]}, got {got}"


def _shown(value: object) -> str:
    text = "nothing" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _fields(where: FieldPath) -> list[str]:
    model: Any = CampaignModel
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

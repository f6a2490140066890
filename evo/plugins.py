"""Transforms and agents of installed packages, beside the built-in ones."""

from __future__ import annotations

from importlib import metadata
from typing import Any, Protocol, TypeVar

from genome.transforms.base import Transform
from genome.transforms.builtin import BUILTIN

TRANSFORM_GROUP = "evo_tune.transforms"
AGENT_GROUP = "evo_tune.agents"


def transforms() -> tuple[Transform, ...]:
    """Built-in transforms, then those of installed packages (entry points of ``evo_tune.transforms``), by name.

    Raises:
        ValueError: If two transforms have the same name.
    """
    return unique((*BUILTIN, *plugins(TRANSFORM_GROUP)), "transform")


def plugins(group: str) -> tuple[Any, ...]:
    """What installed packages offer, each entry point an instance or a class without arguments, by name."""
    points = sorted(metadata.entry_points(group=group), key=lambda point: point.name)
    loaded = [point.load() for point in points]
    return tuple(item() if isinstance(item, type) else item for item in loaded)


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


_Named = TypeVar("_Named", bound=_HasName)


def unique(items: tuple[_Named, ...], what: str) -> tuple[_Named, ...]:
    """The items, each of a name of its own.

    Raises:
        ValueError: If two have the same name.
    """
    names = [item.name for item in items]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two {what}s are named {', '.join(twice)}: uninstall one of the packages that bring them")
    return items

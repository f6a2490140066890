"""Transforms and agents of installed packages, beside the built-in ones."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import Any, Protocol, TypeVar

from genome.transforms.base import Phase, Transform
from genome.transforms.builtin import BUILTIN

TRANSFORM_GROUP = "evo_tune.transforms"
AGENT_GROUP = "evo_tune.agents"

_MEMBERS = {
    TRANSFORM_GROUP: ("name", "phase", "targets", "sites", "domain", "check", "apply", "describe"),
    AGENT_GROUP: ("name", "propose"),
}


class PluginError(ValueError):
    """An installed package offers something that cannot be used; the message names it and says how to mend it."""


def transforms() -> tuple[Transform, ...]:
    """Built-in transforms, then those of installed packages (entry points of ``evo_tune.transforms``), by name.

    Raises:
        PluginError: If one cannot be loaded or is no transform, or if two have the same name.
    """
    return unique((*BUILTIN, *plugins(TRANSFORM_GROUP)), "transform")


def plugins(group: str) -> tuple[Any, ...]:
    """What installed packages offer, each entry point an instance or a class without arguments, by name.

    Raises:
        PluginError: If one cannot be loaded, or lacks a member of the group's protocol.
    """
    points = sorted(metadata.entry_points(group=group), key=lambda point: point.name)
    return tuple(_loaded(point, _MEMBERS.get(group, ())) for point in points)


def _loaded(point: metadata.EntryPoint, members: Sequence[str]) -> Any:
    """The entry point's object, made an instance where it is a class."""
    place = f"{point.dist.name if point.dist else 'a package'}: entry point '{point.name} = {point.value}'"
    try:
        found = point.load()
        found = found() if isinstance(found, type) else found
    except Exception as error:  # whatever the code of another project raises
        raise PluginError(f"{place} cannot be loaded: {type(error).__name__}: {error}; mend or uninstall it") from error
    missing = [member for member in members if not hasattr(found, member)]
    if missing:
        raise PluginError(f"{place} has no {', '.join(missing)}: see docs/guide/writing-a-transform.md")
    if "phase" in members and not isinstance(found.phase, Phase):
        raise PluginError(f"{place}: phase must be a Phase, not {found.phase!r}")
    return found


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


_Named = TypeVar("_Named", bound=_HasName)


def unique(items: tuple[_Named, ...], what: str) -> tuple[_Named, ...]:
    """The items, each of a name of its own.

    Raises:
        PluginError: If two have the same name.
    """
    names = [item.name for item in items]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PluginError(f"two {what}s are named {', '.join(twice)}: uninstall one of the packages that bring them")
    return items

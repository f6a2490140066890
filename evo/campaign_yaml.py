"""Reads YAML and remembers the line of every field, so that each complaint can point at it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from evo.campaign_types import CampaignError

FieldPath = tuple[str | int, ...]
"""Where a field is: ``("arguments", 2, "shape")``."""


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads ``1e-4`` as a number, as YAML 1.2 and every person does; dates stay text.

    It takes no aliases: a short file of them stands for a document without end.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Composes one node.

        Raises:
            yaml.composer.ComposerError: At an alias.
        """
        if self.check_event(yaml.AliasEvent):
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            text = f"the alias *{event.anchor} is not followed here; write the value out"
            raise yaml.composer.ComposerError(None, None, text, event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def _integer(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """An integer; Python refuses thousands of digits, without saying where."""
    try:
        return int(loader.construct_yaml_int(node))
    except ValueError:
        raise yaml.constructor.ConstructorError(
            None, None, f"a number of {len(node.value)} characters is no integer of a usual size", node.start_mark
        ) from None


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


@dataclass(frozen=True)
class Document:
    """Plain data of a YAML file with the line of each field.

    ``origins`` says where fields that were put together from several places of the file stand there: the longest
    beginning of a path that it holds is replaced.
    """

    path: Path
    data: Mapping[str, Any]
    lines: Mapping[FieldPath, int] = field(default_factory=dict)
    origins: Mapping[FieldPath, FieldPath] = field(default_factory=dict)

    def line(self, where: FieldPath) -> int:
        """Line of the field, else of the nearest enclosing one."""
        while where and where not in self.lines:
            where = where[:-1]
        return self.lines.get(where, 1)

    def error(self, where: FieldPath, message: str) -> CampaignError:
        """An error that reads ``campaign.yaml:12: arguments[2].shape: message``."""
        name = dotted(self._origin(where))
        return CampaignError(f"{self.path}:{self.line(where)}: {name + ': ' if name else ''}{message}")

    def _origin(self, where: FieldPath) -> FieldPath:
        for length in range(len(where), -1, -1):
            if where[:length] in self.origins:
                return (*self.origins[where[:length]], *where[length:])
        return where


@dataclass(frozen=True)
class Place:
    """What an error blames: a field of the file, or the option or variable that took its place."""

    name: str

    @staticmethod
    def of(document: Document, field: str, given: bool) -> Place:
        """``--field`` where the option was given, else the field with file and line."""
        return Place(f"--{field}" if given else f"{document.path}:{document.line((field,))}: {field}")

    def error(self, message: str) -> CampaignError:
        """An error that reads ``--device: message``."""
        return CampaignError(f"{self.name}: {message}")


def dotted(where: FieldPath) -> str:
    """``arguments[2].shape`` of ``("arguments", 2, "shape")``."""
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_document(path: Path) -> Document:
    """Reads a campaign file.

    Raises:
        CampaignError: If it cannot be read, is not YAML, holds a field twice, or is not a mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CampaignError(f"{path}: no such file; `evo-tune init kernel.cu` writes a campaign file") from None
    except IsADirectoryError:
        raise CampaignError(f"{path}: this is a folder; give the campaign file in it") from None
    except UnicodeDecodeError as error:
        raise CampaignError(f"{path}: not UTF-8 text (byte {error.start}); save the file as UTF-8") from None
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read: {error.strerror}") from None
    return parse_document(text, path)


def parse_document(text: str, path: Path) -> Document:
    """The same for text in memory; ``path`` is only named in errors."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise CampaignError(f"{path}:1: the file is empty; `evo-tune init kernel.cu` writes a campaign file")
        if not isinstance(node, yaml.MappingNode):
            raise CampaignError(f"{path}:1: expected fields such as `kernel:` and `arguments:`, got {_kind(node)}")
        lines: dict[FieldPath, int] = {}
        _collect(node, (), lines, path, depth=0)
        return Document(path, loader.construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise CampaignError(f"{path}:{line}: not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise CampaignError(f"{path}: not valid YAML: {error}") from None
    except (ValueError, RecursionError) as error:
        raise CampaignError(f"{path}: not valid YAML: {error}") from None
    finally:
        loader.dispose()


def _collect(node: yaml.Node, where: FieldPath, lines: dict[FieldPath, int], path: Path, depth: int) -> None:
    lines[where] = node.start_mark.line + 1
    if depth > 20:
        raise CampaignError(f"{path}:{lines[where]}: nested too deeply")
    if isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            _collect(child, (*where, number), lines, path, depth + 1)
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            inner = (*where, str(key.value))
            if inner in lines:
                raise CampaignError(
                    f"{path}:{key.start_mark.line + 1}: {dotted(inner)}: given twice (first at line {lines[inner]}); "
                    "keep one of them"
                )
            _collect(child, inner, lines, path, depth + 1)
            lines[inner] = key.start_mark.line + 1


def _kind(node: yaml.Node) -> str:
    return "a list" if isinstance(node, yaml.SequenceNode) else f"'{node.value}'"

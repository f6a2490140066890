"""Parameters of a kernel template, and arguments with which it can be read before anybody has said which are meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genome.ir.print_tokens import Token, closing_angle, render, split_commas
from genome.ir.types import VECTOR_TYPES
from genome.source.constants import file_constants
from genome.source.encode import SCALAR_TYPES
from genome.source.preprocess import preprocess
from genome.source.slice import Item, find_entry, items, type_names

_TYPES = ("typename", "class")
_SPELLINGS = frozenset({"true", "false", "void", "unsigned", "signed", "const", "struct"})


@dataclass(frozen=True)
class TemplateParameter:
    """One parameter of a template.

    Attributes:
        name: In the source.
        kind: ``typename``, ``int``, ``bool``, ...
        default: Text, or empty.
    """

    name: str
    kind: str
    default: str = ""

    @property
    def guess(self) -> str:
        """The default, else ``float`` for a type, ``true`` for a bool, 1 for a number."""
        return self.default or ("float" if self.kind in _TYPES else "true" if self.kind == "bool" else "1")


def template_parameters(source: str, entry: str, path: str = "kernel.cu") -> tuple[TemplateParameter, ...]:
    """Parameters in order; empty for a kernel that is no template.

    Raises:
        SourceError: If the kernel is not there.
    """
    return item_parameters(find_entry(items(preprocess(source, path).tokens), entry, path))


def item_parameters(item: Item) -> tuple[TemplateParameter, ...]:
    """Parameters of a function item in order; empty for one that is no template."""
    found = []
    for group in split_commas(item.template or ()):
        texts = [token.text for token in group]
        equals = texts.index("=") if "=" in texts else len(texts)
        if equals >= 2:
            kind = render(group[: equals - 1]).strip()
            found.append(TemplateParameter(texts[equals - 1], kind, render(group[equals + 1 :]).strip()))
    return tuple(found)


def literal_arguments(found: Sequence[Item], entry: str) -> tuple[str, ...]:
    """Arguments with which the file itself instantiates a kernel template; empty where it does so nowhere literally.

    Literal are types and constants of the file, and numbers: ``k<float, 256><<<grid, block>>>(x)`` and
    ``template __global__ void k<float>(float*)``, but not ``k<T>`` inside of another template.
    """
    known = SCALAR_TYPES | VECTOR_TYPES | _SPELLINGS | type_names(found) | set(file_constants(found))
    for item in found:
        tokens = item.tokens
        for position, token in enumerate(tokens[:-1]):
            if token.text == entry and tokens[position + 1].text == "<":
                arguments = _literal(tokens, position + 1, known)
                if arguments:
                    return arguments
    return ()


def _literal(tokens: Sequence[Token], opened: int, known: frozenset[str]) -> tuple[str, ...]:
    """The arguments of a template list in front of a launch or a parameter list, if each is spelled out."""
    end = closing_angle(tokens, opened)
    if end is None or end + 1 >= len(tokens) or tokens[end + 1].text not in ("<<<", "("):
        return ()
    inner = tokens[opened + 1 : end]
    if any(token.kind == "word" and token.text not in known for token in inner):
        return ()
    return tuple(render(group).strip() for group in split_commas(inner))

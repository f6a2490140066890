"""Parameters of a kernel template, and arguments with which it can be read before anybody has said which are meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from genome.ir.print_tokens import Token, closing_angle, render, split_commas
from genome.ir.types import VECTOR_TYPES
from genome.source.constants import file_constants
from genome.source.encode import SCALAR_TYPES
from genome.source.preprocess import preprocess
from genome.source.slice import Item, find_entry, items, type_names

_TYPES = ("typename", "class")
_INDEX = re.compile("^(I|K)$|[iI]dx|[iI]nd(ex|ice)|Int|int_t|[kK]ey|[oO]ffset|[cC]ount")
_THREADS = re.compile("thread|block|bdim|^nt$|size", re.IGNORECASE)
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
        """The default, else a type, a flag or a number of the size that the name speaks of."""
        if self.default:
            return self.default
        if self.kind in _TYPES:
            return "int" if _INDEX.search(self.name) else "float"
        return "true" if self.kind == "bool" else "128" if _THREADS.search(self.name) else "4"


@dataclass(frozen=True)
class Guess:
    """Arguments of a kernel template.

    Attributes:
        arguments: One a parameter, in order; empty for a kernel that is no template.
        unsure: Names of the parameters that the file gives no argument for.
    """

    arguments: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()


def guess_arguments(
    source: str,
    entry: str,
    path: str = "kernel.cu",
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> Guess:
    """Arguments with which a kernel template can be read.

    Raises:
        SourceError: If the file cannot be preprocessed or the kernel is not there.
    """
    found = items(preprocess(source, path, defines, include_dirs).tokens)
    return item_arguments(found, find_entry(found, entry, path))


def item_arguments(found: Sequence[Item], item: Item) -> Guess:
    """What the file itself instantiates the template with, then defaults, then guesses."""
    wanted = template_parameters(item)
    literal = literal_arguments(found, item.names[0]) if wanted else ()
    rest = wanted[len(literal) :]
    guesses = (_enumerator(found, parameter.kind) or parameter.guess for parameter in rest)
    return Guess(
        (*literal, *guesses)[: len(wanted)],
        tuple(parameter.name for parameter in rest if not parameter.default),
    )


def template_parameters(item: Item) -> tuple[TemplateParameter, ...]:
    """Parameters of a function item in order; empty for one that is no template."""
    found = []
    for group in split_commas(item.template or ()):
        texts = [token.text for token in group]
        equals = texts.index("=") if "=" in texts else len(texts)
        if equals >= 2:
            kind = render(group[: equals - 1]).strip()
            found.append(TemplateParameter(texts[equals - 1], kind, render(group[equals + 1 :]).strip()))
    return tuple(found)


def _enumerator(found: Sequence[Item], kind: str) -> str:
    """The first value of an enumeration of the file, else empty."""
    for item in found:
        texts = [token.text for token in item.tokens]
        if item.kind == "type" and texts[0] == "enum" and kind in item.names and "{" in texts[:-1]:
            return f"{kind}::{texts[texts.index('{') + 1]}"
    return ""


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

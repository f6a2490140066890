"""Parameters of a kernel template, and arguments with which it can be read before anybody has said which are meant."""

from __future__ import annotations

from dataclasses import dataclass

from genome.ir.print_tokens import render, split_commas
from genome.source.preprocess import preprocess
from genome.source.slice import find_entry, items

_TYPES = ("typename", "class")


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
    template = find_entry(items(preprocess(source, path).tokens), entry, path).template
    found = []
    for group in split_commas(template or ()):
        texts = [token.text for token in group]
        equals = texts.index("=") if "=" in texts else len(texts)
        if equals >= 2:
            kind = render(group[: equals - 1]).strip()
            found.append(TemplateParameter(texts[equals - 1], kind, render(group[equals + 1 :]).strip()))
    return tuple(found)

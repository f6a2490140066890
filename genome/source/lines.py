"""Where the names of a kernel stand in its file, so that a person can speak of sites by line.

A loop stands on the line of its ``for``; an array, an axis and a macro on every line of the kernel that uses the name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from genome.ir.print_tokens import Token, closing
from genome.source.frontend import entry_tokens
from genome.spec import KernelSpec

_DERIVED = re.compile(r"_(?:outer|inner|rest|first|block|thread|value|tile)(?:_\d+)?$")
_NUMBERED = re.compile(r"^(.+)_(\d+)$")


def lines_of(spec: KernelSpec, label: str) -> frozenset[int]:
    """Lines at which the site of that label stands; empty for labels that are no name of the kernel (``instances``).

    Parts of a split loop stand where the loop stands. Of several loops over one name, ``k_2`` is the second.

    Raises:
        SourceError: If the file cannot be preprocessed or the kernel is not in it.
    """
    loops, uses = _index(spec.source, spec.entry, spec.path, spec.defines, spec.include_dirs, _macros(spec))
    while label not in loops and label not in uses:
        shorter = _DERIVED.sub("", label)
        if shorter == label:
            return _numbered(label, loops, uses)
        label = shorter
    return frozenset(loops[label][:1]) if label in loops else uses[label]


def extent(spec: KernelSpec) -> tuple[int, int]:
    """First and last line of the kernel in its file.

    Raises:
        SourceError: If the file cannot be preprocessed or the kernel is not in it.
    """
    _, uses = _index(spec.source, spec.entry, spec.path, spec.defines, spec.include_dirs, _macros(spec))
    lines = [line for found in uses.values() for line in found]
    return min(lines), max(lines)


def _numbered(label: str, loops: Mapping[str, Sequence[int]], uses: Mapping[str, frozenset[int]]) -> frozenset[int]:
    match = _NUMBERED.match(label)
    if match is None:
        return frozenset()
    name, number = match.group(1), int(match.group(2))
    heads = loops.get(name, ())
    return frozenset(heads[number - 1 : number]) or uses.get(name, frozenset())


def _macros(spec: KernelSpec) -> frozenset[str]:
    return frozenset(tunable.name for tunable in spec.tunables)


@lru_cache(maxsize=16)
def _index(
    source: str, entry: str, path: str, defines: tuple[tuple[str, str], ...], include_dirs: tuple[str, ...],
    macros: frozenset[str],
) -> tuple[dict[str, tuple[int, ...]], dict[str, frozenset[int]]]:  # fmt: skip
    tokens = entry_tokens(source, entry, path=path, defines=defines, include_dirs=include_dirs)
    loops: dict[str, tuple[int, ...]] = {}
    uses: dict[str, set[int]] = {}
    for position, token in enumerate(tokens):
        if token.text == "for" and position + 1 < len(tokens):
            name = _variable(tokens[position + 2 : closing(tokens, position + 1)])
            loops[name] = (*loops.get(name, ()), token.line)
        if token.kind == "word":
            uses.setdefault(token.text, set()).add(token.line)
    if tokens and macros:  # macros are gone from the tokens: they are looked for in the text
        for number, line in enumerate(source.splitlines()[: tokens[-1].line], start=1):
            for name in macros & set(re.findall(r"\w+", line)):
                uses.setdefault(name, set()).add(number)
    return loops, {name: frozenset(lines) for name, lines in uses.items()}


def _variable(head: Sequence[Token]) -> str:
    """The loop variable: the last word in front of the first ``=``."""
    words = []
    for token in head:
        if token.text in ("=", ";", "("):
            break
        if token.kind == "word":
            words.append(token.text)
    return words[-1] if words else ""

"""Where the names of a kernel stand in its file, so that a person can speak of sites by line.

A loop stands on the line of its ``for``; an array, an axis and a macro on every line of the kernel that uses the name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from genome.ir.stmt import Loop, flatten
from genome.source.frontend import SourceError, entry_tokens, parse_kernel
from genome.spec import KernelSpec

_DERIVED = re.compile(r"_(?:outer|inner|rest|first|block|thread|value|tile)(?:_\d+)?$")
_NUMBERED = re.compile(r"^(.+)_(\d+)$")


@dataclass(frozen=True)
class _Lines:
    """Lines of a kernel: of its loops by their variable, of other names, and from where to where it stands."""

    loops: dict[str, int]
    uses: dict[str, frozenset[int]]
    extent: tuple[int, int]


def lines_of(spec: KernelSpec, label: str) -> frozenset[int]:
    """Lines at which the site of that label stands; empty for labels that are no name of the kernel (``instances``).

    Parts of a split loop stand where the loop stands. A name that is declared again has a number: ``k_2``.

    Raises:
        SourceError: If the file cannot be preprocessed or the kernel is not in it.
    """
    found = _lines(spec)
    while label not in found.loops and label not in found.uses:
        shorter = _DERIVED.sub("", label)
        if shorter == label:
            match = _NUMBERED.match(label)
            return found.uses.get(match.group(1), frozenset()) if match else frozenset()
        label = shorter
    return frozenset((found.loops[label],)) if label in found.loops else found.uses[label]


def extent(spec: KernelSpec) -> tuple[int, int]:
    """First and last line of the kernel in its file.

    Raises:
        SourceError: If the file cannot be preprocessed or the kernel is not in it.
    """
    return _lines(spec).extent


def _lines(spec: KernelSpec) -> _Lines:
    tunables = tuple((tunable.name, tunable.values[0]) for tunable in spec.tunables)
    return _index(spec.source, spec.entry, spec.path, spec.template_args, (*spec.defines, *tunables),
                  spec.include_dirs, frozenset(name for name, _ in tunables))  # fmt: skip


@lru_cache(maxsize=16)
def _index(
    source: str, entry: str, path: str, template_args: tuple[str, ...], defines: tuple[tuple[str, str], ...],
    include_dirs: tuple[str, ...], macros: frozenset[str],
) -> _Lines:  # fmt: skip
    tokens = entry_tokens(source, entry, path=path, defines=defines, include_dirs=include_dirs)
    uses: dict[str, set[int]] = {}
    for token in tokens:
        if token.kind == "word":
            uses.setdefault(token.text, set()).add(token.line)
    if macros:  # macros are gone from the tokens: they are looked for in the text
        for number, line in enumerate(source.splitlines()[: tokens[-1].line], start=1):
            for name in macros & set(re.findall(r"\w+", line)):
                uses.setdefault(name, set()).add(number)
    lines = [token.line for token in tokens]
    try:
        kernel = parse_kernel(
            source, entry, path=path, template_args=template_args, defines=defines, include_dirs=include_dirs
        )
        loops = {stmt.var: stmt.line for stmt in flatten(kernel.body) if isinstance(stmt, Loop)}
    except SourceError:
        loops = {}  # a kernel that stays text has no sites in its body
    named = {name: frozenset(found) for name, found in uses.items()}
    return _Lines(loops, named, (min(lines), max(lines)))

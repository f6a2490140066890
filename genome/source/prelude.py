"""The verbatim text in front of a kernel: what it needs of the file, as preprocessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from genome.source.closure import Slice
from genome.source.headers import OPENED, needed_headers
from genome.source.slice import Item, item_text

_NEAR = 3  # tokens between the two marks of one function


def prelude_text(part: Slice, missing: Sequence[str]) -> str:
    """Items in the order of the file, behind the CUDA headers that they or the kernel use.

    Namespaces are left out where nothing is named through them: OpenCL C has none.
    """
    used = [part.entry, *(item for item in part.prelude if item.kind != "using")]
    words = frozenset().union(*(item.words for item in used))
    headers = needed_headers(words, missing)
    opened = {space for space, header in OPENED.items() if header in headers}
    lines = [f"#include <{name}>" for name in headers]
    if keeps_namespaces(part):
        opened |= {space for item in used for space in item.namespaces}
        lines += _in_namespaces(_opening(part.prelude, opened))
        inside = part.entry.namespaces
        lines += [f"using namespace {'::'.join(inside[: n + 1])};" for n in range(len(inside))]
    else:
        lines += [_text(item) for item in _opening(part.prelude, opened)]
    return "\n".join(lines)


def keeps_namespaces(part: Slice) -> bool:
    """True if something is named through a namespace of the file: its items then stay in theirs."""
    used = [part.entry, *(item for item in part.prelude if item.kind != "using")]
    return bool(_qualified(used) & {space for item in used for space in item.namespaces})


def still_needed(part: Slice, words: frozenset[str]) -> Slice:
    """The slice without the functions that a body of these words does not reach.

    Args:
        part: A kernel and what it needs.
        words: Of its body, now that the statements of some functions stand in it.
    """
    known = set(words).union(*(item.words for item in part.prelude if not _can_go(item)))
    waiting = [item for item in part.prelude if _can_go(item)]
    while reached := [item for item in waiting if known & set(item.names)]:
        known.update(*(item.words for item in reached))
        waiting = [item for item in waiting if item not in reached]
    gone = {id(item) for item in waiting}
    return replace(part, prelude=tuple(item for item in part.prelude if id(item) not in gone))


def _can_go(item: Item) -> bool:
    return item.kind == "function" and "operator" not in item.names


def _qualified(used: Iterable[Item]) -> set[str]:
    """Names in front of ``::``."""
    return {
        name.text for item in used for name, sign in pairwise(item.tokens) if sign.text == "::" and name.kind == "word"
    }


def _opening(prelude: Iterable[Item], opened: set[str]) -> Iterator[Item]:
    """The items without those that open a namespace that is not there."""
    for item in prelude:
        if item.kind != "using" or item.tokens[-2].text in opened:
            yield item


def _in_namespaces(prelude: Iterable[Item]) -> Iterator[str]:
    """Text of the items inside of their namespaces."""
    for spaces, group in groupby(prelude, key=lambda item: item.namespaces):
        yield from (f"namespace {space} {{" for space in spaces)
        yield from (_text(item) for item in group)
        if spaces:
            yield "}" * len(spaces)


def _text(item: Item) -> str:
    """The item without the marks of methods that are for the host alone: a compiler of device code refuses them."""
    texts = [token.text for token in item.tokens]
    kept = [
        token
        for position, token in enumerate(item.tokens)
        if token.text != "__host__" or "__device__" in texts[max(0, position - _NEAR) : position + _NEAR + 1]
    ]
    return item_text(replace(item, tokens=tuple(kept)))

"""The verbatim text in front of a kernel: what it needs of the file, as preprocessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from genome.source.closure import Slice
from genome.source.slice import Item, item_text

_GROUPS = r"cooperative_groups|thread_block|thread_group|this_grid|grid_group|cluster_group|tiled_partition|coalesced"
_HEADERS = {
    "cuda_fp16.h": "half|fp16",
    "cuda_bf16.h": "bfloat16|bf16",
    "cuda_fp8.h": "fp8",
    "mma.h": "wmma",
    "cooperative_groups.h": _GROUPS,
    "cooperative_groups/reduce.h": _GROUPS,
    "cooperative_groups/scan.h": _GROUPS,
    "cooperative_groups/memcpy_async.h": "memcpy_async",
    "cuda_pipeline.h": "pipeline",
    "cuda/pipeline": "pipeline",
    "cuda/barrier": "barrier",
    "cuda/atomic": "atomic_ref|thread_scope",
    "cuComplex.h": r"cu\w*[cC]omplex",
}
"""CUDA headers that only the compiler has, and what words that need them hold: reading some of them takes seconds."""

_OPENED = {"nvcuda": "mma.h", "cooperative_groups": "cooperative_groups.h"}
"""Namespaces of those headers."""


def prelude_text(part: Slice, missing: Sequence[str]) -> str:
    """Items in the order of the file, behind the CUDA headers that they or the kernel use.

    Namespaces are left out where nothing is named through them: OpenCL C has none.
    """
    used = [part.entry, *(item for item in part.prelude if item.kind != "using")]
    words = " ".join(frozenset().union(*(item.words for item in used)))
    headers = [name for name in missing if name in _HEADERS and re.search(_HEADERS[name], words)]
    opened = {space for space, header in _OPENED.items() if header in headers}
    lines = [f"#include <{name}>" for name in headers]
    if _qualified(used) & {space for item in used for space in item.namespaces}:
        opened |= {space for item in used for space in item.namespaces}
        lines += _in_namespaces(_opening(part.prelude, opened))
        inside = part.entry.namespaces
        lines += [f"using namespace {'::'.join(inside[: n + 1])};" for n in range(len(inside))]
    else:
        lines += [item_text(item) for item in _opening(part.prelude, opened)]
    return "\n".join(lines)


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
        yield from (item_text(item) for item in group)
        if spaces:
            yield "}" * len(spaces)

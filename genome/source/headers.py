"""Which of CUDA's own headers a kernel needs: only the compiler has them, and reading some takes it seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
"""Headers that a file includes, and what words that need them hold."""

_TYPES = {"cuda_fp16.h": r"__half2?", "cuda_bf16.h": r"__nv_bfloat162?", "cuda_fp8.h": r"__nv_fp8\w*"}
"""Words that need a header even where the file has it from another one."""

_CUB = re.compile(
    "Block(AdjacentDifference|Discontinuity|Exchange|Histogram|Load|MergeSort|RadixSort|Reduce|Scan|Shuffle|Store)"
    "|Warp(Exchange|Load|MergeSort|Reduce|Scan|Store)"
)

OPENED = {"nvcuda": "mma.h", "cooperative_groups": "cooperative_groups.h"}
"""Namespaces of those headers."""


def needed_headers(words: frozenset[str], missing: Sequence[str]) -> list[str]:
    """Headers for a kernel and its prelude.

    Args:
        words: Every word of them.
        missing: Headers that the file includes and the preprocessor did not find.
    """
    text = " ".join(words)
    found = [name for name in missing if name in _HEADERS and re.search(_HEADERS[name], text)]
    found += [name for name, spelled in _TYPES.items() if any(re.fullmatch(spelled, word) for word in words)]
    found += [_cub(word) for word in sorted(words) if _CUB.fullmatch(word)] if "cub" in words else []
    return list(dict.fromkeys(found))


def _cub(name: str) -> str:
    """Header of a class of CUB: it has one for each, and only those of blocks and warps are for device code."""
    kind = name[: len("Block")] if name.startswith("Block") else "Warp"
    return f"cub/{kind.lower()}/{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', name).lower()}.cuh"

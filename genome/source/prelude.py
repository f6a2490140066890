"""The verbatim text in front of a kernel: what it needs of the file, as preprocessed."""

from __future__ import annotations

from collections.abc import Sequence

from genome.source.slice import Slice, item_text

_HEADERS = (
    "cuda_fp16.h",
    "cuda_bf16.h",
    "mma.h",
    "cooperative_groups.h",
    "cuda_pipeline.h",
    "cuda/pipeline",
    "cuda/barrier",
)


def prelude_text(part: Slice, missing: Sequence[str]) -> str:
    """Items in the order of the file, behind the CUDA headers that only the compiler has."""
    lines = [f"#include <{name}>" for name in missing if name in _HEADERS]
    lines += [item_text(item) for item in part.prelude]
    return "\n".join(lines)

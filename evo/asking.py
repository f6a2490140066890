"""``evo.prior``: what the knowledge base knows of a kernel, with an honest word on how well it fits the question."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from evo.campaign_build import DATABASE_VARIABLE
from evo.expected import expected_errors
from evo.kernel_file import record_of_file
from evo.tuned import TuneError
from genome.spec import ProblemSize
from knowledge.records import KernelRecord
from knowledge.rows import BestRow
from knowledge.store import KnowledgeBase

_MANY = 1000  # optima of a kernel that are looked through for a size


class Match(StrEnum):
    """How an answer fits its question."""

    EXACT = "exact"  # this kernel (or one of the same structure) at this size
    NEAREST = "nearest"  # another size, or a kernel like it
    NONE = "none"  # nothing is known


@dataclass(frozen=True)
class Known:
    """Known optima.

    Attributes:
        match: How well they fit: ``exact``, ``nearest`` or ``none``.
        size_distance: How far the first one's size is from the one asked for: root mean square of the log2 ratios,
            where a size that only one of the two has counts as a factor of two.
        kernel_distance: How far its kernel is from the one asked for: 0 for the same name, or the same structure.
        optima: One a kernel, size, device and toolchain, the best fit first: ``best_ms``, ``baseline_ms``, ``speedup``
            in the search, ``proven`` in fresh processes, ``genome``, ``source``, ``device``, ``size``, ...
    """

    match: Match
    size_distance: float
    kernel_distance: float
    optima: tuple[BestRow, ...]

    def __bool__(self) -> bool:
        return bool(self.optima)

    @property
    def best(self) -> BestRow | None:
        """The first one."""
        return self.optima[0] if self.optima else None


def prior(
    kernel: str | Path,
    device: str | None = None,
    size: Mapping[str, int] | None = None,
    *,
    entry: str | None = None,
    knowledge: str | None = None,
    limit: int = 20,
) -> Known:
    """Known optima of a kernel. Nothing is run.

    Args:
        kernel: Its name, its ``.cu`` file, or its CUDA source (text with ``__global__`` in it). A file or a source is
            compared by structure: names in it do not matter, and if the base has not seen it, kernels like it answer.
        device: Part of a device's name or architecture (``H200``, ``sm_90``); None for all.
        size: Sizes by name (``{"M": 512, "N": 512}``); None for all. If it is not known, the nearest one of each
            device answers.
        entry: Which kernel, where the file holds several.
        knowledge: ``postgresql+psycopg://...``; by default ``$EVO_TUNE_DATABASE_URL``, else the embedded base.
        limit: Optima at most.

    Raises:
        TuneError: If the kernel cannot be read, or the base cannot be opened.
    """
    if limit < 1:
        raise TuneError(f"limit: expected 1 or more, got {limit}")
    label = None if size is None else ProblemSize(tuple(size.items())).label
    try:
        asked = _record(kernel, entry)
        with KnowledgeBase.open(knowledge or os.environ.get(DATABASE_VARIABLE) or None) as base:
            rows = base.best(asked, device, label, _MANY, nearest=label is not None)
    except expected_errors() as error:
        raise TuneError(str(error)) from None
    rows = tuple(sorted(rows, key=lambda row: (row.distance, row.size_distance, row.best_ms)))
    exact = tuple(row for row in rows if not row.distance and not row.size_distance)
    found = (exact or rows)[:limit]
    if not found:
        return Known(Match.NONE, 0.0, 0.0, ())
    return Known(Match.EXACT if exact else Match.NEAREST, found[0].size_distance, found[0].distance, found)


def _record(kernel: str | Path, entry: str | None) -> str | KernelRecord:
    """What the base is asked for: a name, or a kernel's structure.

    Raises:
        CampaignError, SourceError: If there is no such kernel.
    """
    if isinstance(kernel, str) and "__global__" in kernel:
        with tempfile.TemporaryDirectory(prefix="evo-tune-") as folder:
            path = Path(folder) / "kernel.cu"
            path.write_text(kernel, encoding="utf-8")
            return record_of_file(path, entry)
    if isinstance(kernel, Path) or kernel.endswith((".cu", ".cuh")):
        return record_of_file(Path(kernel), entry)
    return kernel

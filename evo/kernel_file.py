"""A kernel known by its file alone, for questions to the knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evo.kernel_guess import file_kernel
from genome.replay import spec_kernel
from knowledge.features import kernel_record
from knowledge.records import KernelRecord


def record_of_file(path: Path, entry: str | None, template_args: Sequence[str] = ()) -> KernelRecord:
    """Digest and features of the kernel in a ``.cu`` file, as a campaign of it would have them.

    Raises:
        CampaignError, SourceError: See ``file_kernel``.
    """
    spec = replace(file_kernel(path, entry, template_args).spec, sizes=())
    return kernel_record(spec, spec_kernel(spec))

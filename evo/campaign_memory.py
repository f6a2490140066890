"""Whether a campaign's arrays fit: before anything is allocated, against what the machine and any device has."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from evo.campaign_yaml import Document
from genome.spec import DTYPES, ArgSpec, KernelSpec, ProblemSize, Role

MAX_BYTES = 192 << 30
"""More than any supported device has."""

INPUT_SETS = 2
"""Sets of inputs, each with its right outputs, that the check of a size keeps."""

_WIDE = 8  # bytes of an element of the oracle: float64 or int64
_CGROUPS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def machine_memory() -> int:
    """Bytes of the machine's memory, or of the container's share of it; 0 where neither is told."""
    found = []
    with suppress(ValueError, OSError):  # not every system tells
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in _CGROUPS:
        try:
            text = path.read_text(encoding="ascii").strip()
        except OSError:
            continue  # no such control group
        if text.isdigit():
            found.append(int(text))
    return min((number for number in found if number > 0), default=0)


def check_memory(spec: KernelSpec, document: Document, reference: bool, memory: int) -> None:
    """All arrays together fit into the largest device there is, and what checks them into the machine's memory.

    Args:
        spec: The kernel with its sizes.
        document: For lines.
        reference: Whether the user's own function computes the right outputs, from inputs in float64.
        memory: Bytes of the machine; 0 if not known.

    Raises:
        CampaignError: With the size that does not fit.
    """
    for field, sizes in (("sizes", spec.sizes), ("check_sizes", spec.check_sizes)):
        for number, size in enumerate(sizes):
            arrays = sum(_bytes(arg, size) for arg in spec.args)
            checking = checked_bytes(spec, size, reference)
            where = (field, number) if (field, number) in document.lines else ("sizes",)
            if arrays > MAX_BYTES:
                raise document.error(where, f"the arrays need {_gib(arrays)} at {size.label}, more than any device has")
            if memory and checking > memory:
                raise document.error(
                    where,
                    f"needs {_gib(arrays)} of arrays at {size.label}, and {_gib(checking)} on the host for "
                    f"{INPUT_SETS} input sets and the right outputs in float64; the machine has {_gib(memory)}; "
                    "make it smaller",
                )


def checked_bytes(spec: KernelSpec, size: ProblemSize, reference: bool) -> int:
    """Host memory that the check of a size takes at least: input sets, right outputs, what a reference is given."""
    inputs = sum(_bytes(arg, size) for arg in spec.args if arg.role is not Role.OUT)
    outputs = sum(_elements(arg, size) * _WIDE for arg in spec.args if arg.role is not Role.IN)
    widened = sum(_elements(arg, size) * _WIDE for arg in spec.args if arg.role is not Role.OUT) if reference else 0
    return INPUT_SETS * (inputs + outputs) + widened


def _elements(arg: ArgSpec, size: ProblemSize) -> int:
    return 0 if arg.is_scalar else math.prod(arg.extent(size.env))


def _bytes(arg: ArgSpec, size: ProblemSize) -> int:
    return _elements(arg, size) * DTYPES[arg.dtype][1]


def _gib(number: int) -> str:
    gib = number / 2**30
    return f"{gib:.0f} GiB" if gib >= 10 else f"{gib:.2g} GiB"

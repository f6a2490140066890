"""A kernel known by its file alone, for questions to the knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evo.campaign_kernel import dtype_of
from evo.init_campaign import chosen_entry, read_kernel
from evo.init_draft import draft
from genome.replay import spec_kernel
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, Role
from knowledge.features import kernel_record
from knowledge.records import KernelRecord


def record_of_file(path: Path, entry: str | None, template_args: Sequence[str] = ()) -> KernelRecord:
    """Digest and features of the kernel in a ``.cu`` file, as a campaign of it would have them.

    Arguments of a kernel template are guessed where none are given.

    Raises:
        CampaignError: If the file or the entry is not there.
        SourceError: If the kernel cannot be parsed.
    """
    source = read_kernel(path)
    found = draft(source, chosen_entry(entry, source, path), path, str(path), template_args)
    first = SizeExpr((found.sizes or ("N",))[0])
    args = tuple(
        ArgSpec(
            param.name,
            dtype_of(param.ctype) or "float32",
            Role.OUT if param.pointer and not param.const else Role.IN,
            (first,) if param.pointer else (),
            None if param.pointer else SizeExpr(param.name) if param.name in found.sizes else 1.0,
        )
        for param in found.params
    )
    domain = tuple(SizeExpr(extent) for extent in found.domain) or (first,)
    block = {1: (256, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}[len(domain)]
    spec = KernelSpec(found.entry, source, found.entry, args, LaunchSpec(block, domain), (),
                      template_args=found.template, path=str(path))  # fmt: skip
    return kernel_record(spec, spec_kernel(spec))

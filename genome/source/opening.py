"""What every reading of a kernel starts from: its file preprocessed, sliced, its template instantiated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genome.ir.kernel import Kernel
from genome.source.array_params import flattened
from genome.source.closure import Slice, slice_kernel
from genome.source.host_variables import host_variables
from genome.source.prelude import prelude_text
from genome.source.preprocess import preprocess
from genome.source.signature import launch_bounds, parameters
from genome.source.slice import Item, find_entry, items
from genome.source.templates import instantiate


@dataclass(frozen=True)
class Opened:
    """A kernel whose body is still text.

    Attributes:
        found: Every item of its file.
        part: The kernel, instantiated, and the items that it needs.
        kernel: Its name, parameters, launch bounds and prelude; without a body.
        missing: Included files that were not found.
    """

    found: tuple[Item, ...]
    part: Slice
    kernel: Kernel
    missing: tuple[str, ...] = ()


def open_kernel(
    source: str,
    entry: str,
    path: str,
    template_args: Sequence[str],
    defines: Sequence[tuple[str, str]],
    include_dirs: Sequence[str],
) -> Opened:
    """Reads everything of a kernel but its body.

    Raises:
        SourceError: If the file cannot be preprocessed, the kernel is missing, its template arguments do not fit, or a
            parameter is none that a launch can pass.
    """
    pre = preprocess(source, path, defines, include_dirs)
    found = tuple(items(pre.tokens))
    item = flattened(instantiate(find_entry(found, entry, path), template_args, path), path)
    part = slice_kernel(found, item)
    kernel = Kernel(entry, parameters(item, path), (), (), launch_bounds=launch_bounds(item),
                    prelude=prelude_text(part, pre.missing), variables=host_variables(part))  # fmt: skip
    return Opened(found, part, kernel, pre.missing)

"""Kernels outside the transformable subset: their own text, so that macros, block shape and options can be tuned."""

from __future__ import annotations

from collections.abc import Sequence

from genome.ir.kernel import Kernel
from genome.ir.print_tokens import render
from genome.source.prelude import prelude_text
from genome.source.preprocess import preprocess
from genome.source.signature import launch_bounds, parameters
from genome.source.slice import find_entry, items, slice_kernel
from genome.source.templates import instantiate


def verbatim_kernel(
    source: str,
    entry: str,
    *,
    path: str = "kernel.cu",
    template_args: Sequence[str] = (),
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> Kernel:
    """The sliced kernel with its body as text. It prints unchanged for CUDA, translated word by word for OpenCL.

    Raises:
        SourceError: If the file cannot be preprocessed or the kernel is missing.
    """
    pre = preprocess(source, path, defines, include_dirs)
    found = items(pre.tokens)
    item = instantiate(find_entry(found, entry, path), template_args, path)
    part = slice_kernel(found, item)
    return Kernel(
        entry,
        parameters(item, path),
        (),
        (),
        launch_bounds=launch_bounds(item),
        prelude=prelude_text(part, pre.missing),
        verbatim=render(item.tokens[item.body :]).strip(),
    )

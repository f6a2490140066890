"""Kernels outside the transformable subset: their own text, so that macros, block shape and options can be tuned."""

from __future__ import annotations

from collections.abc import Sequence

from genome.ir.kernel import Kernel
from genome.ir.print_errors import PrintError
from genome.ir.print_source import kernel_text
from genome.ir.print_tokens import render
from genome.source.errors import SourceError
from genome.source.prelude import prelude_text
from genome.source.preprocess import preprocess
from genome.source.signature import launch_bounds, parameters
from genome.source.slice import find_entry, items, slice_kernel
from genome.source.templates import instantiate
from genome.variant import Target


def translate_verbatim(
    source: str,
    entry: str,
    target: Target,
    *,
    path: str = "kernel.cu",
    template_args: Sequence[str] = (),
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> str:
    """The sliced kernel: unchanged statements for CUDA, a token-level translation for OpenCL.

    Raises:
        SourceError: If the kernel is not there, or OpenCL C has no word for something in it.
    """
    pre = preprocess(source, path, defines, include_dirs)
    found = items(pre.tokens)
    item = instantiate(find_entry(found, entry, path), template_args, path)
    part = slice_kernel(found, item)
    kernel = Kernel(
        entry,
        parameters(item, path),
        (),
        (),
        launch_bounds=launch_bounds(item),
        prelude=prelude_text(part, pre.missing),
    )
    try:
        return kernel_text(kernel, target, render(item.tokens[item.body :]).strip())
    except PrintError as error:
        raise SourceError(path, item.line, str(error), "run it on a CUDA device") from error

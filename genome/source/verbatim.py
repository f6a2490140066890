"""Kernels outside the transformable subset: their own text, so that macros, block shape and options can be tuned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from genome.ir.kernel import Kernel
from genome.ir.print_tokens import render, unbalanced
from genome.source.errors import SourceError
from genome.source.opening import Opened, open_kernel


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
        SourceError: If the file cannot be preprocessed, or the kernel is missing or cut off.
    """
    return as_text(open_kernel(source, entry, path, template_args, defines, include_dirs))


def as_text(opened: Opened) -> Kernel:
    """The same of a kernel whose file has been read.

    Raises:
        SourceError: If a bracket in it has no partner.
    """
    item = opened.part.entry
    lone = unbalanced(item.tokens[item.body :])
    if lone is not None:
        raise SourceError(lone.file or "kernel.cu", lone.line, f"'{lone.text}' has no partner", "close the bracket")
    return replace(opened.kernel, verbatim=render(item.tokens[item.body :]).strip())

"""A kernel parsed and printed back without any rewrite: what shows that the front end read what the user wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pycparser import c_generator

from genome.ir.kernel import Kernel
from genome.ir.print_tokens import render, tokenize
from genome.source.encode import decode_words
from genome.source.frontend import parse_body
from genome.source.opening import open_kernel


def round_trip(
    source: str,
    entry: str,
    *,
    path: str = "kernel.cu",
    template_args: Sequence[str] = (),
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> Kernel:
    """The kernel with the text of its parsed body as its body: a compiler makes the same code of it as of the file.

    Raises:
        SourceError: If the kernel cannot be read.
    """
    opened = open_kernel(source, entry, path, template_args, defines, include_dirs)
    encoded, block = parse_body(opened, path)
    text = c_generator.CGenerator(reduce_parentheses=True).visit(block)
    return replace(opened.kernel, verbatim=render(decode_words(tokenize(text), encoded)).strip())

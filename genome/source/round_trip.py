"""A kernel parsed and printed back without any rewrite: what shows that the front end read what the user wrote."""

from __future__ import annotations

from dataclasses import replace

from pycparser import c_generator

from genome.ir.kernel import Kernel
from genome.ir.print_tokens import render, tokenize
from genome.source.encode import decode_words
from genome.source.frontend import parse_body
from genome.source.opening import Opened


def round_trip(opened: Opened, path: str) -> Kernel:
    """The kernel with the text of its parsed body as its body: a compiler makes the same code of it as of the file.

    Raises:
        SourceError: If the body is out of reach.
    """
    encoded, block = parse_body(opened, path)
    text = c_generator.CGenerator(reduce_parentheses=True).visit(block)
    return replace(opened.kernel, verbatim=render(decode_words(tokenize(text), encoded)).strip())

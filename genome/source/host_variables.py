"""Variables of the file that a host fills, as far as a kernel uses them."""

from __future__ import annotations

from dataclasses import replace

from genome.ir.print_tokens import tokenize
from genome.ir.variables import Variable, declared_variables
from genome.source.closure import Slice
from genome.source.constants import evaluate, file_constants
from genome.source.prelude import keeps_namespaces


def host_variables(part: Slice) -> tuple[Variable, ...]:
    """The ``__constant__`` and ``__device__`` variables without an initialiser that a kernel or its helpers use."""
    spaces = keeps_namespaces(part)
    used = part.entry.words.union(*(item.words for item in part.prelude if item.kind == "function"))
    found = [
        replace(variable, scope="".join(f"{space}::" for space in item.namespaces) if spaces else "")
        for item in part.prelude
        if item.kind == "variable"
        for variable in declared_variables(item.tokens)
        if variable.name in used
    ]
    if not any(variable.dims for variable in found):
        return tuple(found)
    constants = file_constants(part.prelude)

    def number(extent: str) -> str:
        value = evaluate(tokenize(extent), constants)
        return extent if value is None else str(value)

    return tuple(replace(variable, dims=tuple(map(number, variable.dims))) for variable in found)

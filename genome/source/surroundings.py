"""What the body of a function is read in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from genome.ir.print_functions import CUDA_ONLY, PURE
from genome.ir.print_tokens import split_commas
from genome.source.slice import Item

_VALUES = ("__", "make_", "tex", "surf")  # how CUDA's own functions begin that take values and plain pointers
_PRINTING = frozenset({"printf", "assert"})


@dataclass(frozen=True)
class Surroundings:
    """What the file and the signature say about the names of a body.

    Attributes:
        parameters: Parameter -> its canonical type, of the element for a pointer.
        pointers: Pointer parameter -> its type as it is declared: ``const float*``.
        constants: Integer constants of the file.
        taken: Names that locals may not have (helpers, other globals).
        barrier_helpers: Functions of the file that may hold a barrier.
        moves: Name -> how often it is set as a whole after its declaration.
        typedefs: Other names of arithmetic types.
        types: Names of the types of the file.
        helpers: Functions that the file defines once, by name.
        words: Every word of the kernel.
        by_value: Functions and types of the file that change no variable which they are called with.
    """

    parameters: Mapping[str, str]
    pointers: Mapping[str, str]
    constants: Mapping[str, int]
    taken: frozenset[str] = frozenset()
    barrier_helpers: frozenset[str] = frozenset()
    moves: Mapping[str, int] = field(default_factory=dict)
    typedefs: Mapping[str, str] = field(default_factory=dict)
    types: frozenset[str] = frozenset()
    helpers: Mapping[str, Item] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    by_value: frozenset[str] = frozenset()

    def keeps(self, function: str) -> bool:
        """True if a call cannot change the variables that it is given, but by their addresses."""
        if function in PURE or function in CUDA_ONLY or function in _PRINTING or function.startswith(_VALUES):
            return True
        return function.partition("<")[0].rpartition("::")[2] in self.by_value


def defined_once(found: Iterable[Item]) -> dict[str, Item]:
    """Functions by name, those left out that have several definitions."""
    bodies = [item for item in found if item.kind == "function" and item.body >= 0]
    counts = Counter(name for item in bodies for name in item.names)
    return {name: item for item in bodies for name in item.names if counts[name] == 1}


def by_value(found: Iterable[Item]) -> frozenset[str]:
    """Types, and functions of which none of that name takes a reference to what it may change."""
    items = list(found)
    changing = {name for item in items if item.kind == "function" and _changes(item) for name in item.names}
    return frozenset(n for item in items if item.kind in ("function", "type") for n in item.names) - changing


def _changes(item: Item) -> bool:
    opened, closed = item.parameters
    for group in split_commas(item.tokens[opened + 1 : closed]):
        texts = {token.text for token in group}
        if texts & {"&", "&&"} and ("const" not in texts or "*" in texts):
            return True
    return False

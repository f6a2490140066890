"""What the body of a function is read in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from genome.source.slice import Item


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
        helpers: Functions of the file by name.
    """

    parameters: Mapping[str, str]
    pointers: Mapping[str, str]
    constants: Mapping[str, int]
    taken: frozenset[str] = frozenset()
    barrier_helpers: frozenset[str] = frozenset()
    moves: Mapping[str, int] = field(default_factory=dict)
    typedefs: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, Item] = field(default_factory=dict)

"""What the body of a function is read in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from genome.ir.print_functions import CUDA_ONLY, OUTPUTS, PURE
from genome.ir.print_tokens import split_commas
from genome.ir.types import PLAIN_TYPES, canonical
from genome.source.slice import Item, without_template

_VALUES = ("__", "make_", "tex", "surf")  # how CUDA's own functions begin that take values and plain pointers
_PRINTING = frozenset({"printf", "assert"})
_LEADING = {"*", "&", "(", ":", "::", "<"}  # in a struct whose members may lead to memory, or run code
_DECORATION = frozenset({"static", "inline", "__inline__", "__forceinline__", "__noinline__", "__device__", "__host__",
                         "constexpr", "const", "extern", '"C"', "__attribute__", "__inline"})  # fmt: skip


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
        references: Function of the file -> positions of the parameters that are references to what it may change.
        answers: Functions of the file whose value, if they have one, is a number or a vector.
        pointerless: Structs of the file that hold no pointers.
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
    references: Mapping[str, frozenset[int]] = field(default_factory=dict)
    answers: frozenset[str] = frozenset()
    pointerless: frozenset[str] = frozenset()

    def plainly(self, function: str) -> bool:
        """True if nothing that the function gives back leads to memory."""
        base = function.partition("<")[0].rpartition("::")[2]
        return function in OUTPUTS or function.startswith("__") or base in self.answers

    def keeps(self, function: str) -> bool:
        """True if a call cannot change the variables that it is given, but by their addresses."""
        known = function in PURE or function in CUDA_ONLY or function in _PRINTING or function in OUTPUTS
        if known or function.startswith(_VALUES):
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
    changing = {name for name, positions in references(items).items() if positions}
    return frozenset(n for item in items if item.kind in ("function", "type") for n in item.names) - changing


def references(found: Iterable[Item]) -> dict[str, frozenset[int]]:
    """Function -> positions of parameters, in any function of that name, that are references to what it may change."""
    known: dict[str, frozenset[int]] = {}
    for item in found:
        if item.kind == "function":
            known |= {name: known.get(name, frozenset()) | _changed(item) for name in item.names}
    return known


def _changed(item: Item) -> frozenset[int]:
    opened, closed = item.parameters
    groups = [{token.text for token in group} for group in split_commas(item.tokens[opened + 1 : closed])]
    return frozenset(
        position
        for position, texts in enumerate(groups)
        if texts & {"&", "&&"} and ("const" not in texts or "*" in texts)
    )


def answers(found: Iterable[Item], typedefs: Mapping[str, str]) -> frozenset[str]:
    """Functions of which each of that name gives a number, a vector, a value of a template's type, or nothing."""
    plain: set[str] = set()
    others: set[str] = set()
    for item in found:
        if item.kind == "function":
            head = without_template(item.tokens[: item.parameters[0] - 1])
            given = {token.text for token in item.template or ()}
            name = " ".join(token.text for token in head if token.text not in _DECORATION)
            known = name == "void" or name in given or canonical(typedefs.get(name, name)) in PLAIN_TYPES
            (plain if known else others).update(item.names)
    return frozenset(plain - others)


def pointerless(found: Iterable[Item]) -> frozenset[str]:
    """Structs of plain members alone: a function that is given one reaches no other memory through it."""
    bodies = {item.names[-1]: item for item in found if item.kind == "type" and item.names}
    plain = {name for name, item in bodies.items() if "{" in item.marks and not item.marks & _LEADING}
    kept: set[str] | None = None
    while kept != plain:
        kept = set(plain)
        plain = {name for name in kept if bodies[name].words & bodies.keys() - {name} <= kept}
    return frozenset(plain)

"""Variables of the file that the host fills before a launch: ``__constant__ float filter[9];``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from genome.ir.print_tokens import Token, closing, render, split_commas
from genome.ir.types import canonical

_MARKS = frozenset({"__constant__", "__device__", "__managed__"})
_DROPPED = _MARKS | {"static", "const", "volatile", "struct"}
_ATTRIBUTES = frozenset({"__align__", "alignas", "__attribute__"})


@dataclass(frozen=True)
class Variable:
    """A ``__constant__`` or ``__device__`` variable without an initialiser.

    Attributes:
        name: In the file.
        ctype: Element type without qualifiers; ends with ``*`` for a pointer.
        dims: Texts of its extents, numbers where the file tells them; none for a single value.
        constant: True for ``__constant__``.
        scope: The namespaces in front of its name in CUDA text: ``tables::``.
        given: True if the campaign gives its contents.
    """

    name: str
    ctype: str
    dims: tuple[str, ...] = ()
    constant: bool = True
    scope: str = ""
    given: bool = False


def declared_variables(tokens: Sequence[Token]) -> tuple[Variable, ...]:
    """The variables that a file-level declaration leaves to the host; none for any other declaration.

    Args:
        tokens: Of the declaration, its semicolon included.
    """
    texts = [token.text for token in tokens]
    if not _MARKS & set(texts) or {"=", "{", "extern", "template"} & set(texts) or texts[-1] != ";":
        return ()
    groups = split_commas(list(_without_attributes(tokens[:-1])))
    if not groups or not groups[0]:
        return ()
    if any(token.text == "(" for group in groups for token in group[: _name_at(group) + 1]):
        return ()  # a function, or a pointer to one; extents may hold any
    first = _name_at(groups[0])
    base = [t.text for t in groups[0][:first] if t.text not in _DROPPED and t.text != "*"]
    stars = sum(token.text == "*" for token in groups[0][:first])
    constant = "__constant__" in texts
    found = []
    for number, group in enumerate(groups):
        at = _name_at(group)
        pointer = "*" * (stars if not number else sum(token.text == "*" for token in group[:at]))
        dims = tuple(_extents(group[at + 1 :]))
        found.append(Variable(group[at].text, canonical(" ".join(base)) + pointer, dims, constant))
    return tuple(found)


def _without_attributes(tokens: Sequence[Token]) -> Iterator[Token]:
    position = 0
    while position < len(tokens):
        if tokens[position].text in _ATTRIBUTES:
            position = closing(tokens, position + 1)
        else:
            yield tokens[position]
        position += 1


def _name_at(group: Sequence[Token]) -> int:
    opened = next((i for i, token in enumerate(group) if token.text == "["), len(group))
    return opened - 1


def _extents(tokens: Sequence[Token]) -> Iterator[str]:
    position = 0
    while position < len(tokens) and tokens[position].text == "[":
        end = closing(tokens, position)
        yield render(tokens[position + 1 : end]).strip()
        position = end + 1

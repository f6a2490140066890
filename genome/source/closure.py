"""What one kernel needs of its file: the closure over the names that it uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genome.ir.print_tokens import split_commas
from genome.ir.types import VECTOR_TYPES
from genome.source.slice import Item, type_names

_DEVICE_FUNCTION = frozenset({"__device__", "constexpr", "consteval"})
_DEVICE_VARIABLE = frozenset({
    "__device__", "__constant__", "__shared__", "__managed__", "const", "constexpr", "namespace",
})  # fmt: skip

_NO_TYPES = frozenset({
    "return", "else", "case", "goto", "do", "sizeof", "typename", "new", "delete", "throw", "const", "volatile",
    "struct", "class", "enum", "union",
})  # fmt: skip
"""Words in front of a name that is not declared there."""


@dataclass(frozen=True)
class Slice:
    """A kernel and what it needs.

    Attributes:
        entry: The ``__global__`` function.
        prelude: Items in front of it, in the order of the file.
    """

    entry: Item
    prelude: tuple[Item, ...]


def slice_kernel(found: Sequence[Item], entry: Item) -> Slice:
    """The entry with every helper, type and constant that it reaches by name; other kernels and host code stay out.

    ``using namespace x;`` stays in any case: what it opens is known where the text is put together.
    """
    usable = _usable(found, entry)
    definers: dict[str, list[Item]] = {}
    for item in usable:
        for name in item.names:
            definers.setdefault(name, []).append(item)
    operators = definers.pop("operator", [])
    types = type_names(found) | VECTOR_TYPES
    wanted: set[int] = set()
    queue, words, marks = [entry], set[str](), set[str]()
    while queue:
        item = queue.pop()
        if id(item) in wanted:
            continue
        wanted.add(id(item))
        own = _own_names(item)
        fresh = item.words - words
        words |= fresh - own
        marks |= item.marks
        queue += [definer for name in fresh for definer in definers.get(name, ())
                  if name not in own or definer.kind == "variable"]  # fmt: skip
        queue += [operator for operator in operators if _applies(operator, words & types, marks)]
    wanted -= {id(entry)}
    return Slice(entry, tuple(item for item in found if id(item) in wanted or item.kind == "using"))


def _usable(found: Sequence[Item], entry: Item) -> list[Item]:
    """What device code may name: a function or variable without a mark belongs to the host."""
    declared = {_declarator(item) for item in found if item.kind == "function" and item.body < 0
                and "__device__" in item.words}  # fmt: skip
    result = []
    for item in found:
        if item is entry or item.kind in ("kernel", "using", "instance"):
            continue
        if item.kind == "function":
            head = {token.text for token in item.tokens[: item.parameters[0]]}
            if not head & _DEVICE_FUNCTION and _declarator(item) not in declared:
                continue
        elif item.kind == "variable" and not item.words & _DEVICE_VARIABLE:
            continue
        result.append(item)
    return result


def _declarator(item: Item) -> tuple[object, ...]:
    """Name and parameter types of a function."""
    opened, closed = item.parameters
    groups = split_commas(item.tokens[opened + 1 : closed])
    named = [[token.text for token in group if token.text != "const"] for group in groups]
    return item.names, tuple(
        tuple(texts[:-1] if len(texts) > 1 and texts[-1].isidentifier() else texts) for texts in named
    )


def _applies(operator: Item, types: set[str], marks: set[str]) -> bool:
    """True if the operator may be called: its sign stands somewhere, and so does a type of its parameters."""
    opened, closed = operator.parameters
    texts = [token.text for token in operator.tokens]
    signs = set(texts[texts.index("operator") + 1 : opened])
    return bool(types.intersection(texts[opened:closed])) and not signs.isdisjoint(marks)


def _own_names(item: Item) -> set[str]:
    """Names of locals and parameters that are nothing but that: none of them is called or stands for a type."""
    declared, used = set[str](), set[str]()
    if item.body >= 0:
        for before, name, after in zip(item.tokens, item.tokens[1:], item.tokens[2:], strict=False):
            if name.kind != "word":
                continue
            if after.kind == "word" or after.text in ("(", "<", "::", "*", "&"):
                used.add(name.text)
            elif before.kind == "word" and before.text not in _NO_TYPES and after.text in ("=", ";", ",", "[", ")"):
                declared.add(name.text)
    return declared - used

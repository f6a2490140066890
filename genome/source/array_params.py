"""Parameters that are arrays of arrays, as pointers: ``float a[N][M]``, ``a[i][j]`` as ``float* a``, ``a[i * M + j]``.

The elements are the same ones: C lays rows out one behind the other. A row that goes somewhere as a whole (``a[i]``)
becomes ``(a + i * M)``, and what is more than a row a pointer to arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from genome.ir.print_tokens import Token, closing, mark, split_commas
from genome.source.errors import SourceError
from genome.source.slice import Item

_Extents = tuple[tuple[Token, ...], ...]


@dataclass(frozen=True)
class _Shape:
    """Type of an array's elements, with its qualifiers, and its extents behind the first."""

    base: tuple[Token, ...]
    extents: _Extents


def flattened(item: Item, path: str) -> Item:
    """The function with its array parameters as pointers; itself where it has none of more than one dimension.

    Raises:
        SourceError: If the body asks for the size of a row.
    """
    opened, closed = item.parameters
    groups = split_commas(item.tokens[opened + 1 : closed])
    shapes = {name: _Shape(_base(group), extents) for group in groups for name, extents in (_shape(group),) if extents}
    if not shapes or item.body < 0:
        return item
    parameters: list[Token] = []
    for number, group in enumerate(groups):
        parameters += [mark(",", group[0])] if number else []
        parameters += _as_pointer(group) if _shape(group)[1] else group
    head = [*item.tokens[: opened + 1], *parameters]
    tail = item.tokens[closed : item.body]
    body = _flat_uses(item.tokens[item.body :], shapes, path)
    return replace(
        item,
        tokens=(*head, *tail, *body),
        parameters=(opened, len(head)),
        body=len(head) + len(tail),
    )


def _shape(group: Sequence[Token]) -> tuple[str, _Extents]:
    """(name, extents behind the first) of ``T name[a][b]`` and ``T (*name)[b]``; no extents for anything else."""
    texts = [token.text for token in group]
    first = texts.index("[") if "[" in texts else len(texts)
    extents: list[tuple[Token, ...]] = []
    position = first
    while position < len(group) and texts[position] == "[":
        end = closing(group, position)
        extents.append(tuple(group[position + 1 : end]))
        position = end + 1
    if _star(texts[:first]) >= 0:
        return texts[first - 2], tuple(extents)
    return (texts[first - 1], tuple(extents[1:])) if first else ("", ())


def _star(texts: Sequence[str]) -> int:
    """Position of ``*`` in ``T (*name)`` and ``T (*__restrict__ name)``; -1 in anything else."""
    if texts[-1:] != [")"] or "(" not in texts:
        return -1
    opened = texts.index("(")
    return opened + 1 if texts[opened + 1] == "*" and len(texts) > opened + 3 else -1


def _base(group: Sequence[Token]) -> tuple[Token, ...]:
    """The element type with its qualifiers."""
    kept = _declarator(group)
    star = _star([token.text for token in kept])
    return tuple(kept[: star - 1] if star > 0 else kept[:-1])


def _as_pointer(group: Sequence[Token]) -> list[Token]:
    kept = _declarator(group)
    star = _star([token.text for token in kept])
    if star > 0:
        return [*kept[: star - 1], *kept[star:-2], kept[-2]._replace(space=" ")]
    return [*kept[:-1], mark("*", kept[0]), kept[-1]]


def _declarator(group: Sequence[Token]) -> Sequence[Token]:
    """What stands in front of the extents."""
    return group[: next((i for i, token in enumerate(group) if token.text == "["), len(group))]


def _flat_uses(body: Sequence[Token], shapes: Mapping[str, _Shape], path: str) -> list[Token]:
    """The body with the subscripts of each array as one."""
    result: list[Token] = []
    position = 0
    while position < len(body):
        token = body[position]
        result.append(token)
        position += 1
        member = len(result) > 1 and result[-2].text in (".", "->", "::")
        if token.kind != "word" or token.text not in shapes or member:
            continue
        subscripts: list[list[Token]] = []
        shape = shapes[token.text]
        while position < len(body) and body[position].text == "[" and len(subscripts) <= len(shape.extents):
            end = closing(body, position)
            subscripts.append(_flat_uses(body[position + 1 : end], shapes, path))
            position = end + 1
        if len(subscripts) == len(shape.extents) + 1:
            result += [mark("[", token), *_index(subscripts, shape.extents, token), mark("]", token)]
            continue
        if "sizeof" in [before.text for before in result[-3:-1]]:
            what = f"the size of a row of the array parameter '{token.text}'"
            raise SourceError(token.file or path, token.line, what, "write it as a product")
        result[-1:] = _row(token, subscripts, shape)
    return result


def _row(name: Token, subscripts: Sequence[Sequence[Token]], shape: _Shape) -> list[Token]:
    """``(a + (i) * M)``; with two extents to go ``((const float (*)[N])(a + (i) * M * N))``."""
    given = len(subscripts)
    place = [name._replace(space="")]
    if given:
        index = _index(subscripts, shape.extents[: given - 1], name)
        place += [mark("+", name), *_grouped(index, name)]
        for extent in shape.extents[given - 1 :]:
            place += [mark("*", name), *_grouped(extent, name)]
    opening = mark("(", name)._replace(space=name.space)
    left = [token for extent in shape.extents[given:] for token in (mark("[", name), *extent, mark("]", name))]
    if not left:
        return [opening, *place, mark(")", name)]
    array = [*shape.base, mark("(", name), mark("*", name), mark(")", name), *left]
    return [
        opening,
        mark("(", name),
        *array,
        mark(")", name),
        mark("(", name),
        *place,
        mark(")", name),
        mark(")", name),
    ]


def _index(subscripts: Sequence[Sequence[Token]], extents: _Extents, like: Token) -> list[Token]:
    """``((i) * M + (j)) * N + (k)``."""
    index = _grouped(subscripts[0], like)
    for subscript, extent in zip(subscripts[1:], extents, strict=True):
        index = [*_grouped(index, like), mark("*", like), *_grouped(extent, like), mark("+", like),
                 *_grouped(subscript, like)]  # fmt: skip
    return index


def _grouped(tokens: Sequence[Token], like: Token) -> list[Token]:
    return list(tokens) if len(tokens) == 1 else [mark("(", like), *tokens, mark(")", like)]

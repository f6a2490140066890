"""Parameters that are arrays of arrays, as pointers: ``float a[N][M]``, ``a[i][j]`` as ``float* a``, ``a[i * M + j]``.

The elements are the same ones: C lays rows out one behind the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.ir.print_tokens import Token, closing, mark, split_commas
from genome.source.errors import SourceError
from genome.source.slice import Item

_Extents = tuple[tuple[Token, ...], ...]


def flattened(item: Item, path: str) -> Item:
    """The function with its array parameters as pointers; itself where it has none of more than one dimension.

    Raises:
        SourceError: If the body uses rows of such a parameter.
    """
    opened, closed = item.parameters
    groups = split_commas(item.tokens[opened + 1 : closed])
    shapes = {name: extents for name, extents in map(_shape, groups) if extents}
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
    if texts[first - 4 : first - 2] == ["(", "*"] and texts[first - 1] == ")":
        return texts[first - 2], tuple(extents)
    return (texts[first - 1], tuple(extents[1:])) if first else ("", ())


def _as_pointer(group: Sequence[Token]) -> list[Token]:
    kept = list(group[: next(i for i, token in enumerate(group) if token.text == "[")])
    if kept[-1].text == ")":
        return [*kept[:-4], mark("*", kept[0]), kept[-2]._replace(space=" ")]
    return [*kept[:-1], mark("*", kept[0]), kept[-1]]


def _flat_uses(body: Sequence[Token], shapes: Mapping[str, _Extents], path: str) -> list[Token]:
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
        while position < len(body) and body[position].text == "[":
            end = closing(body, position)
            subscripts.append(_flat_uses(body[position + 1 : end], shapes, path))
            position = end + 1
        extents = shapes[token.text]
        if len(subscripts) != len(extents) + 1:
            raise SourceError(token.file or path, token.line, f"a row of the array parameter '{token.text}' is used",
                              "pass a pointer, and compute the index of the element")  # fmt: skip
        result += [mark("[", token), *_index(subscripts, extents, token), mark("]", token)]
    return result


def _index(subscripts: Sequence[Sequence[Token]], extents: _Extents, like: Token) -> list[Token]:
    """``((i) * M + (j)) * N + (k)``."""
    index = _grouped(subscripts[0], like)
    for subscript, extent in zip(subscripts[1:], extents, strict=True):
        index = [*_grouped(index, like), mark("*", like), *_grouped(extent, like), mark("+", like),
                 *_grouped(subscript, like)]  # fmt: skip
    return index


def _grouped(tokens: Sequence[Token], like: Token) -> list[Token]:
    return list(tokens) if len(tokens) == 1 else [mark("(", like), *tokens, mark(")", like)]

"""Other names of namespaces that a function gives: ``namespace cg = cooperative_groups;``."""

from __future__ import annotations

from collections.abc import Sequence

from genome.ir.print_tokens import Token


def spelled_out(body: Sequence[Token]) -> list[Token]:
    """The tokens without such declarations, and with the namespace's own name where the other one stood."""
    meanings: dict[str, str] = {}
    result: list[Token] = []
    position = 0
    while position < len(body):
        texts = [token.text for token in body[position : position + 5]]
        if texts[:1] == ["namespace"] and len(texts) == 5 and texts[2] == "=" and texts[4] == ";":
            meanings[texts[1]] = texts[3]
            position += 5
            continue
        token = body[position]
        if token.text in meanings and texts[1:2] == ["::"] and (not result or result[-1].text not in (".", "->", "::")):
            token = token._replace(text=meanings[token.text])
        result.append(token)
        position += 1
    return result

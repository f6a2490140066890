"""How deep the tree of an expression is, told from its tokens, before anything walks the tree recursively."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from genome.ir.print_tokens import CLOSERS, OPENERS, Token
from genome.source.errors import SourceError

_SUMS = frozenset({"+", "-", "||", "&&", "|", "^", "&", "==", "!=", "?", ":", "=", "+=", "-=", "*=", "/="})

MAX_DEPTH = 100
"""Operators inside one another that recursive walks bear, each with several calls a step."""


@dataclass
class _Level:
    """What stands between two brackets.

    Attributes:
        sums: Operators so far that bind weakly: each is one step of the tree above all operands.
        operand: Depth of the operand at hand.
        deepest: Depth of the deepest operand before it.
        most: Depth of the deepest part in front of a comma.
    """

    sums: int = 0
    operand: int = 0
    deepest: int = 0
    most: int = 0

    def depth(self) -> int:
        return max(self.most, self.sums + max(self.operand, self.deepest))


def depth(tokens: Sequence[Token]) -> int:
    """An upper bound of how many operators and brackets stand inside one another."""
    levels = [_Level()]
    for token in tokens:
        if token.kind != "mark":
            continue
        level = levels[-1]
        if token.text in OPENERS:
            levels.append(_Level())
        elif token.text in CLOSERS and len(levels) > 1:
            levels.pop()
            levels[-1].operand += level.depth() + 1
        elif token.text in (",", ";"):
            levels[-1] = _Level(most=level.depth())
        elif token.text in _SUMS:
            level.sums, level.deepest, level.operand = level.sums + 1, max(level.deepest, level.operand), 0
        else:
            level.operand += 1
    return max(level.depth() for level in levels)


@contextmanager
def bounded(tokens: Sequence[Token], path: str) -> Iterator[None]:
    """Says which of the tokens is too deep where a walk comes to the end of the stack.

    Raises:
        SourceError: Then.
    """
    try:
        yield
    except RecursionError:
        token = _deepest(tokens)
        raise SourceError(token.file or path, token.line, "nested too deeply", "split the statement") from None


def _deepest(tokens: Sequence[Token]) -> Token:
    """The first token inside the most brackets."""
    found, inside, most = tokens[0], 0, 0
    for token in tokens:
        if token.kind == "mark":
            inside += (token.text in OPENERS) - (token.text in CLOSERS)
            if inside > most:
                found, most = token, inside
    return found

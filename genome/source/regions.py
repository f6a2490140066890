"""Statements of a token list, and those among them that C cannot spell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from genome.ir.print_tokens import Token, closing, mark, word
from genome.source.nesting import MAX_DEPTH, depth

_FOREIGN = frozenset({"asm", "__asm__", "__asm", "new", "delete", "try", "throw", "operator", "template", "this",
                      "goto", "using", "__attribute__", "class", "namespace", "decltype", "typedef"})  # fmt: skip
_BINARY = frozenset(
    {"+", "-", "/", "%", "==", "!=", "<=", ">=", "<", "&&", "||", "=", "+=", "-=", "*=", "/=", "^", "."}
)
_CONTROL = frozenset({"if", "for", "while", "switch"})

_MAX_STATEMENTS = 48
"""Statements inside one another that are looked into: everything behind walks them recursively."""


def replace_regions(
    tokens: Sequence[Token],
    types: frozenset[str],
    name: str,
    test: Callable[[Sequence[Token]], bool] | None = None,
) -> tuple[list[Token], list[tuple[Token, ...]]]:
    """Replaces statements that C cannot spell by ``name(n);``.

    Args:
        tokens: A compound statement.
        types: Names of types.
        name: Function that marks a region.
        test: A further test of a statement (headers come with an empty statement behind them).

    Returns:
        The tokens, and the tokens of region n.
    """
    walker = _Walker(tokens, types, name, test)
    position = 0
    while position < len(tokens):
        position = walker.statement(position)
    return walker.out, walker.regions


def statement_end(tokens: Sequence[Token], start: int) -> int:
    """Index behind the statement that starts there."""
    position, headers = start, list[str]()
    while position < len(tokens):
        text = tokens[position].text
        if tokens[position].kind == "pragma":
            position += 1
            continue
        if text in _CONTROL or text == "do":
            headers.append(text)
            position = position + 1 if text == "do" else closing(tokens, position + 1) + 1
            continue
        position = closing(tokens, position) + 1 if text == "{" else _semicolon(tokens, position)
        position = _behind(tokens, position, headers)
        if not headers:
            break
    return min(position, len(tokens))


def _behind(tokens: Sequence[Token], position: int, headers: list[str]) -> int:
    """Index behind the headers whose statement ended at ``position``; those that another statement belongs to stay."""
    while headers:
        head = headers.pop()
        if head == "do":
            position = _semicolon(tokens, position)
        elif head == "if" and position < len(tokens) and tokens[position].text == "else":
            headers.append("else")
            return position + 1
    return position


def _semicolon(tokens: Sequence[Token], start: int) -> int:
    position = start
    while position < len(tokens) and tokens[position].text not in (";", "}"):
        position = closing(tokens, position) + 1 if tokens[position].text in ("(", "[", "{") else position + 1
    return min(position + 1, len(tokens)) if position < len(tokens) and tokens[position].text == ";" else position


class _Walker:
    """Copies statements to ``out`` and keeps the foreign ones aside."""

    def __init__(self, tokens: Sequence[Token], types: frozenset[str], name: str,
                 test: Callable[[Sequence[Token]], bool] | None) -> None:  # fmt: skip
        self.tokens, self.types, self.name, self.test = tokens, types, name, test
        self.out: list[Token] = []
        self.regions: list[tuple[Token, ...]] = []
        self.depth = 0

    def statement(self, start: int) -> int:
        """Copies or replaces the statement at ``start``; returns the index behind it."""
        self.depth += 1
        end = self._statement(start)
        self.depth -= 1
        return end

    def _statement(self, start: int) -> int:
        if start >= len(self.tokens):
            return start
        token = self.tokens[start]
        if self.depth > _MAX_STATEMENTS and (token.text in _CONTROL or token.text in ("{", "do")):
            end = statement_end(self.tokens, start)
            self._region(start, end)
            return end
        if token.kind == "pragma" or token.text in ("else", "}"):
            self.out.append(token)
            return start + 1
        if token.text == "{":
            return self._compound(start)
        if token.text in _CONTROL and self._next(start) == "(":
            return self._control(start)
        if token.text == "do":
            return self._do(start)
        if token.text in ("case", "default"):
            end = start
            while end < len(self.tokens) and self.tokens[end].text not in (":", ";", "}"):
                end += 1
            self.out += self.tokens[start : end + 1]
            return end + 1
        end = _semicolon(self.tokens, start)
        part = self.tokens[start:end]
        if self._foreign(part) or (self.test is not None and broken_token(part) is None and self.test(part)):
            self._region(start, end)
        else:
            self.out += _construction(part, self.types)
        return max(end, start + 1)

    def _next(self, position: int) -> str:
        return self.tokens[position + 1].text if position + 1 < len(self.tokens) else ""

    def _compound(self, start: int) -> int:
        end = closing(self.tokens, start)
        self.out.append(self.tokens[start])
        position = start + 1
        while position < end:
            position = self.statement(position)
        self.out += self.tokens[end : end + 1]
        return end + 1

    def _control(self, start: int) -> int:
        opened = start + 1
        end = closing(self.tokens, opened)
        header = self.tokens[start : end + 1]
        empty = mark(";", self.tokens[start])
        ranged = self.tokens[start].text == "for" and not any(token.text == ";" for token in header)
        bad = ranged or self._foreign(self.tokens[opened + 1 : end], header=True)
        if bad or (self.test is not None and broken_token(header) is None and self.test([*header, empty])):
            behind = statement_end(self.tokens, start)
            self._region(start, behind)
            return behind
        self.out += header
        position = self.statement(end + 1)
        if self.tokens[start].text == "if" and position < len(self.tokens) and self.tokens[position].text == "else":
            self.out.append(self.tokens[position])
            position = self.statement(position + 1)
        return position

    def _do(self, start: int) -> int:
        self.out.append(self.tokens[start])
        position = self.statement(start + 1)
        end = _semicolon(self.tokens, position)
        self.out += self.tokens[position:end]
        return end

    def _region(self, start: int, end: int) -> None:
        like = self.tokens[start]
        number = Token(str(len(self.regions)), "number", "", like.line, like.file)
        self.out += [word(self.name, like, like.space), mark("(", like), number, mark(")", like), mark(";", like)]
        self.regions.append(tuple(self.tokens[start:end]))

    def _foreign(self, part: Sequence[Token], header: bool = False) -> bool:
        if any(token.kind == "word" and token.text in _FOREIGN for token in part) or depth(part) > MAX_DEPTH:
            return True
        for position, token in enumerate(part):
            before = part[position - 1] if position else None
            if token.text == "[" and (before is None or not (before.kind == "word" or before.text in ("]", ")"))):
                return True
            if token.text == "<<<":
                return True
            if token.text == "{" and (before is None or before.text not in ("=", "{", ",")):
                return True
        return not header and (_is_reference(part, self.types) or _is_object(part, self.types))


def broken_token(tokens: Sequence[Token]) -> Token | None:
    """The first token that is wrong in C++ too, as far as two neighbours tell, or None."""
    for here, after in pairwise(tokens):
        if here.text in _BINARY and after.text in (";", ")", ","):
            return after
        if here.text in _CONTROL and after.text not in ("(", "constexpr"):
            return after
    return None


def _type_length(part: Sequence[Token], types: frozenset[str]) -> int:
    """Number of tokens of a type at the start of a statement, without ``*`` and ``&``; 0 for no type."""
    position, seen = 0, False
    while position < len(part) and part[position].kind == "word":
        text = part[position].text
        if text in types or text in ("unsigned", "signed", "int", "long", "short", "char", "float", "double", "bool"):
            seen = True
        elif text not in ("const", "volatile", "static", "struct", "extern"):
            break
        position += 1
    return position if seen else 0


def _is_reference(part: Sequence[Token], types: frozenset[str]) -> bool:
    length = _type_length(part, types)
    return bool(length) and length + 1 < len(part) and part[length].text in ("&", "&&")


def _is_object(part: Sequence[Token], types: frozenset[str]) -> bool:
    """True for ``T name(arguments);`` of a class type, which C would read as a function."""
    length = _type_length(part, types)
    constructed = (
        bool(length) and length + 1 < len(part) and part[length].kind == "word" and part[length + 1].text == "("
    )
    return constructed and not _scalar(part[:length])


def _scalar(part: Sequence[Token]) -> bool:
    plain = {"unsigned", "signed", "int", "long", "short", "char", "float", "double", "bool", "size_t", "const"}
    return all(token.text in plain for token in part)


def _construction(part: Sequence[Token], types: frozenset[str]) -> list[Token]:
    """``float x(e);`` as ``float x = (e);``."""
    length = _type_length(part, types)
    if length and length + 1 < len(part) and part[length].kind == "word" and part[length + 1].text == "(":
        like = part[length]
        return [*part[: length + 1], mark("=", like)._replace(space=" "), *part[length + 1 :]]
    return list(part)

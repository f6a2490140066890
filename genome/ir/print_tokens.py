"""Tokens of C and CUDA text that keep their white space, so that text can be rewritten token by token."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_SPACE = r"\s+|\\\n|//[^\n]*|/\*.*?\*/"
_DIRECTIVE = r"\#[^\n]*(?:\\\n[^\n]*)*"
_NAME = r"[A-Za-z_$][A-Za-z0-9_$]*"
_NUMBER = r"\.?[0-9](?:[eEpP][+-]|'(?=[A-Za-z0-9])|[A-Za-z0-9_.])*"
_STRING = r"""(?:u8|[uUL])?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_MARK = r"<<=|>>=|<<<|>>>|->\*|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|."
_TOKEN = re.compile(
    f"(?P<space>{_SPACE})|(?P<directive>{_DIRECTIVE})|(?P<word>{_NAME})|(?P<number>{_NUMBER})|(?P<string>{_STRING})"
    f"|(?P<mark>{_MARK})",
    re.DOTALL,
)
_WORD = re.compile(f"{_SPACE}|{_DIRECTIVE}|({_NAME})|{_NUMBER}|{_STRING}", re.DOTALL)
_LINE = re.compile(r'#\s*(?:line)?\s*(\d+)(?:\s+"([^"]*)")?')

_MAX_LIST = 400  # tokens of a template list: the search for its end must not be quadratic in a file of comparisons

_IN_LIST = frozenset({",", "*", "::", "&", "-", "+", "/", "%"})

OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {")", "]", "}"}


class Token(NamedTuple):
    """One token.

    Attributes:
        text: Its spelling.
        kind: ``word``, ``number``, ``string``, ``mark`` or ``pragma``.
        space: White space in front of it (comments become one space).
        line: 1-based line in ``file``.
        file: Name that the last ``#line`` gave, or "".
    """

    text: str
    kind: str
    space: str = ""
    line: int = 0
    file: str = ""


def tokenize(text: str) -> list[Token]:
    """Tokens of the text; ``#line`` sets the positions, ``#pragma`` becomes one token, other directives too."""
    tokens: list[Token] = []
    line, file, space = 1, "", ""
    for match in _TOKEN.finditer(text):
        kind, value = match.lastgroup or "mark", match.group()
        if kind == "space":
            space += value if value.isspace() else "\n" * value.count("\n") if value.startswith("\\") else " "
        elif kind == "directive":
            marker = _LINE.match(value)
            if marker:
                line, file = int(marker.group(1)) - 1, marker.group(2) or file
            else:
                tokens.append(Token(value, "pragma" if value[1:].split()[:1] == ["pragma"] else "directive",
                                    space, line, file))  # fmt: skip
                space = ""
        else:
            tokens.append(Token(value, kind, space, line, file))
            space = ""
        line += value.count("\n")
    return tokens


def words(text: str) -> frozenset[str]:
    """Every word of the text; those in comments, directives and strings are none. Faster than to make tokens of it."""
    return frozenset(_WORD.findall(text)) - {""}


def render(tokens: Iterable[Token]) -> str:
    """The text of the tokens with their white space; directives stand on lines of their own."""
    parts: list[str] = []
    fresh_line = True
    for token in tokens:
        directive = token.kind in ("pragma", "directive")
        space = token.space
        if fresh_line and parts:
            space = space.removeprefix("\n")  # the directive ended its own line
        if directive and not fresh_line and "\n" not in space:
            space = "\n"
        elif not fresh_line and not space and parts and _sticks(parts[-1], token.text):
            space = " "
        parts += [space, token.text]
        fresh_line = False
        if directive:
            parts.append("\n")
            fresh_line = True
    return "".join(parts)


def _sticks(left: str, right: str) -> bool:
    """True if the two spellings would read as another token when they touch."""
    if not left or not right:
        return False
    a, b = left[-1], right[0]
    if (a.isalnum() or a == "_") and (b.isalnum() or b == "_" or right[:2].strip(".").isdigit()):
        return True
    return a + b in {"++", "--", "&&", "||", "<<", ">>", "->", "::", "//", "/*", "<=", ">=", "==", "!="}


def closing(tokens: Sequence[Token], start: int) -> int:
    """Index of the bracket that closes the one at ``start``, or the number of tokens when there is none."""
    depth = 0
    for position in range(start, len(tokens)):
        text = tokens[position].text
        if text in OPENERS and tokens[position].kind == "mark":
            depth += 1
        elif text in CLOSERS and tokens[position].kind == "mark":
            depth -= 1
            if depth == 0:
                return position
    return len(tokens)


def unbalanced(tokens: Sequence[Token]) -> Token | None:
    """The first bracket that nothing matches, or None."""
    stack: list[Token] = []
    for token in tokens:
        if token.kind != "mark":
            continue
        if token.text in OPENERS:
            stack.append(token)
        elif token.text in CLOSERS:
            if not stack:
                return token
            opened = stack.pop()
            if OPENERS[opened.text] != token.text:
                return opened
    return stack[-1] if stack else None


def closing_angle(tokens: Sequence[Token], start: int) -> int | None:
    """Index of the ``>`` that closes the template list opened at ``start``, or None if it is a comparison.

    A list holds types, names and integers only: anything that an expression statement would need ends the search.
    """
    depth = 0
    for position in range(start, min(len(tokens), start + _MAX_LIST)):
        token = tokens[position]
        if token.text in "([":
            return None if token.text == "[" else _after_parens(tokens, position, depth)
        if token.text == "<":
            depth += 1
        elif token.text in (">", ">>"):
            depth -= len(token.text)
            if depth <= 0:
                return position if depth == 0 else None
        elif token.kind not in ("word", "number") and token.text not in _IN_LIST:
            return None
    return None


def _after_parens(tokens: Sequence[Token], start: int, depth: int) -> int | None:
    end = closing(tokens, start)
    if depth and end + 1 < len(tokens) and tokens[end + 1].text == ">" and depth == 1:
        return end + 1
    return None


def split_commas(tokens: Sequence[Token]) -> list[list[Token]]:
    """The token lists between top-level commas; no list for no tokens."""
    if not tokens:
        return []
    groups: list[list[Token]] = [[]]
    depth = 0
    for position, token in enumerate(tokens):
        if token.kind == "mark":
            if token.text in OPENERS or (token.text == "<" and closing_angle(tokens, position) is not None):
                depth += 1
            elif token.text in CLOSERS or (token.text in (">", ">>") and depth):
                depth -= len(token.text)
        if token.text == "," and depth <= 0:
            groups.append([])
        else:
            groups[-1].append(token)
    return groups


def word(text: str, like: Token | None = None, space: str = " ") -> Token:
    """A new word token at the position of another one."""
    return Token(text, "word", space, like.line if like else 0, like.file if like else "")


def mark(text: str, like: Token | None = None) -> Token:
    """A new punctuation token at the position of another one, without white space in front."""
    return Token(text, "mark", "", like.line if like else 0, like.file if like else "")

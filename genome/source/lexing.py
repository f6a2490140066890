"""Tokens for pcpp in one regular expression: pcpp's own lexer takes most of the time of a preprocessing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pcpp import parser

_TOKEN = re.compile(
    r"""(?P<CPP_WS>[ \t\r\f\v]+) | (?P<NEWLINE>\n)
      | (?P<CPP_ID>[A-Za-z_]\w*)
      | (?P<NUMBER>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
      | (?P<CPP_STRING>"(?:[^"\\\n]|\\.)*")
      | (?P<CPP_CHAR>'(?:[^'\\\n]|\\.)*')
      | (?P<COMMENT>/\*.*?\*/|//[^\n]*)
      | (?P<CPP_LINECONT>\\[ \t]*\n)
      | (?P<SIGN><<<|>>>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|>>|\#\#|&&|\|\||[-+*/%&|^<>=!]=|.)""",
    re.VERBOSE | re.DOTALL,
)
_INTEGER = re.compile(r"(?:0[xX][\da-fA-F]+|\d+)[uUlL]*")
_CONTINUED = re.compile(r"\\[ \t]*\n")
_SIGNS = {
    re.sub(r"\\(.)", r"\1", pattern): name.removeprefix("t_")
    for name, pattern in vars(parser).items()
    if name.startswith("t_CPP_") and isinstance(pattern, str) and name not in ("t_CPP_ID", "t_CPP_FLOAT")
}
"""Spelling -> pcpp's type of it; a sign that pcpp does not know is a type of its own."""

_SPELLED_OUT = {
    "and": "&&", "or": "||", "not": "!", "not_eq": "!=", "bitand": "&", "bitor": "|", "xor": "^", "compl": "~",
    "and_eq": "&=", "or_eq": "|=", "xor_eq": "^=",
}  # fmt: skip
"""C++'s other spelling of some signs."""

_SPANNING = frozenset({"NEWLINE", "CPP_STRING", "CPP_CHAR", "COMMENT", "CPP_LINECONT"})


class Piece:
    """A token as pcpp takes it: the names of the attributes are its own."""

    __slots__ = ("expanded_from", "lexpos", "lineno", "source", "type", "value")
    expanded_from: list[str]

    def __init__(self, kind: str, value: str, line: int, source: str, position: int) -> None:
        self.type, self.value, self.lineno, self.source, self.lexpos = kind, value, line, source, position

    def __copy__(self) -> Piece:
        twin = Piece(self.type, self.value, self.lineno, self.source, self.lexpos)
        if hasattr(self, "expanded_from"):  # set by pcpp, and shared by copies
            twin.expanded_from = self.expanded_from
        return twin


def pieces(text: str, source: str) -> Iterator[Piece]:
    """Every token of the text, white space included; a comment is a space."""
    line = 1
    for match in _TOKEN.finditer(text):
        kind, value = match.lastgroup or "", match.group()
        if kind == "CPP_ID" and value in _SPELLED_OUT:
            kind, value = "SIGN", _SPELLED_OUT[value]
        lines = value.count("\n") if kind in _SPANNING else 0
        if kind == "SIGN":
            kind = _SIGNS.get(value, value)
        elif kind == "NUMBER":
            kind = "CPP_INTEGER" if _INTEGER.fullmatch(value) else "CPP_FLOAT"
        elif kind == "NEWLINE":
            kind = "CPP_WS"
        elif kind == "COMMENT":
            kind, value = "CPP_WS", " "
        elif kind == "CPP_LINECONT":
            value = value[1:-1]
        elif kind == "CPP_STRING" and lines:
            value = _CONTINUED.sub("", value)
        yield Piece(kind, value, line, source, match.start())
        line += lines


def lines_of(text: str, source: str) -> Iterator[list[Piece]]:
    """The tokens of each line, its end included; a comment or a continuation joins lines."""
    line: list[Piece] = []
    for piece in pieces("\n".join(part.rstrip() for part in text.splitlines()), source):
        line.append(piece)
        if piece.value == "\n" and piece.type == "CPP_WS":
            yield line
            line = []
    if line:
        yield [*line, Piece("CPP_WS", "\n", line[-1].lineno, source, line[-1].lexpos)]

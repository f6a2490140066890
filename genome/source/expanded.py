"""The preprocessor's output as tokens of this project: spellings joined that the preprocessor keeps apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genome.ir.print_tokens import Token

_KINDS = {
    "CPP_ID": "word",
    "CPP_INTEGER": "number",
    "CPP_FLOAT": "number",
    "CPP_STRING": "string",
    "CPP_CHAR": "string",
}
_BLANK = frozenset({"CPP_WS", "CPP_LINECONT"})
_JOINED = frozenset({"<<<", ">>>", "->*", "::", "..", "...", "^="})
_PREFIXES = frozenset({"u8", "u", "U", "L"})


def own_tokens(found: Iterable[Any]) -> list[Token]:
    """Tokens with the file and line at which the user wrote them; blank lines are left out.

    Args:
        found: Lexer tokens of pcpp, white space and expanded macros included. An expanded token has the line of the
            macro's use, and the file of the line's first token.
    """
    result: list[Token] = []
    space, file, fresh = "", "", True
    for token in found:
        text = token.value
        if fresh:
            file, fresh = token.source or "", False
        if token.type in _BLANK:
            fresh = "\n" in text and token.type == "CPP_WS"
            space = "\n" if fresh else space + (" " if "\n" in text or token.type != "CPP_WS" else text)
            continue
        if not text:
            continue
        kind = _KINDS.get(token.type, "mark")
        joined = _join(result[-1], text, kind) if result and not space else None
        if joined is not None:
            result[-1] = joined
        else:
            result.append(Token(text, kind, space, token.lineno, file))
        space = ""
    return result


def _join(last: Token, text: str, kind: str) -> Token | None:
    """The token that two adjacent spellings make together, or None: ``1`` and ``.f``, ``<<`` and ``<``."""
    if last.kind == "number":
        exponent = text in ("+", "-") and last.text[-1] in "eEpP"
        if kind in ("word", "number") or text == "." or exponent or (kind == "string" and text[0] == "'"):
            return last._replace(text=last.text + text)
        return None
    is_mark = last.kind == "mark" and ((last.text == "." and kind == "number") or last.text + text in _JOINED)
    is_string = last.kind == "word" and kind == "string" and last.text in _PREFIXES
    return last._replace(text=last.text + text, kind=kind) if is_mark or is_string else None

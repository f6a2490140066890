"""Restorable encoding of CUDA C++ tokens as C that pycparser reads.

Qualifiers become C specifiers, C++ casts become C casts, qualified names and template calls become plain identifiers
that a table turns back. A statement that C cannot spell (lambda, asm, reference, brace initialisation) becomes a call
of ``__evo_opaque__`` with its number, so that it gates transforms and not parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from genome.ir.print_tokens import Token, closing, closing_angle, mark, render, split_commas, tokenize, word
from genome.ir.types import CONSTANTS, FLOAT_TYPES, INTEGER_TYPES, VECTOR_TYPES
from genome.source.errors import SourceError
from genome.source.regions import replace_regions
from genome.source.space_names import spelled_out

_OWN = "__evo_"
OPAQUE = f"{_OWN}opaque__"
AUTO = f"{_OWN}auto"
_MANGLED = f"{_OWN}name_"

_ALIASES = """unsigned signed __half __nv_bfloat16 nv_bfloat16 __nv_bfloat162 int8_t uint8_t int16_t uint16_t int32_t
uint32_t int64_t uint64_t uint uchar ushort ulong ptrdiff_t ssize_t intptr_t uintptr_t"""
SCALAR_TYPES = frozenset(name for name in INTEGER_TYPES | FLOAT_TYPES if " " not in name) | set(_ALIASES.split())
"""Names of arithmetic types that may be called like a function."""

_KEYWORDS = frozenset({"char", "short", "int", "long", "float", "double", "unsigned", "signed", "const", "void",
                       "volatile", "struct", "static", "extern", "return", "else", "goto", "case", "sizeof", "do",
                       "if", "while", "for", "switch", "restrict", "typedef", "enum", "union", "break",
                       "continue"})  # fmt: skip
_DROPPED = frozenset({"inline", "__inline__", "__forceinline__", "__noinline__", "register", "typename", "__device__",
                      "__host__", "static", "mutable"})  # fmt: skip
_RENAMED = {"__shared__": "static", "constexpr": "const", "__restrict__": "restrict", "__restrict": "restrict",
            "auto": AUTO, "__volatile__": "volatile", "__align__": "_Alignas", "alignas": "_Alignas"}  # fmt: skip
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast"})
_ALTERNATIVE = {"and": "&&", "or": "||", "not": "!"}
_LIMITS = {
    ("float", "max"): "FLT_MAX", ("float", "lowest"): "-FLT_MAX", ("float", "min"): "FLT_MIN",
    ("float", "infinity"): "INFINITY", ("float", "epsilon"): "FLT_EPSILON", ("float", "quiet_NaN"): "NAN",
    ("double", "max"): "DBL_MAX", ("double", "lowest"): "-DBL_MAX", ("double", "infinity"): "INFINITY",
    ("double", "epsilon"): "DBL_EPSILON", ("int", "max"): "INT_MAX", ("int", "min"): "INT_MIN",
    ("int", "lowest"): "INT_MIN",
}  # fmt: skip


@dataclass(frozen=True)
class Encoded:
    """Text for pycparser, and what turns it back.

    Attributes:
        text: One function ``void f(void) {...}`` behind dummy typedefs, with ``#line`` directives.
        regions: Tokens of the statement behind ``__evo_opaque__(n)``.
        mangled: Identifier -> CUDA text.
        types: Every name that the text declares as a type.
    """

    text: str
    regions: tuple[tuple[Token, ...], ...]
    mangled: dict[str, str]
    types: frozenset[str]


@dataclass
class _Names:
    """Identifiers that stand for qualified names and template calls."""

    known: frozenset[str] = frozenset()
    table: dict[str, str] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)

    def mangle(self, text: str) -> str:
        for name, known in self.table.items():
            if known == text:
                return name
        name = f"{_MANGLED}{len(self.table)}__"
        self.table[name] = text
        return name


def encode_body(
    body: Sequence[Token],
    types: frozenset[str],
    unparsable: Callable[[str], bool] | None = None,
) -> Encoded:
    """Encodes a compound statement.

    Args:
        body: Tokens from ``{`` to ``}``, preprocessed and instantiated.
        types: Type names that the file declares.
        unparsable: Tests the encoded text of one statement; statements for which it is true become opaque. None tests
            none (the fast way, right for almost every kernel).

    Raises:
        SourceError: If the body uses names that the encoding itself uses.
    """
    for token in body:
        if token.text.startswith(_OWN):
            raise SourceError(token.file, token.line, f"names with {_OWN} are taken", f"rename '{token.text}'")
    names = _Names(types)
    plain = _expressions(spelled_out(body), names)
    known = types | VECTOR_TYPES | SCALAR_TYPES | names.types | {AUTO} | _paired_types(plain)
    known -= _KEYWORDS
    used = known & {token.text for token in plain} | {AUTO}  # reading all of them takes longer than most kernels
    prefix = "typedef int " + ", ".join(sorted(used)) + ";\n"
    test = None
    if unparsable is not None:
        probe = unparsable

        def test(tokens: Sequence[Token]) -> bool:
            return probe(f"{prefix}void f(void) {{\n{render(tokens)}\n}}")

    tokens, regions = replace_regions(plain, known, OPAQUE, test)
    restored = tuple(tuple(_restore(region, names.table)) for region in regions)
    return Encoded(prefix + "void f(void)" + _with_lines(tokens), restored, names.table, frozenset(known))


def decode_words(tokens: Sequence[Token], encoded: Encoded) -> list[Token]:
    """Encoded tokens as CUDA again: mangled names, qualifiers and opaque statements in their own words."""
    result: list[Token] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.text == OPAQUE and position + 2 < len(tokens):
            region = encoded.regions[int(tokens[position + 2].text)]
            result += [region[0]._replace(space=token.space), *region[1:]]
            position += 5  # the call and its semicolon: the region holds its own
            continue
        result.append(token)
        position += 1
    return _restore(result, encoded.mangled)


def _restore(tokens: Sequence[Token], mangled: dict[str, str]) -> list[Token]:
    back = {"static": "__shared__", AUTO: "auto", "restrict": "__restrict__", "_Alignas": "__align__"}
    result = []
    for token in tokens:
        if token.kind == "word" and token.text in mangled:
            parts = [part._replace(line=token.line, file=token.file) for part in tokenize(mangled[token.text])]
            result += [parts[0]._replace(space=token.space), *parts[1:]]
            continue
        text = back.get(token.text, token.text) if token.kind == "word" else token.text
        result.append(token if text == token.text else token._replace(text=text))
    return result


def _with_lines(tokens: Sequence[Token]) -> str:
    """Text with ``#line`` directives, so that errors carry the user's own lines."""
    parts: list[str] = []
    line, file = -1, ""
    for token in tokens:
        if token.line and (token.line != line or token.file != file):
            if token.file == file and 0 < token.line - line < 4:
                parts.append("\n" * (token.line - line))
            else:
                parts.append(f'\n#line {token.line} "{token.file}"\n')
            line, file = token.line, token.file
        if token.kind == "pragma":
            parts.append(f"\n{token.text}\n")
            line = -1
        else:
            parts.append(token.text + " ")
    return "".join(parts)


def _paired_types(tokens: Sequence[Token]) -> set[str]:
    """Words that stand in front of another word, or of a pointer declaration, can only be types."""
    found: set[str] = set()
    for position in range(len(tokens) - 1):
        here, after = tokens[position], tokens[position + 1]
        if here.kind == "word" and after.kind == "word" and here.text not in _KEYWORDS and after.text not in _KEYWORDS:
            found.add(here.text)
    return found


def _expressions(tokens: list[Token], names: _Names) -> list[Token]:
    """The token-level rewrites that need no knowledge of statements."""
    result: list[Token] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        text = token.text
        following = tokens[position + 1].text if position + 1 < len(tokens) else ""
        if token.kind == "word":
            position = _word(tokens, position, result, names)
            continue
        if text == "[" and following == "[" and (not result or result[-1].text in (";", "{", "}", ")")):
            position = closing(tokens, position) + 1
            continue
        if text == "{" and following == "}" and result and result[-1].text == "=":
            result += [token, Token("0", "number", "", token.line, token.file)]
        elif text != "::":
            result.append(token)
        position += 1
    return result


def _word(tokens: list[Token], position: int, result: list[Token], names: _Names) -> int:
    """Encodes what starts with a word, and returns the index behind it."""
    token = tokens[position]
    text = token.text
    following = tokens[position + 1].text if position + 1 < len(tokens) else ""
    if text in _DROPPED or (text == "constexpr" and result and result[-1].text == "if"):
        return position + 1
    if (
        text == "__attribute__"
        and following == "("
        and all(
            part.text not in ("aligned", "__aligned__") for part in tokens[position : closing(tokens, position + 1)]
        )
    ):
        return closing(tokens, position + 1) + 1
    if text in _RENAMED:
        result.append(token._replace(text=_RENAMED[text]))
        return position + 1
    if text in _ALTERNATIVE:
        result.append(token._replace(text=_ALTERNATIVE[text], kind="mark"))
        return position + 1
    if text in _CASTS and following == "<":
        end = closing_angle(tokens, position + 1)
        if end is not None and tokens[end + 1].text == "(":
            return _cast(tokens, (position + 2, end), end + 1, result, names)
    if text in SCALAR_TYPES and following == "(" and tokens[position + 2].text not in ("*", "&"):
        return _cast(tokens, (position, position + 1), position + 1, result, names)
    if text in names.known and following == "(" and _converts(tokens, position, result):
        return _cast(tokens, (position, position + 1), position + 1, result, names)
    if following == "::" or (following == "<" and closing_angle(tokens, position + 1) is not None):
        return _qualified(tokens, position, result, names)
    result.append(token)
    return position + 1


def _converts(tokens: Sequence[Token], position: int, result: Sequence[Token]) -> bool:
    """True for ``T(e)`` of one argument inside of an expression, which means what ``(T)(e)`` does."""
    inside = bool(result) and result[-1].kind == "mark" and result[-1].text not in (";", "{", "}", ")", ".", "->")
    groups = split_commas(tokens[position + 2 : closing(tokens, position + 1)])
    return inside and len(groups) == 1 and bool(groups[0]) and groups[0][0].text not in ("*", "&")


def _cast(tokens: list[Token], target: tuple[int, int], opened: int, result: list[Token], names: _Names) -> int:
    """``static_cast<T>(e)`` and ``T(e)`` as ``((T)(e))``."""
    end = closing(tokens, opened)
    like = tokens[target[0]]
    result += [mark("(", like)._replace(space=like.space), mark("(", like)]
    result += _expressions(tokens[target[0] : target[1]], names)
    inner = _expressions(tokens[opened + 1 : end], names) or [Token("0", "number", "", like.line, like.file)]
    result += [mark(")", like), mark("(", like), *inner, mark(")", like), mark(")", like)]
    return end + 1


def _qualified(tokens: list[Token], position: int, result: list[Token], names: _Names) -> int:
    """``std::max``, ``ns::f``, ``f<T>(...)``, ``Vec<T, 4> v``, ``std::numeric_limits<float>::max()``."""
    start = position
    while position < len(tokens) and tokens[position].kind == "word":
        position += 1
        if position < len(tokens) and tokens[position].text == "<":
            end = closing_angle(tokens, position)
            position = position if end is None else end + 1
        if position < len(tokens) and tokens[position].text == "::":
            position += 1
        else:
            break
    group = tokens[start:position]
    parts = [token.text for token in group]
    like = group[0]
    if "numeric_limits" in parts and position + 1 < len(tokens) and tokens[position].text == "(":
        constant = _LIMITS.get((" ".join(parts[parts.index("<") + 1 : parts.index(">")]), parts[-1]))
        if constant:
            result += [mark("(", like)._replace(space=like.space)]
            result += [mark("-", like)] if constant.startswith("-") else []
            result += [word(constant.lstrip("-"), like, ""), mark(")", like)]
            return position + 2
    if parts[:2] == ["std", "::"] and len(parts) == 3:
        result.append(like._replace(text=parts[2]))
        return position
    if len(parts) == 1:  # a comparison after all
        result.append(like)
        return position
    name = names.mangle(render([like._replace(space=""), *group[1:]]))
    if position < len(tokens) and tokens[position].kind == "word":
        names.types.add(name)
    result.append(like._replace(text=name))
    if [token.text for token in tokens[position : position + 2]] == ["{", "}"]:  # an object without arguments
        result += [mark("(", like), mark(")", like)]
        position += 2
    return position


def is_constant_name(name: str) -> bool:
    """True for literals that are spelled as names: ``true``, ``nullptr``, ``INFINITY``, ``FLT_MAX``."""
    return name in ("true", "false", "nullptr", "NULL") or name in CONSTANTS

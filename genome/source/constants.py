"""Integer constants of a file: ``constexpr int TILE = 16;`` and enumerators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pycparser import c_ast, c_parser

from genome.ir.expr import Const
from genome.ir.print_tokens import Token, closing, render, split_commas
from genome.source.folding import constant
from genome.source.nesting import MAX_DEPTH, depth
from genome.source.slice import Item

_INTEGER = {"int", "unsigned", "long", "short", "size_t", "bool", "uint32_t", "int32_t", "auto", "uint64_t", "int64_t"}


def file_constants(found: Sequence[Item]) -> dict[str, int]:
    """Name -> value of every integer constant whose value the text gives."""
    values: dict[str, int] = {}
    for item in found:
        texts = [token.text for token in item.tokens]
        if item.template is not None:
            continue
        if item.kind == "variable" and ("constexpr" in texts or "const" in texts) and _INTEGER & set(texts):
            if not {"__constant__", "__device__", "extern", "*", "["} & set(texts):
                _variables(item.tokens, values)
        elif item.kind == "type" and texts[0] == "enum":
            _enumerators(item.tokens, values)
    return values


def _variables(tokens: Sequence[Token], values: dict[str, int]) -> None:
    for group in split_commas(tokens[:-1]):
        texts = [token.text for token in group]
        equals = texts.index("=") if "=" in texts else texts.index("{") if "{" in texts else -1
        if equals > 0:
            expr = [token for token in group[equals + 1 :] if token.text != "}"]
            _store(group[equals - 1].text, expr, values)


def _enumerators(tokens: Sequence[Token], values: dict[str, int]) -> None:
    opened = next((i for i, token in enumerate(tokens) if token.text == "{"), -1)
    if opened < 0:
        return
    following = 0
    for group in split_commas(tokens[opened + 1 : closing(tokens, opened)]):
        if not group:
            continue
        if len(group) > 2:
            _store(group[0].text, group[2:], values)
        else:
            values[group[0].text] = following
        following = values.get(group[0].text, following) + 1


def _store(name: str, expr: Sequence[Token], values: dict[str, int]) -> None:
    value = evaluate(expr, values)
    if value is not None:
        values[name] = value


def evaluate(expr: Sequence[Token], values: Mapping[str, int]) -> int | None:
    """Value of an integer constant expression given as tokens, or None."""
    if len(expr) == 1 and expr[0].kind == "number":
        return Const(expr[0].text).value
    if depth(expr) > MAX_DEPTH:
        return None
    try:
        tree = c_parser.CParser().parse(f"int v = {render(expr)};")
    except c_parser.ParseError:
        return None
    declared = tree.ext[0]
    return constant(declared.init, values) if isinstance(declared, c_ast.Decl) else None

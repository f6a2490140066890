"""Instantiation of a kernel template by token substitution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from genome.ir.print_tokens import Token, render, split_commas, tokenize
from genome.source.errors import SourceError
from genome.source.slice import Item, items, without_template


def parameter_names(item: Item) -> tuple[tuple[str, str | None], ...]:
    """(name, default text or None) of each template parameter; empty for an ordinary function."""
    if item.template is None:
        return ()
    found: list[tuple[str, str | None]] = []
    for group in split_commas(item.template):
        texts = [token.text for token in group]
        equals = texts.index("=") if "=" in texts else len(texts)
        words = [token.text for token in group[:equals] if token.kind == "word"]
        default = render(group[equals + 1 :]).strip() if equals < len(texts) else None
        if words and words[-1] not in ("typename", "class", "int", "bool", "unsigned"):
            found.append((words[-1], default))
    return tuple(found)


def instantiate(item: Item, arguments: Sequence[str], path: str) -> Item:
    """The item with its template parameters replaced by the campaign's arguments (then by their defaults).

    Raises:
        SourceError: If an argument is missing or there is one too many.
    """
    wanted = parameter_names(item)
    if not wanted:
        if arguments:
            raise SourceError(path, item.line, f"'{item.names[0]}' is not a template", "remove template_args")
        return item
    names = ", ".join(name for name, _ in wanted)
    if len(arguments) > len(wanted):
        raise SourceError(path, item.line, f"template '{item.names[0]}' takes {len(wanted)} arguments ({names}), "
                          f"not {len(arguments)}", "shorten template_args")  # fmt: skip
    values: dict[str, str] = {}
    for index, (name, default) in enumerate(wanted):
        value = arguments[index] if index < len(arguments) else default
        if value is None:
            raise SourceError(path, item.line, f"template '{item.names[0]}' needs an argument for '{name}'",
                              f"give template_args in the order {names}")  # fmt: skip
        values[name] = value
    instance = items(substitute(without_template(item.tokens), values))[0]
    return replace(instance, namespaces=item.namespaces)


def substitute(tokens: Sequence[Token], values: dict[str, str]) -> tuple[Token, ...]:
    """Replaces words by the tokens of their values, in pragmas too; members of the same name stay."""
    spelled = {name: tuple(tokenize(value)) for name, value in values.items()}
    result: list[Token] = []
    for token in tokens:
        if token.kind == "pragma":
            token = token._replace(text=re.sub(r"\w+", lambda word: values.get(word[0], word[0]), token.text))
        value = spelled.get(token.text) if token.kind == "word" else None
        if value is None or (result and result[-1].text in (".", "->", "::")):
            result.append(token)
            continue
        result += [part._replace(line=token.line, file=token.file, space=part.space if index else token.space)
                   for index, part in enumerate(value)]  # fmt: skip
    return tuple(result)

"""The signature of a kernel, read from tokens: it is known even when the body cannot be parsed."""

from __future__ import annotations

from collections.abc import Sequence

from genome.ir.kernel import Param
from genome.ir.print_tokens import Token, closing, closing_angle, render, split_commas, unbalanced
from genome.ir.types import canonical
from genome.source.array_params import flattened
from genome.source.errors import SourceError
from genome.source.preprocess import preprocess
from genome.source.slice import Item, find_entry, items
from genome.source.templates import instantiate

_QUALIFIERS = {"const", "volatile", "restrict", "__restrict__", "__restrict", "register", "struct", "__grid_constant__"}

_TYPE_WORDS = frozenset({"int", "float", "double", "char", "short", "long", "unsigned", "signed", "bool"})


def signature(
    source: str,
    entry: str,
    path: str = "kernel.cu",
    *,
    template_args: Sequence[str] = (),
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> tuple[Param, ...]:
    """Parameters of a kernel in order.

    Raises:
        SourceError: If the kernel is not there, or a parameter is none that a launch can pass.
    """
    found = items(preprocess(source, path, defines, include_dirs).tokens)
    return parameters(flattened(instantiate(find_entry(found, entry, path), template_args, path), path), path)


def entries(
    source: str,
    path: str = "kernel.cu",
    *,
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> tuple[str, ...]:
    """Names of the ``__global__`` functions that have a body, in the order of the file.

    Raises:
        SourceError: If the file cannot be preprocessed, or its kernel is cut off.
    """
    tokens = preprocess(source, path, defines, include_dirs).tokens
    kernels = (item for item in items(tokens) if item.kind == "kernel" and item.body >= 0)
    names = tuple(dict.fromkeys(item.names[0] for item in kernels))
    lone = None if names else unbalanced(tokens)
    if lone is not None and any(token.text == "__global__" for token in tokens):
        raise SourceError(lone.file or path, lone.line, f"'{lone.text}' has no partner", "close the bracket")
    return names


def parameters(item: Item, path: str) -> tuple[Param, ...]:
    """Parameters of a function item."""
    opened, closed = item.parameters
    groups = split_commas(item.tokens[opened + 1 : closed])
    if len(groups) == 1 and [token.text for token in groups[0]] == ["void"]:
        return ()
    return tuple(_parameter(group, path, number) for number, group in enumerate(groups))


def launch_bounds(item: Item) -> str:
    """Arguments of ``__launch_bounds__``, or ""."""
    for position, token in enumerate(item.tokens[: item.parameters[0]]):
        if token.text == "__launch_bounds__":
            end = closing(item.tokens, position + 1)
            return render(item.tokens[position + 2 : end]).strip()
    return ""


def _parameter(group: list[Token], path: str, number: int) -> Param:
    line = group[0].line if group else 0
    texts = [token.text for token in group]
    if "=" in texts:
        group = group[: texts.index("=")]
    group = _folded(group)
    texts = [token.text for token in group]
    if {"&", "&&", "(", "..."} & set(texts) or not texts:
        raise SourceError(path, line, f"parameter '{render(group).strip()}' cannot be passed by a launch",
                          "use a pointer or a value")  # fmt: skip
    brackets = texts.index("[") if "[" in texts else len(texts)
    words = [position for position in range(brackets) if texts[position] not in ("*", *_QUALIFIERS)]
    named = len(words) > 1 and words[-1] == brackets - 1 and texts[words[-1]] not in _TYPE_WORDS
    name_at = words[-1] if named else brackets
    stars = texts[:brackets].count("*") + (1 if brackets < len(texts) else 0)
    kept = [token for token in group[:name_at] if token.text != "*" and token.text not in _QUALIFIERS]
    first_star = texts.index("*") if "*" in texts else name_at
    volatile = "volatile " if "volatile" in texts[:first_star] else ""
    base = render([token._replace(space=" ") for token in kept]).strip()
    base = volatile + (base if "<" in base else canonical(base))
    return Param(
        texts[name_at] if named else f"unnamed_{number}",
        base + "*" * (stars - 1),
        pointer=stars > 0,
        const="const" in texts[:first_star],
        restrict=bool({"__restrict__", "__restrict", "restrict"} & set(texts)),
    )


def _folded(group: Sequence[Token]) -> list[Token]:
    """The tokens with each qualified name and template id as one word: ``ns::Vec<float, 4>``."""
    result: list[Token] = []
    position = 0
    while position < len(group):
        end = position
        while group[end].kind == "word" and end + 1 < len(group):
            if group[end + 1].text == "<":
                end = closing_angle(group, end + 1) or end
            if end + 2 < len(group) and group[end + 1].text == "::":
                end += 2
            else:
                break
        text = render([group[position]._replace(space=""), *group[position + 1 : end + 1]])
        result.append(group[position]._replace(text=text.replace(" :: ", "::")))
        position = end + 1
    return result

"""The signature of a kernel, read from tokens: it is known even when the body cannot be parsed."""

from __future__ import annotations

from collections.abc import Sequence

from genome.ir.kernel import Param
from genome.ir.print_tokens import Token, closing, render, split_commas
from genome.ir.types import canonical
from genome.source.array_params import flattened
from genome.source.errors import SourceError
from genome.source.preprocess import preprocess
from genome.source.slice import Item, find_entry, items
from genome.source.templates import instantiate

_QUALIFIERS = {"const", "volatile", "restrict", "__restrict__", "__restrict", "register", "struct", "__grid_constant__"}


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
        SourceError: If the file cannot be preprocessed.
    """
    found = items(preprocess(source, path, defines, include_dirs).tokens)
    return tuple(dict.fromkeys(item.names[0] for item in found if item.kind == "kernel" and item.body >= 0))


def parameters(item: Item, path: str) -> tuple[Param, ...]:
    """Parameters of a function item."""
    opened, closed = item.parameters
    groups = split_commas(item.tokens[opened + 1 : closed])
    if len(groups) == 1 and [token.text for token in groups[0]] == ["void"]:
        return ()
    return tuple(_parameter(group, path) for group in groups)


def launch_bounds(item: Item) -> str:
    """Arguments of ``__launch_bounds__``, or ""."""
    for position, token in enumerate(item.tokens[: item.parameters[0]]):
        if token.text == "__launch_bounds__":
            end = closing(item.tokens, position + 1)
            return render(item.tokens[position + 2 : end]).strip()
    return ""


def _parameter(group: list[Token], path: str) -> Param:
    line = group[0].line if group else 0
    texts = [token.text for token in group]
    if "=" in texts:
        group, texts = group[: texts.index("=")], texts[: texts.index("=")]
    brackets = texts.index("[") if "[" in texts else len(texts)
    words = [position for position in range(brackets) if group[position].kind == "word"]
    name_at = words[-1] if words else -1
    if "&" in texts or "&&" in texts or "(" in texts or "..." in texts or len(words) < 2:
        raise SourceError(path, line, f"parameter '{render(group).strip()}' cannot be passed by a launch",
                          "use a pointer or a value")  # fmt: skip
    stars = texts[:brackets].count("*") + (1 if brackets < len(texts) else 0)
    kept = [token for token in group[:name_at] if token.text != "*" and token.text not in _QUALIFIERS]
    first_star = texts.index("*") if "*" in texts else name_at
    volatile = "volatile " if "volatile" in texts[:first_star] else ""
    base = volatile + canonical(render([t._replace(space=" ") for t in kept]).strip().replace(" :: ", "::"))
    return Param(
        group[name_at].text,
        base + "*" * (stars - 1),
        pointer=stars > 0,
        const="const" in texts[:first_star],
        restrict=bool({"__restrict__", "__restrict", "restrict"} & set(texts)),
    )

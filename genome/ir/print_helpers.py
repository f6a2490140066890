"""The prelude of a kernel as OpenCL C: structs, constants and helper functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, product

from genome.ir.print_errors import PrintError
from genome.ir.print_opencl import translate
from genome.ir.print_tokens import Token, closing, render, split_commas, tokenize
from genome.ir.types import FLOAT_TYPES, INTEGER_TYPES, canonical
from genome.ir.variables import declared_variables

_ATTRIBUTES = frozenset({"__device__", "__host__", "__forceinline__", "__noinline__", "inline", "__inline__", "static",
                         "extern", "constexpr", "const"})  # fmt: skip
_SPACES = ("__global", "__local", "")
_MAX_POINTERS = 2


@lru_cache(maxsize=64)
def translate_prelude(text: str, passed: frozenset[str] = frozenset()) -> str:
    """Types, constants and helper functions in front of a kernel, as OpenCL C.

    Pointer parameters of helpers have no address space in CUDA; each such helper is printed once for every space
    (``overloadable``, a Clang extension that every OpenCL compiler built on Clang has).

    Args:
        text: The prelude.
        passed: Variables that the kernel takes as parameters (``genome.ir.print_variables``): they are not declared.

    Raises:
        PrintError: If OpenCL C cannot say it (templates, references).
    """
    types = prelude_types(text)
    parts: list[str] = []
    for item in _split([token for token in tokenize(text) if token.kind != "directive"]):
        if not any(variable.name in passed for variable in declared_variables(item)):
            parts += _item(item, types)
    return "\n".join(part for part in parts if part)


@lru_cache(maxsize=64)
def prelude_types(text: str) -> frozenset[str]:
    """Names of the structs and aliases that the prelude declares."""
    tokens = tokenize(text)
    return frozenset(
        after.text
        for token, after in pairwise(tokens)
        if token.text in ("struct", "union", "using", "class") and after.kind == "word"
    )


@lru_cache(maxsize=64)
def prelude_functions(text: str) -> frozenset[str]:
    """Names of the helper functions that the prelude defines."""
    found = _split([token for token in tokenize(text) if token.kind != "directive"])
    return frozenset(_name(item) for item in found if any(token.text == "{" for token in item))


@lru_cache(maxsize=64)
def helper_signatures(text: str) -> Mapping[str, tuple[str, ...]]:
    """Helper function of the prelude -> canonical types of its result and of its parameters, empty for those that are
    no numbers; without functions that stand there twice.
    """
    found: dict[str, tuple[str, ...]] = {}
    doubtful: set[str] = set()
    for item in _split([token for token in tokenize(text) if token.kind != "directive"]):
        texts = [token.text for token in item]
        if "{" not in texts or "(" not in texts or {"template", "operator", "struct"} & set(texts[: texts.index("(")]):
            continue
        opened = _parameters_at(item)
        groups = split_commas(item[opened + 1 : closing(item, opened)])
        signature = tuple(_number(group[:-1]) for group in ([*item[:opened]], *groups) if group)
        if found.setdefault(texts[opened - 1], signature) != signature:
            doubtful.add(texts[opened - 1])
    return {name: signature for name, signature in found.items() if name not in doubtful}


def _number(tokens: Sequence[Token]) -> str:
    """The type of numbers that words in front of a name say; "" for others."""
    words = [token.text for token in tokens if token.text not in _ATTRIBUTES]
    ctype = canonical(" ".join(words))
    return ctype if ctype in INTEGER_TYPES | FLOAT_TYPES else ""


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Declarations and function definitions."""
    items: list[list[Token]] = []
    start = position = 0
    parens = False
    while position < len(tokens):
        text = tokens[position].text
        if text in ("(", "["):
            parens = parens or text == "("
            position = closing(tokens, position)
        elif text == "{":
            position = closing(tokens, position)
            equals = any(token.text == "=" for token in tokens[start:position])
            if (parens and not equals) or (position + 1 < len(tokens) and tokens[position + 1].text == "}"):
                items.append(list(tokens[start : position + 1]))
                start, parens = position + 1, False
        elif text == ";":
            items.append(list(tokens[start : position + 1]))
            start, parens = position + 1, False
        position += 1
    if start < len(tokens):
        items.append(list(tokens[start:]))
    return [item for item in items if any(token.text != ";" for token in item)]


def _item(item: list[Token], types: frozenset[str]) -> list[str]:
    texts = [token.text for token in item]
    if "operator" in texts:
        return []  # OpenCL C has the operators of its vector types
    if texts[0] == "template":
        raise PrintError(f"the template '{_name(item)}' has no counterpart in OpenCL C")
    head = texts[: texts.index("{")] if "{" in texts else texts
    if texts[0] in ("struct", "union") and "{" in texts and len(head) == 2:
        return [f"typedef {texts[0]} {texts[1]} {texts[1]};", _render(item, types)]
    if texts[0] == "using":
        if len(texts) > 3 and texts[2] == "=":
            return [f"typedef {render(translate(item[3:-1], {}, types=types)).strip()} {texts[1]};"]
        return []
    opened = next((i for i, text in enumerate(texts) if text == "("), -1)
    if opened > 0 and "{" in texts and "=" not in texts[:opened] and texts[opened - 1] != "__attribute__":
        return _function(item, types)
    return [_constant(item, types)]


def _constant(item: list[Token], types: frozenset[str]) -> str:
    """A file-level variable: OpenCL C wants the constant address space."""
    if any(token.text in ("typedef", "enum", "struct") for token in item[:2]) or item[-1].text != ";":
        return _render(item, types)
    constant = any(token.text in ("const", "constexpr", "__constant__") for token in item)
    if any(token.text == "(" for token in item) and not any(token.text == "=" for token in item):
        return ""  # a prototype: helpers stand in the order of the file
    if not constant:
        raise PrintError("a __device__ variable has no counterpart in OpenCL C 1.2")
    name = _enumerator(item)
    if name:
        return name
    kept = [token for token in item if token.text not in ("const", "constexpr", "static", "__device__", "__constant__")]
    return "__constant " + render(translate(kept, {}, "__constant", types)).strip()


def _enumerator(item: list[Token]) -> str:
    """``constexpr int N = 16;`` as an enumerator: a constant variable may not be an array extent in OpenCL C."""
    texts = [token.text for token in item]
    if "=" not in texts or "[" in texts or "float" in texts or "double" in texts or "__constant__" in texts:
        return ""
    if not {"int", "unsigned", "size_t", "long", "short"} & set(texts) or "," in texts:
        return ""
    equals = texts.index("=")
    return f"enum {{ {texts[equals - 1]} = {render(translate(item[equals + 1 : -1], {})).strip()} }};"


def _function(item: list[Token], types: frozenset[str]) -> list[str]:
    opened = _parameters_at(item)
    closed = closing(item, opened)
    groups = split_commas(item[opened + 1 : closed])
    if any(token.text in ("&", "&&") for group in groups for token in group):
        raise PrintError(f"the reference parameter of '{_name(item)}' has no counterpart in OpenCL C")
    pointers = [position for position, group in enumerate(groups)
                if any(token.text in ("*", "[") for token in group)]  # fmt: skip
    if not pointers:
        return [_render(item, types)]
    if len(pointers) > _MAX_POINTERS:
        choices = [(space,) * len(pointers) for space in _SPACES]
    else:
        choices = list(product(_SPACES, repeat=len(pointers)))
    return [
        _overload(item, opened, closed, groups, dict(zip(pointers, choice, strict=True)), types) for choice in choices
    ]


def _overload(
    item: list[Token],
    opened: int,
    closed: int,
    groups: list[list[Token]],
    chosen: dict[int, str],
    types: frozenset[str],
) -> str:
    spaces: dict[str, str] = {}
    params: list[str] = []
    for position, group in enumerate(groups):
        space = chosen.get(position, "")
        name = [token.text for token in group if token.kind == "word"][-1]
        if position in chosen:
            spaces[name] = space
        translated = render(translate(group, {}, space, types)).strip()
        params.append(translated if translated.startswith(space) or space in translated else f"{space} {translated}")
    default = next(iter(chosen.values()))
    head = render(translate(item[:opened], {}, default, types)).strip()
    body = render(translate(item[closed + 1 :], spaces, default, types))
    return f"__attribute__((overloadable)) {head}({', '.join(params)}){body}"


def _parameters_at(item: Sequence[Token]) -> int:
    position = 0
    while item[position].text != "(" or item[position - 1].text in ("__attribute__", "__align__"):
        position += 1
    return position


def _name(item: Sequence[Token]) -> str:
    return next((item[i - 1].text for i in range(1, len(item)) if item[i].text == "("), item[-1].text)


def _render(item: list[Token], types: frozenset[str]) -> str:
    return render(translate(item, {}, types=types)).strip()

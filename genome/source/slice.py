"""Top-level items of a preprocessed file: functions, types and variables with the names that they declare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from genome.ir.print_tokens import Token, closing, closing_angle, render
from genome.source.errors import SourceError

_QUALIFIERS = {
    "__global__", "__device__", "__host__", "__forceinline__", "__noinline__", "__constant__", "__managed__", "static",
    "inline", "extern", "const", "constexpr", "void", "unsigned", "signed", "int", "float", "double", "char", "short",
    "long", "bool", "auto", "volatile", "struct", "class", "union", "enum", "typedef", "using", "typename", "template",
    "__restrict__", "register", "operator", "__align__", "alignas", "__launch_bounds__", "__inline__", "__inline",
}  # fmt: skip

_ATTRIBUTES = {"__align__", "alignas", "__attribute__", "__declspec", "decltype"}


@dataclass(frozen=True)
class Item:
    """One declaration at file (or namespace) level.

    Attributes:
        tokens: Its tokens, the closing brace or semicolon included.
        kind: ``kernel``, ``function``, ``type``, ``variable``, ``using`` (a namespace opened) or ``instance``
            (a template instantiated for the linker).
        names: Names that it declares.
        template: Tokens of the ``template <...>`` list without the angle brackets, or None.
        body: Index of the opening brace of a function's body in ``tokens``, or -1.
        parameters: Indices of the parentheses around the parameters, or (-1, -1).
        namespaces: Names of the namespaces around it, outermost first; those without a name left out.
    """

    tokens: tuple[Token, ...]
    kind: str
    names: tuple[str, ...]
    template: tuple[Token, ...] | None = None
    body: int = -1
    parameters: tuple[int, int] = (-1, -1)
    namespaces: tuple[str, ...] = ()

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word it uses."""
        return frozenset(token.text for token in self.tokens if token.kind == "word")

    @cached_property
    def marks(self) -> frozenset[str]:
        """Every sign it uses."""
        return frozenset(token.text for token in self.tokens if token.kind == "mark")

    @property
    def line(self) -> int:
        """Line of its first token."""
        return self.tokens[0].line


def items(tokens: Sequence[Token]) -> list[Item]:
    """Splits a file into its top-level items; ``extern "C"`` blocks and namespaces are transparent."""
    result: list[Item] = []
    around: list[tuple[str, ...]] = []
    position = 0
    while position < len(tokens):
        text = tokens[position].text
        if text in (";", "}"):
            if text == "}" and around:
                around.pop()
            position += 1
            continue
        opened = _transparent_block(tokens, position)
        if opened:
            if tokens[opened - 1].text == "{":
                around.append(_namespace(tokens[position:opened]))
            position = opened
            continue
        end = _item_end(tokens, position)
        item = _classify(tuple(tokens[position:end]))
        result.append(replace(item, namespaces=sum(around, ())))
        position = end
    return result


def find_entry(found: Sequence[Item], entry: str, path: str) -> Item:
    """The ``__global__`` function with a body of that name.

    Raises:
        SourceError: If there is none; the message names those that exist.
    """
    kernels = [item for item in found if item.kind == "kernel" and item.body >= 0]
    for item in kernels:
        if item.names[0] == entry:
            return item
    names = ", ".join(dict.fromkeys(item.names[0] for item in kernels))
    hint = f"its kernels are: {names}" if names else "it holds no __global__ function"
    raise SourceError(path, 0, f"kernel '{entry}' not found", hint)


def type_names(found: Sequence[Item]) -> frozenset[str]:
    """Names of the types that the items declare (their enumerators left out)."""
    names: set[str] = set()
    for item in found:
        if item.kind == "type":
            start = len(item.tokens) - len(without_template(item.tokens))
            names.update(_type_item_names(item.tokens, start, enumerators=False))
    return frozenset(names)


def without_template(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens behind ``template <...>``."""
    start = 0
    while start + 1 < len(tokens) and tokens[start].text == "template" and tokens[start + 1].text == "<":
        start = (closing_angle(tokens, start + 1) or _angle_end(tokens, start + 1)) + 1
    return tokens[start:]


def item_text(item: Item) -> str:
    """Its text as preprocessed, without the blank lines that the preprocessor left."""
    lines = render(item.tokens).strip("\n").splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _transparent_block(tokens: Sequence[Token], start: int) -> int:
    """Index behind the opening brace of ``extern "C" {`` or ``namespace x {``, else 0."""
    text = tokens[start].text
    if text == "extern" and start + 2 < len(tokens) and tokens[start + 1].kind == "string":
        return start + 3 if tokens[start + 2].text == "{" else start + 2
    if text == "namespace" or (text == "inline" and start + 1 < len(tokens) and tokens[start + 1].text == "namespace"):
        position = start
        while position < len(tokens) and tokens[position].text not in ("{", ";", "="):
            position += 1
        if position < len(tokens) and tokens[position].text == "{":
            return position + 1
    return 0


def _namespace(head: Sequence[Token]) -> tuple[str, ...]:
    """Names that ``namespace a::b {`` opens; none for ``extern "C" {``, ``namespace {`` and inline ones."""
    if head[0].text != "namespace":
        return ()
    return tuple(token.text for token in head[1:] if token.kind == "word")


def _item_end(tokens: Sequence[Token], start: int) -> int:
    """Index behind the item: behind its semicolon, or behind a function body (braces behind parameters)."""
    position, seen_parens, assigned = start, False, False
    while position < len(tokens):
        token = tokens[position]
        if token.text == ";":
            return position + 1
        if token.text == "=":
            assigned = True
        if token.text == "template" and position + 1 < len(tokens) and tokens[position + 1].text == "<":
            position = (closing_angle(tokens, position + 1) or _angle_end(tokens, position + 1)) + 1
            continue
        if token.text in ("(", "["):
            attribute = position > start and tokens[position - 1].text in _ATTRIBUTES
            seen_parens = seen_parens or (token.text == "(" and not attribute)
            position = closing(tokens, position)
        elif token.text == "{":
            position = closing(tokens, position)
            if seen_parens and not assigned:
                return position + 1
        position += 1
    return len(tokens)


def _angle_end(tokens: Sequence[Token], start: int) -> int:
    """Index of the ``>`` that closes a template parameter list with defaults or packs."""
    depth = 0
    for position in range(start, len(tokens)):
        text = tokens[position].text
        depth += (text == "<") - (text == ">") - 2 * (text == ">>")
        if depth <= 0:
            return position
    return len(tokens) - 1


def _classify(tokens: tuple[Token, ...]) -> Item:
    template: tuple[Token, ...] | None = None
    start = 0
    while start + 1 < len(tokens) and tokens[start].text == "template" and tokens[start + 1].text == "<":
        end = closing_angle(tokens, start + 1) or _angle_end(tokens, start + 1)
        template = tokens[start + 2 : end] if template is None else template
        start = end + 1
    texts = [token.text for token in tokens]
    if texts[start : start + 1] == ["template"]:
        return Item(tokens, "instance", ())
    head = set(texts[start : start + 3])
    if texts[start : start + 1] == ["using"] and "=" not in texts:
        names = () if texts[start + 1 : start + 2] == ["namespace"] else (texts[-2],)
        return Item(tokens, "type" if names else "using", names)
    if head & {"struct", "class", "union", "enum", "typedef", "using"} and "__global__" not in head:
        named = _type_item_names(tokens, start)
        if named:
            return Item(tokens, "type", named, template)
    parens = None if head & {"static_assert"} else _parameter_list(tokens, start)
    if parens is not None:
        name, opened, closed = parens
        body = next((i for i in range(closed + 1, len(tokens)) if texts[i] in ("{", ";", "=")), -1)
        body = body if body >= 0 and texts[body] == "{" else -1
        if body >= 0 or "__global__" in texts[start:opened] or "__device__" in texts[start:opened]:
            kind = "kernel" if "__global__" in texts[start:opened] else "function"
            return Item(tokens, kind, (name,), template, body, (opened, closed))
    return Item(tokens, "variable", _variable_names(tokens[start:]), template)


def _parameter_list(tokens: Sequence[Token], start: int) -> tuple[str, int, int] | None:
    """(function name, index of ``(``, index of ``)``) of a function declarator, or None."""
    position = start
    while position < len(tokens):
        text = tokens[position].text
        if text in ("=", ";", "{", "["):
            return None
        if text == "operator":
            opened = next((i for i in range(position + 2, len(tokens)) if tokens[i].text == "("), len(tokens))
            return "operator", opened, closing(tokens, opened)
        if text == "<":
            position = (closing_angle(tokens, position) or position) + 1
            continue
        if text == "(":
            before = tokens[position - 1]
            end = closing(tokens, position)
            if before.text == ">":
                before = _template_name(tokens, start, position - 1) or before
            if before.kind == "word" and before.text not in _QUALIFIERS and before.text != "__attribute__":
                return before.text, position, end
            position = end
        position += 1
    return None


def _template_name(tokens: Sequence[Token], start: int, end: int) -> Token | None:
    """The word in front of the template list that ends there: ``f`` of the specialisation ``f<float>(...)``."""
    for position in range(start, end):
        if tokens[position].text == "<" and closing_angle(tokens, position) == end:
            return tokens[position - 1]
    return None


def _type_item_names(tokens: Sequence[Token], start: int, enumerators: bool = True) -> tuple[str, ...]:
    found: list[str] = []
    for position in range(start, len(tokens)):
        token = tokens[position]
        if token.text in ("struct", "class", "union", "enum", "using") and position + 1 < len(tokens):
            after = position + 1
            while tokens[after].text in ("class", "__align__", "alignas") and after + 1 < len(tokens):
                after = closing(tokens, after + 1) + 1 if tokens[after + 1].text == "(" else after + 1
            if after < len(tokens) and tokens[after].kind == "word":
                found.append(tokens[after].text)
        elif token.text == "{":
            if enumerators and "enum" in (t.text for t in tokens[start:position]):
                end = closing(tokens, position)
                found += [tokens[i].text for i in range(position + 1, end)
                          if tokens[i].kind == "word" and tokens[i - 1].text in ("{", ",")]  # fmt: skip
            break
        elif token.text in (";", "=", "("):
            break
    if tokens[start].text == "typedef":
        found += _typedef_names(tokens[start + 1 :])
    elif tokens[-1].text == ";" and tokens[-2].kind == "word" and tokens[-3].text == "}":
        found.append(tokens[-2].text)
    return tuple(dict.fromkeys(name for name in found if name))


def _typedef_names(tokens: Sequence[Token]) -> list[str]:
    """Names in front of ``;``, ``,`` or ``[``, and that of a pointer to a function: ``typedef int (*name)(int);``."""
    found: list[str] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        following = tokens[position + 1].text if position + 1 < len(tokens) else ""
        if token.text == "<":
            position = closing_angle(tokens, position) or position
        elif token.text == "(":
            end = closing(tokens, position)
            if not found and tokens[end - 1].kind == "word":
                found.append(tokens[end - 1].text)
            position = end
        elif token.text in ("{", "["):
            position = closing(tokens, position)
        elif token.kind == "word" and following in (";", ",", "["):
            found.append(token.text)
        position += 1
    return found


def _variable_names(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Names in front of ``=``, ``[``, ``;``, ``,`` or ``{`` outside of brackets."""
    found: list[str] = []
    position = 0
    while position + 1 < len(tokens):
        token, following = tokens[position], tokens[position + 1].text
        if token.text in ("(", "[", "{"):
            position = closing(tokens, position)
        elif token.kind == "word" and following in ("=", "[", ";", ",", "{", "(") and token.text not in _QUALIFIERS:
            found.append(token.text)
        position += 1
    return tuple(dict.fromkeys(found))

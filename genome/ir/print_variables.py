"""Variables that a host fills as OpenCL C: it has no globals without an initialiser.

They become parameters of the kernel, and of every helper on the way to where they are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from genome.ir.print_errors import PrintError
from genome.ir.print_names import opencl_parameter_type, opencl_type
from genome.ir.print_tokens import Token, closing, mark, render, tokenize, word
from genome.ir.types import VECTOR_TYPES
from genome.ir.variables import Variable


def as_parameters(text: str, entry: str, variables: Sequence[Variable]) -> str:
    """OpenCL C text with the variables as further parameters of the kernel, which hands them to helpers that use them.

    Args:
        text: The complete source, without their declarations.
        entry: The kernel; it takes all of them, behind its own parameters, in this order.
        variables: What the campaign gives.

    Raises:
        PrintError: If OpenCL lays out one of them in another way.
    """
    if not variables:
        return text
    tokens = tokenize(text)
    functions = list(_functions(tokens))
    needed = _needed(tokens, functions, [variable.name for variable in variables]) | {
        entry: tuple(variable.name for variable in variables)
    }
    known = {variable.name: variable for variable in variables}
    added: dict[int, list[Token]] = {}
    for function in functions:
        texts = [_parameter(known[name], function.name == entry) for name in needed[function.name]]
        added[function.closed] = _further(tokens, function.opened, function.closed, texts)
        for position in range(function.body, function.end):
            called = needed.get(tokens[position].text, ())
            if called and tokens[position + 1].text == "(" and tokens[position].kind == "word":
                end = closing(tokens, position + 1)
                added[end] = _further(tokens, position + 1, end, called)
        if function.name == entry:
            added[function.body + 1] = [word(_value(known[name]), tokens[function.body])
                                        for name in needed[entry] if _is_wide_value(known[name])]  # fmt: skip
    return render(part for position, token in enumerate(tokens) for part in (*added.get(position, ()), token))


@dataclass(frozen=True)
class _Function:
    """Positions of a function definition: its parentheses, the braces of its body."""

    name: str
    opened: int
    closed: int
    body: int
    end: int


def _functions(tokens: Sequence[Token]) -> Iterator[_Function]:
    position = 0
    while position < len(tokens):
        if tokens[position].text == "(" and tokens[position].kind == "mark":
            closed = closing(tokens, position)
            named = position > 0 and tokens[position - 1].kind == "word"
            if named and closed + 1 < len(tokens) and tokens[closed + 1].text == "{":
                end = closing(tokens, closed + 1)
                yield _Function(tokens[position - 1].text, position, closed, closed + 1, end)
                closed = end
            position = closed
        elif tokens[position].text in ("{", "["):
            position = closing(tokens, position)
        position += 1


def _needed(
    tokens: Sequence[Token], functions: Sequence[_Function], names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """For each function the variables that it uses, or that a function which it calls needs."""
    used: dict[str, set[str]] = {}
    for function in functions:
        own = {token.text for token in tokens[function.opened : function.closed]}
        words = {token.text for token in tokens[function.body : function.end] if token.kind == "word"}
        used.setdefault(function.name, set()).update(words - own)
    while True:
        before = {name: len(words) for name, words in used.items()}
        for words in used.values():
            for called in words & used.keys():
                words |= used[called] & set(names)
        if before == {name: len(words) for name, words in used.items()}:
            return {function: tuple(name for name in names if name in words) for function, words in used.items()}


def _further(tokens: Sequence[Token], opened: int, closed: int, texts: Sequence[str]) -> list[Token]:
    """``, a, b`` in front of a closing parenthesis; without the first comma where nothing stands before it."""
    empty = all(token.text == "void" for token in tokens[opened + 1 : closed])
    like = tokens[closed]
    result: list[Token] = []
    for number, text in enumerate(texts):
        result += [] if empty and not number else [mark(",", like)]
        result.append(word(text, like, "" if empty and not number else " "))
    return result


def _is_wide_value(variable: Variable) -> bool:
    """True for a single value of several elements, which a launch passes as an array."""
    return not variable.dims and variable.ctype in VECTOR_TYPES


def _value(variable: Variable) -> str:
    return f"const {opencl_type(variable.ctype)} {variable.name} = *{variable.name}_at;"


def _parameter(variable: Variable, of_kernel: bool) -> str:
    if variable.ctype[-1:] == "3" and variable.ctype in VECTOR_TYPES:
        raise PrintError(f"'{variable.name}': {variable.ctype} has 3 elements in CUDA's memory and 4 in OpenCL's")
    space = "__constant" if variable.constant else "__global const"
    ctype = opencl_type(variable.ctype)
    if variable.dims:
        rows = "".join(f"[{extent}]" for extent in variable.dims[1:])
        return f"{space} {ctype} (*{variable.name}){rows}" if rows else f"{space} {ctype}* {variable.name}"
    if of_kernel and _is_wide_value(variable):
        return f"{space} {ctype}* {variable.name}_at"
    return f"const {opencl_parameter_type(variable.ctype) if of_kernel else ctype} {variable.name}"

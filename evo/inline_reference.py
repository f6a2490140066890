"""A reference that was given as a Python function, as the text of a file that a process of its own can load.

References run in a process of their own, which knows nothing of the caller's memory. So the function's source is
written out, with what it uses: modules by import, constants by value, other functions of the caller by source.
"""

from __future__ import annotations

import ast
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

WRAPPER = "evo_reference"


class UnwrittenError(Exception):
    """The function cannot be written out; the text says what to do instead."""


@dataclass
class _Text:
    """A file in the making: lines that define each name, in the order in which they have to stand."""

    defined: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: Any, user: str) -> None:
        """Defines a name, and first all that it uses."""
        if name in self.defined:
            return
        if isinstance(value, ModuleType):
            self.defined[name] = f"import {value.__name__} as {name}"
        elif _installed(value):
            self.defined[name] = f"from {_home(value)} import {value.__name__} as {name}"
        elif isinstance(value, FunctionType):
            self.function(name, value)
        else:
            self.defined[name] = f"{name} = {_literal(name, value, user)}"

    def function(self, name: str, function: FunctionType) -> None:
        """Defines a function of the caller by its source."""
        source = _source(function)
        self.defined[name] = ""  # a function may call itself
        for used, value in _used(source, function).items():
            self.add(used, value, function.__name__)
        del self.defined[name]
        self.defined[name] = source if name == function.__name__ else f"{source}\n{name} = {function.__name__}"


@dataclass(frozen=True)
class Names:
    """What a reference may ask for: arrays that the kernel reads (in order), scalar arguments, and sizes."""

    arrays: tuple[str, ...]
    scalars: tuple[str, ...]
    sizes: tuple[str, ...]


def reference_file(function: Callable[..., Any], names: Names) -> tuple[str, str]:
    """(text of a file, name of the function in it) of a reference that takes ``(inputs, sizes)``.

    Args:
        function: Takes ``(inputs, sizes)``; or arguments and sizes of the kernel by their names (``def f(A, B)``); or,
            if it is none of the caller's (``numpy.matmul``), the input arrays in their order.
        names: Of arguments and sizes.

    Raises:
        UnwrittenError: If its source is not to be had, or it uses what cannot be written down.
    """
    text = _Text()
    own = isinstance(function, FunctionType) and not _installed(function)
    name = getattr(function, "__name__", "")
    if not own and not _installed(function):
        raise UnwrittenError(
            f"expected a function, got {type(function).__name__}; give a `def` that returns the outputs"
        )
    text.add(name, function, name)
    call = _call(function, names) if own else ", ".join(f'inputs["{array}"]' for array in names.arrays)
    if call is None:
        return _file(text), name
    text.defined[WRAPPER] = f"def {WRAPPER}(inputs, sizes):\n    return {name}({call})"
    return _file(text), WRAPPER


def _file(text: _Text) -> str:
    lines = sorted(text.defined.values(), key=lambda line: not line.startswith(("import ", "from ")))
    return '"""Reference of the campaign beside it, as it was given to evo.tune."""\n\n' + "\n\n".join(lines) + "\n"


def _call(function: Callable[..., Any], names: Names) -> str | None:
    """How to call it with arguments by name; None if it takes ``(inputs, sizes)`` itself.

    Raises:
        UnwrittenError: If it is to be called in neither way.
    """
    parameters = list(inspect.signature(function).parameters)
    places = {name: f'sizes["{name}"]' for name in names.sizes}
    places |= {name: f'inputs["{name}"]' for name in (*names.arrays, *names.scalars)}
    if parameters and set(parameters) <= set(places):
        return ", ".join(places[parameter] for parameter in parameters)
    if len(parameters) == 2:
        return None
    raise UnwrittenError(
        f"{function.__name__}({', '.join(parameters)}): expected (inputs, sizes), or names of arguments and sizes "
        f"({', '.join(places)})"
    )


def _source(function: FunctionType) -> str:
    try:
        source = textwrap.dedent(inspect.getsource(function)).rstrip()
        tree = ast.parse(source)
    except (OSError, SyntaxError):
        tree = ast.Module([], [])
        source = ""
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise UnwrittenError(
            f"the source of {function.__name__} is not to be had (a lambda, or typed into a plain prompt); put it into "
            "a `def` of a file or a notebook, or give 'file.py:function'"
        )
    return source


def _used(source: str, function: FunctionType) -> Mapping[str, Any]:
    """What a function uses of its module and of the functions around it."""
    around = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    known = {**function.__globals__, **{name: cell.cell_contents for name, cell in around}}
    tree = ast.parse(source)
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    body = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    names = dict.fromkeys(node.id for node in body if node.id not in bound and node.id != function.__name__)
    return {name: known[name] for name in names if name in known}


def _installed(value: Any) -> bool:
    """True for what a fresh process can import: part of the standard library or of an installed package."""
    home = _home(value)
    if not home or not getattr(value, "__name__", "").isidentifier():
        return False
    module = sys.modules.get(home)
    if module is None or getattr(module, value.__name__, None) is not value:
        return False
    file = getattr(module, "__file__", None)
    places = [sysconfig.get_path(name) for name in ("stdlib", "platlib", "purelib")]
    return home != "__main__" and (file is None or any(Path(file).is_relative_to(place) for place in places))


def _home(value: Any) -> str:
    """The module that a value can be imported from."""
    return "numpy" if isinstance(value, np.ufunc) else str(getattr(value, "__module__", "") or "")


def _literal(name: str, value: Any, user: str) -> str:
    """A constant as Python text.

    Raises:
        UnwrittenError: If it is none.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    text = repr(plain)
    try:
        same = bool(ast.literal_eval(text) == plain)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        same = False
    if not same:
        raise UnwrittenError(
            f"{user} uses '{name}', a {type(value).__name__} that cannot be written down; make it inside of the "
            "function, or give 'file.py:function'"
        )
    return text

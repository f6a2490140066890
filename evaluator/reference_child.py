"""The process that runs the user's reference or checker. It imports nothing of ours but the process plumbing."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluator.process import attach


def load_function(path: str, name: str) -> Callable[..., Any]:
    """The function of a Python file, whose folder is importable from it.

    Raises:
        ImportError: If the file cannot be loaded.
        AttributeError: If it has no such function.
    """
    spec = importlib.util.spec_from_file_location("evo_tune_reference", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    sys.path.insert(0, str(Path(path).resolve().parent))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name)
    if not callable(function):
        raise AttributeError(f"{name} is not a function")
    return function  # type: ignore[no-any-return]  # callable() narrows Any to no declared type


def describe(error: BaseException, path: str) -> str:
    """The error with the line of the user's file that raised it."""
    own = Path(path).resolve()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == own]
    where = f" (line {frames[-1].lineno})" if frames else ""
    return f"raised {type(error).__name__}: {error}{where}"


def main() -> None:
    """Loads the function named by the first message, then answers each tuple of arguments with (failed, value)."""
    connection = attach()
    path, name = connection.recv()
    function: Callable[..., Any] | None = None
    failure = ""
    try:
        function = load_function(path, name)
    except (Exception, SystemExit) as error:  # the user's module may raise anything while it is imported
        failure = describe(error, path)
    while True:
        arguments = connection.recv()
        if function is None:
            connection.send((True, failure))
            continue
        try:
            connection.send((False, function(*arguments)))
        except (Exception, SystemExit) as error:  # likewise
            connection.send((True, describe(error, path)))


if __name__ == "__main__":
    main()

"""Files that a campaign names: they are looked at, never imported or written."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from pathlib import Path

from evo.campaign_yaml import Document, FieldPath, Place
from evo.kernel_text import kernel_text
from evo.nearest import nearest

ALLOW_VARIABLE = "EVO_TUNE_ALLOW_CODE"
"""Environment variable with folders whose code campaigns may run, divided as ``PATH`` is."""


def read_source(document: Document, name: str) -> tuple[Path, str]:
    """Path and text of the kernel's source.

    Raises:
        CampaignError: If it cannot be read.
        SourceError: If it is no text.
    """
    where = ("kernel", "source")
    path = existing_file(document, name, where)
    try:
        return path, kernel_text(path)[0]
    except OSError as error:
        raise document.error(where, f"{path} cannot be read: {error.strerror}") from None


def included_folders(document: Document, names: list[str]) -> tuple[str, ...]:
    """Include folders, resolved from the campaign's folder."""
    folders = []
    for number, name in enumerate(names):
        folder = document.path.parent / name
        if not folder.is_dir():
            raise document.error(("kernel", "include", number), f"no such folder: {folder}")
        folders.append(str(folder))
    return tuple(folders)


def find_function(document: Document, text: str, where: FieldPath, allowed: Sequence[Path] = ()) -> tuple[Path, str]:
    """Path and name of ``file.py:function``; the file is parsed, not executed.

    It will be executed later, so it must lie in the campaign's own folder, or in one of those that the user allows:
    a campaign that somebody sent must not run what else lies on the machine.

    Raises:
        CampaignError: If the file or the function is not there, or its code is not allowed.
    """
    file, separator, name = text.rpartition(":")
    if not separator or not file or not name.isidentifier():
        raise document.error(where, f"expected `file.py:function`, got '{text}'")
    path = existing_file(document, file, where)
    _check_allowed(document, path, where, allowed)
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise document.error(where, f"{path}:{error.lineno}: not valid Python: {error.msg}") from None
    except (OSError, ValueError) as error:
        raise document.error(where, f"{path} cannot be read: {error}") from None
    functions = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if name not in functions:
        raise document.error(where, f"{path} has no function '{name}'; {nearest(name, functions)}")
    return path, name


def _check_allowed(document: Document, path: Path, where: FieldPath, allowed: Sequence[Path]) -> None:
    named = (Path(text) for text in os.environ.get(ALLOW_VARIABLE, "").split(os.pathsep) if text)
    places = [place.resolve() for place in (document.path.parent, *allowed, *named)]
    real = path.resolve()  # a link does not lead out of the folder
    if not any(real.is_relative_to(place) for place in places):
        raise document.error(
            where,
            f"{real} lies outside of the campaign's folder, and its code would run; copy it there, or allow it with "
            f"`--allow-code {real.parent}` (or ${ALLOW_VARIABLE})",
        )


def check_output(folder: Path, place: Place) -> None:
    """The output folder can be made, or is there and can be written.

    Raises:
        CampaignError: If a file stands in its way or it is not writable.
    """
    for step in (folder, *folder.parents):
        if step.is_dir():
            if not os.access(step, os.W_OK | os.X_OK):
                raise place.error(f"the output folder {folder} cannot be written: no permission in {step}")
            return
        if step.exists() or step.is_symlink():
            raise place.error(f"the output folder {folder} cannot be made: {step} is a file; choose another folder")


def existing_file(document: Document, name: str, where: FieldPath) -> Path:
    """A file that must be there, resolved from the campaign's folder."""
    path = document.path.parent / name
    if path.is_dir():
        raise document.error(where, f"expected a file, got the folder {path}")
    if not path.exists():
        raise document.error(where, f"no such file: {path} (paths are relative to the campaign file)")
    return path

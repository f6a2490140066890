"""The kernels of a folder of repositories, each with the unit that compiles it, its include folders and its defines."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from genome.ir.print_tokens import Token, closing, closing_angle, tokenize

SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_DEFINE = re.compile(r"(?<!\S)-D\s*([A-Za-z_]\w*)(?:=([\w.+-]+))?(?=\s|$)", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    """One ``__global__`` function with a body.

    Attributes:
        key: Digest of its tokens: copies of a kernel have the same.
        file: Where it stands, relative to the folder.
        entry: Its name.
        line: Of its ``__global__``.
        unit: The file that is read: the nearest source file that includes it, else its own.
    """

    key: str
    file: str
    entry: str
    line: int
    unit: str


class Corpus:
    """A folder whose entries are repositories (or which is one itself).

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._texts: dict[Path, str] = {}
        self._units: dict[tuple[Path, int], Path] = {}

    def kernels(self) -> list[Found]:
        """Every kernel once, in the order of the files; copies of a text count once."""
        seen: dict[str, Found] = {}
        for path in self.files:
            for name, line, key in definitions(self.text(path)):
                if key not in seen:
                    unit = self._unit(path)
                    seen[key] = Found(key, self._name(path), name, line, self._name(unit))
        return list(seen.values())

    @cached_property
    def files(self) -> list[Path]:
        """Sources and headers, sorted."""
        found = (Path(root, name) for root, _, names in os.walk(self.folder) for name in names)
        return sorted(path for path in found if path.suffix in SUFFIXES and path.is_file())

    def text(self, path: Path) -> str:
        """A file's text; what is no UTF-8 in it is replaced."""
        if path not in self._texts:
            self._texts[path] = path.read_text(errors="replace")
        return self._texts[path]

    def include_dirs(self, unit: str) -> tuple[str, ...]:
        """Folders in which the unit finds the repository's headers, as a build file would name them."""
        folders: dict[str, None] = {}
        queue, seen = [self.folder / unit], set[Path]()
        while queue:
            path = queue.pop()
            for name, _ in includes(self.text(path)):
                target = self._resolve(path, name)
                if target is None or target in seen:
                    continue
                seen.add(target)
                queue.append(target)
                folder = str(target)[: -len(name)].rstrip("/")
                if str(target).endswith(name):
                    folders[folder] = None
        return tuple(folders)

    def defines(self, unit: str) -> tuple[tuple[str, str], ...]:
        """What the build files beside the unit define with ``-D``."""
        found: dict[str, str] = {}
        for name in ("Makefile", "makefile"):
            path = (self.folder / unit).parent / name
            if path.is_file():
                found |= {match[1]: match[2] or "1" for match in _DEFINE.finditer(self.text(path))}
        return tuple(found.items())

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.folder))

    def _repository(self, path: Path) -> str:
        return path.relative_to(self.folder).parts[0]

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], list[Path]]:
        index: dict[tuple[str, str], list[Path]] = defaultdict(list)
        for path in self.files:
            index[self._repository(path), path.name].append(path)
        return index

    @cached_property
    def _includers(self) -> Mapping[Path, list[Path]]:
        """The files that include each file."""
        index: dict[Path, list[Path]] = defaultdict(list)
        for path in self.files:
            for name, _ in includes(self.text(path)):
                target = self._resolve(path, name)
                if target is not None and target != path:
                    index[target].append(path)
        return index

    def _resolve(self, path: Path, name: str) -> Path | None:
        """The file that an include means: beside the including one, else the nearest of the repository."""
        beside = Path(os.path.normpath(path.parent / name))
        if beside.is_file():
            return beside
        clean = os.path.normpath(name).lstrip("./")
        same = [other for other in self._by_name.get((self._repository(path), Path(name).name), ())
                if str(other).endswith("/" + clean)]  # fmt: skip
        return nearest(path, same)

    def _unit(self, path: Path, depth: int = 3) -> Path:
        """The nearest source file that includes the file, directly or through another one; else the file itself."""
        if (path, depth) not in self._units:
            users = self._includers.get(path, ()) if depth else ()
            units = sorted({self._unit(user, depth - 1) for user in users})
            chosen = nearest(path, [unit for unit in units if unit.suffix == ".cu"]) or path
            self._units[path, depth] = chosen
        return self._units[path, depth]


def nearest(path: Path, choices: Sequence[Path]) -> Path | None:
    """The choice that shares most folders with the path; the shorter one, then the first by name, of equals."""

    def distance(other: Path) -> tuple[int, int, str]:
        return -len(os.path.commonpath((path, other))), len(other.parts), str(other)

    return min(choices, key=distance, default=None)


def includes(text: str) -> Iterator[tuple[str, bool]]:
    """(name, quoted) of each include directive."""
    for match in _INCLUDE.finditer(text):
        yield match[1] or match[2], match[1] is not None


def definitions(text: str) -> Iterator[tuple[str, int, str]]:
    """(name, line, digest of the tokens) of each ``__global__`` function with a body, as the file spells them."""
    if "__global__" not in text:
        return
    tokens = [token for token in tokenize(text) if token.kind not in ("directive", "pragma")]
    for position, token in enumerate(tokens):
        if token.text == "__global__":
            found = _definition(tokens, position)
            if found is not None:
                name, end = found
                spelled = " ".join(part.text for part in tokens[position:end])
                yield name, token.line, hashlib.sha256(spelled.encode()).hexdigest()[:16]


def _definition(tokens: Sequence[Token], position: int) -> tuple[str, int] | None:
    """(name, index behind the body), or None for a declaration."""
    name = ""
    while position < len(tokens):
        text = tokens[position].text
        if text == "(" and tokens[position - 1].kind == "word":
            after = closing(tokens, position) + 1
            if tokens[position - 1].text in ("__launch_bounds__", "__attribute__", "__align__"):
                position = after
                continue
            name = tokens[position - 1].text
            position = after
            continue
        if text == "<":
            position = (closing_angle(tokens, position) or position) + 1
            continue
        if text == "{":
            return (name, closing(tokens, position) + 1) if name else None
        if text in (";", "}", "__global__") and (name or text != "__global__"):
            return None
        position += 1
    return None

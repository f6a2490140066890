"""What the base has not taken yet, in a file of the run's folder: a line of JSON a posting, on the disk when it counts.

A file belongs to one campaign, whose token is in its name and in its first line, so that it finds its campaign in every
base. Who writes to it or empties it has it locked. A line that a crash has cut off was never acknowledged; it is passed
over.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from knowledge.errors import KnowledgeError
from knowledge.posting import Kind, Posting

FORMAT = "evo-tune-spool/1"
PREFIX, SUFFIX = "spool-", ".jsonl"


@dataclass(frozen=True)
class Head:
    """First line of a spool: whose it is, and the base (without its password) that was to take it."""

    token: uuid.UUID
    base: str


class Spool:
    """The file of one campaign, open and locked. It is removed once it is emptied."""

    def __init__(self, path: Path, head: Head | None = None) -> None:
        """Opens the file; with ``head`` it is made if need be.

        Raises:
            KnowledgeError: If it is damaged, or another program has it.
            OSError: If it cannot be opened or made.
        """
        self.path = path
        if head is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _locked(path, make=head is not None)
        try:
            self._tidy(head)
            self.head = self._read_head()
            self.waiting = sum(1 for _ in self.postings())
        except BaseException:
            self._file.close()
            raise

    def append(self, posting: Posting) -> None:
        """Adds a posting; it is on the disk when this returns.

        Raises:
            OSError: If it is not.
        """
        self._write({"kind": posting.kind.value, "at": _when(posting).isoformat(), "data": posting.data})
        self.waiting += 1

    def postings(self) -> Iterator[Posting]:
        """What waits, in order.

        Raises:
            KnowledgeError: If a line is damaged; with its number.
        """
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if number > 1:
                yield self._posting(line, number)

    def clear(self) -> None:
        """Removes the file: the base has everything."""
        self.path.unlink(missing_ok=True)
        self.waiting = 0
        self.close()

    def close(self) -> None:
        """Lets go of the file. Idempotent."""
        self._file.close()

    def _tidy(self, head: Head | None) -> None:
        """Cuts off what was not written to its end, and writes the first line where there is none."""
        self._file.seek(0)
        whole = self._file.read().rfind(b"\n") + 1
        self._file.truncate(whole)
        if not whole and head is not None:
            self._write({"format": FORMAT, "campaign": str(head.token), "base": head.base})

    def _write(self, data: dict[str, Any]) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(json.dumps(data).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read_head(self) -> Head:
        self._file.seek(0)
        try:
            data = json.loads(self._file.readline())
            if data["format"] != FORMAT:
                raise ValueError
            return Head(uuid.UUID(data["campaign"]), str(data["base"]))
        except (ValueError, KeyError, TypeError):
            raise KnowledgeError(f"{self.path}:1: expected a spool of results ({FORMAT})") from None

    def _posting(self, line: bytes, number: int) -> Posting:
        try:
            data = json.loads(line)
            return Posting(Kind(data["kind"]), dict(data["data"]), datetime.fromisoformat(data["at"]))
        except (ValueError, KeyError, TypeError) as error:
            raise KnowledgeError(f"{self.path}:{number}: no result of a campaign: {error}") from None


def spool_path(folder: Path, token: uuid.UUID) -> Path:
    """Where the results of a campaign wait."""
    return folder / f"{PREFIX}{token.hex}{SUFFIX}"


def spools(folder: Path) -> tuple[Path, ...]:
    """Files of results that wait in a folder, the oldest first."""
    return tuple(sorted(folder.glob(f"{PREFIX}*{SUFFIX}"), key=lambda path: (path.stat().st_mtime, path.name)))


def _when(posting: Posting) -> datetime:
    return posting.at or datetime.now(UTC)


def _locked(path: Path, make: bool) -> IO[bytes]:
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if make else 0)
    file = os.fdopen(os.open(path, flags, 0o600), "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise KnowledgeError(f"{path}: a run that goes on writes to it", "it brings its results in by itself") from None
    return file

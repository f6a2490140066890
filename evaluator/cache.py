"""Results on disk under a key, bounded in bytes, safe for any number of processes that use the same folder.

An entry is written under another name and moved into place, so that readers see all of it or nothing. Each begins with
a checksum of its contents: what a full disk or a crash has left is not believed. What was not used for longest goes
first when the folder grows beyond its bound. A cache that cannot be read or written is no error; it only helps nobody.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_DIGEST = 32
_LOOK_EVERY = 32  # writes of one process between two looks at the size of the folder
_KEEP = 0.8  # of the bound is left when entries have to go


def cache_key(parts: Sequence[str]) -> str:
    """A key of texts: different texts, or the same ones divided differently, give different keys."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


class DiskCache:
    """See the module.

    Args:
        folder: Made when the first entry is written.
        limit_bytes: Bound of all entries together.
    """

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder, self._limit = folder, limit_bytes
        self._writes = 0

    def get(self, key: str) -> bytes | None:
        """The entry, or None if there is none that can be believed."""
        path = self._path(key)
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return data[_DIGEST:] if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST] else None

    def put(self, key: str, data: bytes) -> None:
        """Writes an entry."""
        path = self._path(key)
        draft = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                draft.write_bytes(hashlib.sha256(data).digest() + data)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
        if self._writes % _LOOK_EVERY == 0:
            self.shrink()
        self._writes += 1

    def shrink(self) -> None:
        """Brings the folder under its bound. Entries that another process removes meanwhile are gone as well."""
        entries = []
        with suppress(OSError):
            for item in os.scandir(self._folder):
                with suppress(OSError):
                    about = item.stat(follow_symlinks=False)
                    entries.append((about.st_mtime, about.st_size, item.path))
        total = sum(size for _, size, _ in entries)
        if total <= self._limit:
            return
        for _, size, path in sorted(entries):
            with suppress(OSError):
                os.unlink(path)
            total -= size
            if total <= _KEEP * self._limit:
                return

    def _path(self, key: str) -> Path:
        return self._folder / key

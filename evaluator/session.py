"""The folder of one evaluator: oracle arrays, driver caches, locks, logs.

It goes when the evaluator closes; what a killed process left behind goes when the next evaluator starts.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from pathlib import Path

from evaluator.api import EvaluatorError


class Session:
    """Owns a fresh folder, and marks it as owned with a lock that dies with this process.

    Raises:
        EvaluatorError: If the cache folder cannot be written.
    """

    def __init__(self, cache_dir: Path) -> None:
        root = cache_dir / "sessions"
        self.folder = root / f"{os.getpid()}-{secrets.token_hex(4)}"
        try:
            root.mkdir(parents=True, exist_ok=True)
            remove_orphans(root)
            self.folder.mkdir(mode=0o700)
            self._lock = (self.folder / "owner.lock").open("wb")
        except OSError as error:
            raise EvaluatorError(
                f"cannot write to the cache folder {cache_dir}: {error}; set XDG_CACHE_HOME to a folder that you own"
            ) from error
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Removes the folder. Idempotent."""
        self._lock.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_orphans(root: Path) -> None:
    """Removes session folders whose owner is gone: nobody holds their lock."""
    for folder in root.iterdir():
        try:
            with (folder / "owner.lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # in use, or in the middle of being made or removed
            continue

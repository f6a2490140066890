"""Files that are there as a whole or not at all: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def check_folder(path: Path) -> None:
    """Tries a file in the folder, before hours of work are spent on what goes there; leaves nothing behind.

    Raises:
        OSError: If the folder cannot be made or written.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    probe = path / f".evo-tune-{os.getpid()}"
    probe.write_bytes(b"")
    probe.unlink()
    for folder in missing:
        folder.rmdir()


def write_atomic(path: Path, content: str | bytes) -> None:
    """Writes the file so that a reader (or a crash) never sees half of it. Makes its folder.

    Raises:
        OSError: If the folder or the file cannot be written, with the file's name; an old one is then still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:  # of a file handle, which has no name: a full disk, say
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

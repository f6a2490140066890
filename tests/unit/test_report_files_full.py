"""A disk that is full is told with the name of the file that found no room."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from evo.report.files import write_atomic


def test_a_full_disk_is_told_with_the_file_and_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "best.json"
    target.write_text("old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomic(target, "new")
    assert caught.value.filename == str(target) and caught.value.errno == errno.ENOSPC
    assert [path.name for path in tmp_path.iterdir()] == ["best.json"] and target.read_text() == "old"

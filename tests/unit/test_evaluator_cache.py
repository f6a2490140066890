"""The cache on disk: whole entries or none, the bound, and several processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from evaluator.cache import DiskCache, cache_key

WRITER = """
import sys
from pathlib import Path
from evaluator.cache import DiskCache
cache = DiskCache(Path(sys.argv[1]), 40_000)
for number in range(300):
    key = f"{number % 50:02x}"
    cache.put(key, key.encode() * 500)
    found = cache.get(f"{(number * 7) % 50:02x}")
    assert found is None or found == found[:2] * 500, "half an entry"
"""


def test_an_entry_comes_back(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "made" / "later", 1000)
    assert cache.get("a") is None
    cache.put("a", b"one")
    cache.put("a", b"two")
    assert cache.get("a") == b"two"
    assert DiskCache(tmp_path / "made" / "later", 1000).get("a") == b"two"


def test_a_damaged_entry_is_none(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1000)
    cache.put("a", b"contents")
    path = tmp_path / "a"
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.get("a") is None
    path.write_bytes(b"")
    assert cache.get("a") is None


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 5000)
    for number, key in enumerate("abcdef"):
        cache.put(key, bytes(1000))
        os.utime(tmp_path / key, (number, number))
    assert cache.get("a") is not None  # used just now
    cache.shrink()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 5000
    assert cache.get("a") is not None and cache.get("f") is not None
    assert cache.get("b") is None and cache.get("c") is None


def test_keys_differ_with_how_texts_are_divided() -> None:
    assert cache_key(["ab", "c"]) != cache_key(["a", "bc"]) != cache_key(["abc"])
    assert cache_key(["ab", "c"]) == cache_key(("ab", "c"))


def test_an_unusable_folder_helps_nobody_and_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file" / "below", 1000)
    cache.put("a", b"x")
    assert cache.get("a") is None


def test_processes_share_a_folder(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)]) for _ in range(4)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    DiskCache(tmp_path, 40_000).shrink()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 40_000
    assert not list(tmp_path.glob("*.tmp"))

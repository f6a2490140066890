"""What is said of a kernel that gives no binary, and whether another form of it may be tried."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from evaluator.api import Compiled, NotCompiled
from evaluator.opening import no_binary
from evaluator.result import Status


@pytest.mark.parametrize(
    ("status", "text", "other_form"),
    [
        (Status.COMPILE_ERROR, "does not compile: why", True),
        (Status.COMPILE_TIMEOUT, "does not compile: why", False),
        (Status.LIMIT, "does not compile: why", False),
        (Status.TIMEOUT, "cannot run: why", False),  # an endless loop would cost as much again
        (Status.CRASH, "cannot run: why", False),
    ],
)
def test_only_a_refused_text_is_tried_in_another_form(
    status: Status, text: str, other_form: bool, tmp_path: Path
) -> None:
    error = no_binary(Compiled(1, status, "why"), tmp_path)
    assert str(error) == f"the untransformed kernel {text}"
    assert isinstance(error, NotCompiled) is other_form


def test_a_full_disk_is_not_blamed_on_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.opening.disk_usage", lambda folder: SimpleNamespace(free=0))
    error = no_binary(Compiled(1, Status.COMPILE_ERROR, "BUILD_PROGRAM_FAILURE"), tmp_path)
    assert not isinstance(error, NotCompiled)
    assert str(error).startswith(f"the compiler has no room in {tmp_path}: set XDG_CACHE_HOME")
    assert "BUILD_PROGRAM_FAILURE" in str(error)

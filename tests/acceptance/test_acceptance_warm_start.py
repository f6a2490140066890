"""A second campaign on the same base knows the kernel, measures the champion again, and goes on from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

CHECKS = [{"M": 32, "N": 64, "K": 48}, {"M": 37, "N": 41, "K": 29}, {"M": 64, "N": 32, "K": 16}]


def test_second_run_starts_from_the_first(program: Any, write_campaign: Callable[..., Path]) -> None:
    fields = {"check_sizes": CHECKS, "sizes": [{"M": 128, "N": 128, "K": 128}]}
    campaign = write_campaign("matmul", **fields, budget={"evaluations": 8, "minutes": 2})
    first = program("run", campaign)
    assert first.returncode == 0, first.stderr
    before = json.loads((campaign.parent / "results" / "best.json").read_text())

    again = write_campaign("matmul", folder="again", **fields, budget={"evaluations": 4, "minutes": 2}, seed=2)
    second = program("run", again)
    assert second.returncode == 0, second.stderr
    after = json.loads((again.parent / "results" / "best.json").read_text())

    assert "knows this kernel" in (second.stdout + second.stderr).lower()
    assert after["verified"] is True
    # The champion was carried over, and measured again.
    assert {gene["transform"] for gene in after["genome"]} & {gene["transform"] for gene in before["genome"]}
    assert after["evaluations"] <= 4

    asked = program.here("kb", "best", "--kernel", "matmul", "--json")
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)
    alike = program.here("kb", "best", "--like", again.parent / "kernel.cu", "--json")
    assert alike.returncode == 0, alike.stderr
    assert json.loads(alike.stdout)


def test_unknown_kernel_gives_an_empty_answer(program: Any) -> None:
    asked = program.here("kb", "best", "--kernel", "no_such_kernel", "--json")
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout) == []

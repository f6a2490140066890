"""What ``evo-tune verify`` tells a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cli.verify import lines
from evaluator.api import Comparison, SizeComparison
from evaluator.result import DeviceInfo, Evaluation, Status, Toolchain
from evo.verify import Claim, Verification
from genome.genes import Genome

DEVICE = DeviceInfo("opencl:0", "a device", "a vendor", "", "cpu", 2, 1 << 30)
CLAIM = Claim(Path("best.json"), Path("campaign.yaml"), Genome(), "d", "a device", (2.0, 1.9, 2.1), True)
PROVEN = Comparison("d", (SizeComparison("n=8", 2.0, 1.0, 2.0, 1.9, 2.1),), 2.0, 1.9, 2.1, True, processes=5)


@pytest.mark.parametrize("checks", [0, 3])
def test_further_sizes_are_told_where_there_are_some(checks: int) -> None:
    """A kernel that is compiled for its size has none."""
    seen = tuple(Evaluation("d", f"n={n}", Status.OK, fallback=n == 0) for n in range(checks))
    result = Verification(CLAIM, DEVICE, Toolchain("", "", ""), replace(PROVEN, checks=seen), True)
    text = "\n".join(lines(result))
    assert f"verified at 1 tuned and {checks} further sizes, in 5 fresh processes" in text
    assert ("2 of the further sizes ran the evolved kernel" in text) is bool(checks)


def test_no_fallback_is_told_of_where_there_was_none() -> None:
    seen = tuple(Evaluation("d", f"n={n}", Status.OK) for n in range(3))
    found = lines(Verification(CLAIM, DEVICE, Toolchain("", "", ""), replace(PROVEN, checks=seen), True))
    assert "  all of the further sizes ran the evolved kernel" in found
    assert not any("fallback" in line for line in found)


@pytest.mark.parametrize(("processes", "few"), [(1, True), (4, True), (5, False)])
def test_few_processes_are_told(processes: int, few: bool) -> None:
    """With one of them the interval is a point."""
    found = lines(Verification(CLAIM, DEVICE, Toolchain("", "", ""), replace(PROVEN, processes=processes), True))
    assert any("fewer than 5 processes" in line for line in found) is few

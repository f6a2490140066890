"""``evo-tune profile`` names the bottleneck with its evidence, and draws the roofline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def test_the_profile_of_a_kernel(program: Any, write_campaign: Callable[..., Path], tmp_path: Path) -> None:
    checks = [{"M": 32, "N": 64, "K": 48}, {"M": 37, "N": 41, "K": 29}, {"M": 64, "N": 32, "K": 16}]
    campaign = write_campaign("matmul", check_sizes=checks, sizes=[{"M": 192, "N": 192, "K": 192}])
    picture = tmp_path / "roofline.png"
    done = program("profile", campaign, "--json", "--picture", picture)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    (row,) = answer["profiles"]
    assert row["flops"] == 2 * 192**3
    assert row["bytes"] == 3 * 192 * 192 * 4
    assert row["gflops"] == pytest.approx(row["flops"] / row["ms"] / 1e6, rel=0.5)
    assert 0 < row["roofline_fraction"] <= 1
    # A naive product is far below both ceilings, and not for want of memory bandwidth.
    assert row["bottleneck"] == "issue"
    assert "GFLOP/s" in row["evidence"]
    assert answer["peaks"]["gflops"] > 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
    table = program("profile", campaign)
    assert table.returncode == 0
    assert "bottleneck" in table.stdout

"""A campaign of several entries from one command, with several calls under way, and its proof again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def test_two_kernels_share_a_budget(program: Any, write_campaign: Callable[..., Path]) -> None:
    campaign = write_campaign(
        "dense", sizes=[{"M": 96, "N": 96, "K": 96}], budget={"evaluations": 6, "minutes": 2},
        objective={"kind": "throughput", "at_once": 2},
    )  # fmt: skip
    done = program("run", campaign, "--json")
    assert done.returncode == 0, done.stderr
    best, results = json.loads(done.stdout), campaign.parent / "results"
    assert best == json.loads((results / "best.json").read_text())
    assert [row["name"] for row in best["entries"]] == ["product", "bias_gelu"]
    assert best["verified"] and best["stop"] == "finished"
    assert best["speedup"]["low"] <= best["speedup"]["median"] <= best["speedup"]["high"]
    assert sum(row["before_ms"] for row in best["entries"]) == pytest.approx(best["before_ms"])
    for row in best["entries"]:
        own = json.loads((results / row["file"]).read_text())
        assert own["entry"] == row["name"] and own["objective"]["at_once"] == 2
        assert "2 calls at once" in own["toolchain"]
        assert (results / row["name"] / "best.cu").exists()
        assert f'href="{row["name"]}/report.html"' in (results / "report.html").read_text()
    known = json.loads(program.here("kb", "best", "--kernel", "product", "--json").stdout)
    assert "2 calls at once" in known[0]["toolchain"]

    again = program("verify", results / "best.json", "--json", "--processes", "1")
    answer = json.loads(again.stdout)
    assert answer["verified"], again.stderr
    assert [entry["name"] for entry in answer["entries"]] == ["product", "bias_gelu"]

    both = json.loads(program("profile", campaign, "--json").stdout)
    assert set(both["entries"]) == {"product", "bias_gelu"}
    unknown = program.here("profile", campaign, "--entry", "gelu")
    assert unknown.returncode == 2 and "possible: product, bias_gelu" in unknown.stderr

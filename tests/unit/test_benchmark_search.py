"""The figures of the search benchmark: pairs, groups, peers' curves, and runs that are kept between calls."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    import search_efficiency

    return search_efficiency


def ratios(values: list[float]) -> dict[str, dict[str, list[float]]]:
    return {"ratios": {"50": values}}


def test_pairs_are_compared_seed_by_seed(bench: Any) -> None:
    cold = [1.0 + 0.1 * seed for seed in range(30)]
    same = bench.paired(ratios(cold), ratios(cold), 50)
    assert same == pytest.approx((1.0, 1.0, 1.0))
    slower = bench.paired(ratios([1.2 * ratio for ratio in cold]), ratios(cold), 50)
    assert slower == pytest.approx((1.2, 1.2, 1.2)), "the spread over seeds is none of the pairs'"


def test_the_interval_holds_the_truth_as_often_as_it_says(bench: Any) -> None:
    rng, held = np.random.default_rng(3), 0
    for _ in range(100):
        own = [math.exp(x) for x in rng.normal(0.1, 0.2, size=30)]
        _, low, high = bench.paired(ratios(own), ratios([1.0] * 30), 50)
        held += low <= math.exp(0.1) <= high
    assert 88 <= held <= 99


def test_spaces_fall_into_two_halves_by_names_or_by_a_file(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "half.txt").write_text("a\nc\n")
    wanted = {"overall": ["a", "b", "c"], "given half": ["a", "c"], "other half": ["b"]}
    assert bench.groups("a,c", ["a", "b", "c"]) == bench.groups(str(tmp_path / "half.txt"), ["a", "b", "c"]) == wanted
    assert bench.groups("", ["a"]) == {"overall": ["a"]}


def test_kept_runs_come_back_as_they_were(bench: Any, tmp_path: Path) -> None:
    from search_runs import Run

    runs = [Run("s", "cold, 3", seed, (2.0, 1.5, 1.0), 0.01, 0.03) for seed in range(2)]
    for run in runs:
        bench.keep(run, tmp_path / "runs")
    assert list(bench.kept(tmp_path / "runs").values()) == runs
    assert bench.kept(None) == bench.kept(tmp_path / "none") == {}


def test_a_peers_curve_falls_where_its_best_did(bench: Any, tmp_path: Path) -> None:
    run = {"space": "s", "strategy": "x", "ratio": {"4": 1.5}, "improvements": [[1, 8.0], [2, 4.0], [3, 3.0]]}
    (tmp_path / "peer").write_text(json.dumps({"runs": [run]}))
    found = bench.peers(tmp_path / "peer", ["s"], [2, 4])["x"]["s"]
    assert found["curve"] == [4.0, 2.0, 1.5, 1.5]
    assert (found["2"]["median"], found["4"]["median"]) == (2.0, 1.5)


def test_compact_json_holds_the_same(bench: Any) -> None:
    record = {"a": [1.0, 2.0], "b": {"c": ["x", "y [z]"], "d": None}, "e": [{"f": [1]}]}
    assert json.loads(bench.compact(record)) == record

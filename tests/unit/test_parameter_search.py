"""Gaussian process, features of parameters and the search over a table, against plain numpy and known optima."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from evaluator.recording import Recording, read_recording, recording_of
from knowledge.gaussian_process import FADED, JITTER, Kernel, Posterior, condition, improved, matern
from knowledge.parameter_features import parameter_columns
from knowledge.parameter_search import (
    FIRST,
    FIRST_AFTER_RECALL,
    FORGOTTEN,
    PARENTS,
    REACH,
    SAMPLE,
    ParameterSearch,
    expected_improvement,
)

TILES = Path(__file__).parents[1] / "data" / "spaces" / "tiles.json"


@pytest.fixture(scope="module")
def tiles() -> Recording:
    return read_recording(TILES)


def plain_matern(a: np.ndarray, b: np.ndarray, scales: np.ndarray) -> float:
    r = math.sqrt(5.0 * sum(((x - y) / s) ** 2 for x, y, s in zip(a, b, scales, strict=True)))
    return (1.0 + r + r * r / 3.0) * math.exp(-r)


def test_the_posterior_is_the_textbook_one() -> None:
    rng = np.random.default_rng(0)
    inputs, places, targets = rng.random((9, 4)), rng.random((5, 4)), rng.normal(size=9)
    logs = np.log(np.array([0.3, 2.0, 0.9, 0.7, 1e-2]))  # three length scales, an amplitude, noise
    kernel = Kernel(logs, linear=1)

    def covariance(a: np.ndarray, b: np.ndarray) -> float:
        return plain_matern(a[:3], b[:3], np.exp(logs[:3])) + (0.7 * a[3]) * (0.7 * b[3])

    own = np.array([[covariance(a, b) for b in inputs] for a in inputs]) + (1e-2 + JITTER) * np.eye(9)
    cross = np.array([[covariance(a, b) for b in inputs] for a in places])
    scale = (targets @ np.linalg.solve(own, targets) + 1.0) / 10.0
    variance = [covariance(a, a) for a in places] - np.diag(cross @ np.linalg.solve(own, cross.T))
    mean, spread = condition(kernel, inputs, targets).predict(places)
    assert np.allclose(mean, cross @ np.linalg.solve(own, targets), atol=1e-6)
    assert np.allclose(spread, np.sqrt(scale * variance), rtol=1e-4)
    assert np.allclose(matern(inputs[:, :3], inputs[:, :3], np.exp(logs[:3])).diagonal(), 1.0)


def test_length_scales_tell_what_matters() -> None:
    rng = np.random.default_rng(1)
    inputs = rng.random((60, 3))
    targets = np.sin(7.0 * inputs[:, 0])
    kernel = improved(Kernel.typical(3), inputs, (targets - targets.mean()) / targets.std(), rng, 300)
    assert kernel.logs[0] < min(kernel.logs[1], kernel.logs[2]) - 1.0


@pytest.mark.parametrize("seed", range(3))
def test_a_linear_column_that_tells_nothing_fades_and_one_that_tells_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = np.concatenate((rng.random((40, 2)), rng.normal(size=(40, 2))), axis=1)
    targets = 0.5 * np.sin(5.0 * inputs[:, 0]) + 0.8 * inputs[:, 2]
    kernel = improved(Kernel.typical(2, 2), inputs, (targets - targets.mean()) / targets.std(), rng, 250)
    telling, noise = np.exp(kernel.logs[2:4])
    assert noise < FADED < 0.2 < telling


def test_expected_improvement_is_the_mean_of_draws() -> None:
    mean, spread = np.array([0.5, -0.2, 1.5]), np.array([0.4, 0.1, 2.0])
    draws = mean + spread * np.random.default_rng(2).normal(size=(400_000, 3))
    assert np.allclose(expected_improvement(mean, spread, 0.1), np.maximum(0.1 - draws, 0.0).mean(0), atol=5e-3)


def test_columns_are_value_alignment_word_and_product() -> None:
    values = (("16", "24", "32", "48"), ("1", "2", "4"), ("plain", "wide"), ("a", "b", "c"), ("0", "1"))
    table = np.array([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [2, 2, 0, 2, 0], [3, 0, 1, 0, 1]], dtype=np.int32)
    columns = parameter_columns(values, table)
    first = [0.0, math.log2(1.5) / math.log2(3), 1.0 / math.log2(3), 1.0]
    aligned = [0.5, 0.0, 1.0, 0.5]  # 16, 8, 32, 16
    product = [math.log2(n) for n in (16, 48, 128, 48)]
    wanted = np.array([
        first, aligned, [0.0, 0.5, 1.0, 0.0], [0, 1, 0, 1], [1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1],
        [(value - 4) / 3 for value in product],
    ], dtype=float)  # fmt: skip
    assert columns.shape == (4, len(wanted))
    assert np.allclose(columns.T, wanted)


def curve(tiles: Recording, seed: int, count: int, history: tuple[np.ndarray, ...] = ()) -> np.ndarray:
    search = ParameterSearch(tiles.values, tiles.table, np.random.default_rng(seed), history)
    best, found = math.inf, []
    for _ in range(count):
        row = search.next()
        assert row is not None
        time = float(tiles.times_ms[row])
        search.tell(row, None if math.isnan(time) else time)
        best = min(best, math.inf if math.isnan(time) else time)
        found.append(best / tiles.best_ms)
    return np.array(found)


def test_the_optimum_is_found_long_before_the_table_ends(tiles: Recording) -> None:
    reached = [int(np.argmax(curve(tiles, seed, 60) <= 1.0 + 1e-12)) for seed in range(5)]
    assert np.median(reached) <= 35, "blind search needs 60 of 240 in the median for one of three optima"


def test_the_same_seed_gives_the_same_run(tiles: Recording) -> None:
    assert np.array_equal(curve(tiles, 3, 30), curve(tiles, 3, 30))


def test_every_configuration_comes_once_and_the_search_ends(tiles: Recording) -> None:
    small = np.arange(0, len(tiles), 8)
    search = ParameterSearch(tiles.values, tiles.table[small], np.random.default_rng(0))
    rows = []
    while (row := search.next()) is not None:
        rows.append(row)
        search.tell(row, None if len(rows) % 5 == 0 else float(len(rows)))
    assert sorted(rows) == list(range(len(small)))


def test_a_like_device_begins_near_the_best(tiles: Recording) -> None:
    like = tiles.times_ms * np.exp(0.03 * np.random.default_rng(5).normal(size=len(tiles)))
    assert curve(tiles, 0, 4, (like,))[-1] <= 1.05


def test_misleading_history_is_unlearnt(tiles: Recording) -> None:
    wrong = np.random.default_rng(6).permutation(tiles.times_ms)
    ends = [curve(tiles, seed, 60, (wrong, wrong[::-1]))[-1] for seed in range(5)]
    assert np.median(ends) <= 1.02


def asked_first(tiles: Recording, history: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> int:
    """Measurements before the model is first asked."""
    counts = []

    def counted(kernel: Kernel, inputs: np.ndarray, targets: np.ndarray) -> Posterior:
        counts.append(len(targets))
        return condition(kernel, inputs, targets)

    monkeypatch.setattr("knowledge.parameter_search.condition", counted)
    curve(tiles, 4, 14, (history,))
    return counts[0]


def test_a_history_stands_in_for_measurements_only_where_it_ranks_them(
    tiles: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked_first(tiles, tiles.times_ms, monkeypatch) == FIRST_AFTER_RECALL
    assert asked_first(tiles, 1.0 / tiles.times_ms, monkeypatch) == FIRST


def test_a_history_is_left_aside_in_the_end(tiles: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = []

    def counted(kernel: Kernel, inputs: np.ndarray, targets: np.ndarray) -> Posterior:
        columns.append((len(targets), inputs.shape[1]))
        return condition(kernel, inputs, targets)

    monkeypatch.setattr("knowledge.parameter_search.condition", counted)
    curve(tiles, 4, FORGOTTEN + 5, (tiles.times_ms,))
    with_history, without = dict(columns)[FORGOTTEN - 1], dict(columns)[FORGOTTEN]
    assert with_history == without + 1


def test_a_space_of_failures_ends_in_none_of_them_being_repeated(tiles: Recording) -> None:
    search = ParameterSearch(tiles.values, tiles.table, np.random.default_rng(0))
    rows = []
    for _ in range(20):
        row = search.next()
        assert row is not None
        rows.append(row)
        search.tell(row, None)
    assert len(set(rows)) == 20


def test_only_the_first_time_of_a_configuration_counts(tiles: Recording) -> None:
    once, twice = (ParameterSearch(tiles.values, tiles.table, np.random.default_rng(0)) for _ in range(2))
    for row in range(20):
        once.tell(row, float(row + 1))
        for time in (float(row + 1), 0.001, None):
            twice.tell(row, time)
    assert [once.next() for _ in range(5)] == [twice.next() for _ in range(5)]


ODD = {
    "one that is another": ("1", "1.0", "1e0", "2", "3"),
    "no difference in logarithms": (
        "9007199254740992",
        "9007199254740994",
        "9007199254740996",
        "9007199254740998",
        "1",
    ),
    "beyond all measure": ("1e300", "-1e308", "1e308", "0", "1" + "0" * 400),
    "no numbers": ("nan", "inf", "-inf", "None", ""),
    "signs": ("-2", "-1", "0", "1", "2"),
    "words": ("a b", "a=b", "[1, 2]", "{}", "\n"),
}


@pytest.mark.parametrize("texts", ODD.values(), ids=list(ODD))
@pytest.mark.filterwarnings("error")
def test_odd_values_are_searched_like_any(texts: tuple[str, ...]) -> None:
    lines = [((text, y), 1.0 + abs(k - 3) + y, "") for k, text in enumerate(texts) for y in range(8)]
    odd = recording_of("k", "d", ["x", "y"], lines)
    assert np.isfinite(parameter_columns(odd.values, odd.table)).all()
    assert curve(odd, 0, len(odd))[-1] == 1.0


@pytest.mark.filterwarnings("error")
def test_equal_times_and_one_parameter_are_searched_like_any() -> None:
    equal = recording_of("k", "d", ["x"], [((x,), 2.0, "") for x in range(40)])
    assert curve(equal, 0, 40).tolist() == [1.0] * 40


def test_thousands_of_words_take_one_column() -> None:
    words = recording_of("k", "d", ["x"], [((f"w{x}",), 1.0, "") for x in range(5000)])
    columns = parameter_columns(words.values, words.table)
    assert columns.shape == (5000, 1) and len(np.unique(columns)) == 5000


def test_what_it_learns_from_is_bounded_and_holds_the_best(tiles: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []

    def counted(kernel: Kernel, inputs: np.ndarray, targets: np.ndarray) -> Posterior:
        counts.append((len(targets), len(inputs), float(targets.min())))
        return condition(kernel, inputs, targets)

    monkeypatch.setattr("knowledge.parameter_search.condition", counted)
    monkeypatch.setattr("knowledge.parameter_search.MOST", 30)
    search = ParameterSearch(tiles.values, tiles.table, np.random.default_rng(0))
    for row in range(90):
        search.tell(row, 1.0 if row == 3 else 10.0 + row % 7)
    assert search.next() is not None
    ((targets, inputs, least),) = counts
    assert 15 <= targets <= 30 and inputs == targets
    assert least < -2.0, "the outlier at the very beginning is still known"


@pytest.mark.filterwarnings("error")
def test_a_history_of_nothing_is_no_history(tiles: Recording) -> None:
    nothing = np.full(len(tiles), math.nan)
    assert np.array_equal(curve(tiles, 1, 20, (nothing,)), curve(tiles, 1, 20))


@pytest.mark.filterwarnings("error")
def test_failures_elsewhere_are_the_slowest_there(tiles: Recording) -> None:
    some = np.where(np.arange(len(tiles)) % 3 == 0, tiles.times_ms, math.nan)
    assert np.isfinite(curve(tiles, 1, 20, (some,))[-1])


def test_of_many_values_those_nearby_are_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def counted(mean: np.ndarray, spread: np.ndarray, best: float) -> np.ndarray:
        sizes.append(len(mean))
        return expected_improvement(mean, spread, best)

    monkeypatch.setattr("knowledge.parameter_search.expected_improvement", counted)
    many = recording_of("k", "d", ["x"], [((x,), 1.0 + abs(x - 7000) / 100, "") for x in range(10_000)])
    assert len(curve(many, 0, 40)) == 40
    assert max(sizes) <= SAMPLE + PARENTS * 2 * REACH

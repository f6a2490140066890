"""When a champion has lost: figures worked out by hand, and what must hold of any."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.api import Comparison, SizeComparison
from evo.retune_verdict import Figure, Verdict, figure_from, figure_json, figure_of, has_lost, is_mended

WEIGHTS = {"N=1": 1.0, "N=2": 3.0}
THEN = Figure(4.0, 3.8, 4.2, (("N=1", 4.0, 1.0), ("N=2", 40.0, 10.0)))


def now(speedup: float, width: float, *best_ms: float) -> Figure:
    times = tuple((size, ms * speedup, ms) for size, ms in zip(WEIGHTS, best_ms, strict=True))
    return Figure(speedup, speedup - width, speedup + width, times)


@pytest.mark.parametrize(
    ("figure", "by_time", "lost"),
    [
        (None, True, True),  # wrong, or it does not run
        (now(3.7, 0.2, 1.1, 11.0), True, False),  # 3.5 to 3.9 meets 3.8 to 4.2
        (now(3.5, 0.2, 1.1, 11.0), True, True),
        (now(2.0, 0.1, 1.0, 10.0), True, False),  # the kernel as it is has become faster, the champion is as it was
        (now(2.0, 0.1, 0.9, 9.0), True, False),
        (now(2.0, 0.1, 2.0, 8.0), True, True),  # 2**(1/4) * 0.8**(3/4) = 1.006
        (now(2.0, 0.1, 2.0, 7.9), True, False),  # 2**(1/4) * 0.79**(3/4) = 0.997
        (now(2.0, 0.1, 0.9, 9.0), False, True),  # other hardware: its times say nothing
        (now(4.0, 0.1, 2.0, 20.0), True, False),  # the whole machine is slower, and the gain is there
    ],
)
def test_what_counts_as_lost(figure: Figure | None, by_time: bool, lost: bool) -> None:
    assert has_lost(THEN, figure, WEIGHTS, by_time) is lost


@pytest.mark.parametrize(
    ("after", "same", "mended"),
    [
        (None, True, False),
        (now(3.9, 0.1, 1.2, 12.0), True, True),
        (now(2.0, 0.1, 1.2, 12.0), True, False),  # better than nothing, and not what it was
        (now(2.0, 0.1, 0.5, 5.0), True, True),  # takes less time than the champion took
        (now(2.0, 0.1, 1.2, 12.0), False, True),  # on other hardware any proven gain is one
        (now(1.05, 0.1, 1.2, 12.0), False, False),  # 0.95 to 1.15
    ],
)
def test_what_counts_as_mended(after: Figure | None, same: bool, mended: bool) -> None:
    assert is_mended(THEN, after, WEIGHTS, same, same) is mended


positive = st.floats(0.01, 1e4)


@st.composite
def figures(draw: st.DrawFn) -> Figure:
    speedup, below, above = draw(positive), draw(st.floats(0, 0.5)), draw(st.floats(0, 0.5))
    times = tuple((size, draw(positive), draw(positive)) for size in draw(st.sets(st.sampled_from(["a", "b", "c"]))))
    return Figure(speedup, speedup * (1 - below), speedup * (1 + above), times)


@given(figures(), st.booleans())
def test_nothing_is_lost_where_nothing_changed(figure: Figure, by_time: bool) -> None:
    assert not has_lost(figure, figure, {}, by_time)


@given(figures(), figures())
def test_times_can_only_excuse_a_loss(then: Figure, figure: Figure) -> None:
    assert has_lost(then, figure, {}, False) or not has_lost(then, figure, {}, True)


@given(figures())
def test_figures_survive_the_journal(figure: Figure) -> None:
    assert figure_from(figure_json(figure)) == figure


def test_only_a_verified_comparison_has_figures() -> None:
    row = SizeComparison("N=1", 2.0, 1.0, 2.0, 1.9, 2.1)
    good = Comparison("v", (row,), 2.0, 1.9, 2.1, True)
    assert figure_of(good) == Figure(2.0, 1.9, 2.1, (("N=1", 2.0, 1.0),))
    assert figure_of(Comparison("v", (row,), 2.0, 1.9, 2.1, False, "wrong at N=7")) is None


def test_words_of_the_verdict_are_those_of_the_guide() -> None:
    assert [str(verdict) for verdict in Verdict] == ["kept", "mended", "lost", "failed", "mending"]

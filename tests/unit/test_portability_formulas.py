"""Figures of a study against values worked by hand."""

import math

import numpy as np
import pytest

from evaluator.backend import Peaks
from evaluator.messages import Work
from evaluator.result import Bottleneck
from evo.campaign_types import CampaignError
from evo.portability.case import Case, Effect, Place, coded, ordered_values
from evo.portability.efficiency import (
    application_efficiency,
    architectural_efficiency,
    performance_portability,
    portability_of_rows,
    worst,
)
from evo.portability.gene_effects import Verdict, verdict_of
from evo.portability.repair import nearest_legal
from evo.portability.what_if import changed, model_error, parse_changes, what_if

NAN = math.nan


def case(times: list[list[float]], **fields: object) -> Case:
    """A case of one parameter."""
    table = np.arange(len(times), dtype=np.int32)[:, None]
    places = tuple(Place(name) for name in "abcdef"[: len(times[0])])
    filled = np.array(times)
    champions = tuple(int(np.nanargmin(filled[:, place])) for place in range(len(places)))
    values: dict[str, object] = {
        "kernel": "k", "size": "n=1", "places": places, "names": ("p",),
        "domains": (tuple(map(str, range(len(times)))),), "table": table, "times_ms": filled, "champions": champions,
    }  # fmt: skip
    return Case(**{**values, **fields})  # type: ignore[arg-type]


def test_harmonic_mean_worked_by_hand() -> None:
    assert performance_portability(np.array([1.0, 0.5])) == pytest.approx(2 / 3)  # 2 / (1 + 2)
    assert performance_portability(np.array([0.8, 0.4, 0.2])) == pytest.approx(3 / 8.75)
    assert performance_portability(np.array([0.7])) == pytest.approx(0.7)


@pytest.mark.parametrize("values", [[1.0, NAN], [NAN, NAN], []])
def test_no_support_anywhere_is_no_portability(values: list[float]) -> None:
    assert performance_portability(np.array(values)) == 0.0


def test_rows_have_the_portability_of_each() -> None:
    table = np.array([[1.0, 0.5], [0.25, NAN], [0.4, 0.4]])
    assert portability_of_rows(table).tolist() == [performance_portability(row) for row in table]


def test_application_efficiency_by_hand() -> None:
    found = application_efficiency(np.array([[2.0, NAN], [4.0, 3.0], [NAN, 6.0]]))
    assert np.array_equal(found, [[1.0, NAN], [0.5, 1.0], [NAN, 0.5]], equal_nan=True)


def test_architectural_efficiency_by_hand() -> None:
    # 8 GFLOP at 4000 GFLOP/s are 2 ms, 1 GB at 1000 GB/s is 1 ms: arithmetic binds on the first, memory on the second.
    places = (Place("a", Peaks(1000, 4000)), Place("b", Peaks(100, 4000)), Place("c"))
    found = architectural_efficiency(np.array([[4.0, 20.0, 1.0]]), Work(8e9, 1e9), places)
    assert found[0, :2].tolist() == [0.5, 0.5]
    assert np.isnan(found[0, 2])
    assert np.isnan(architectural_efficiency(np.array([[4.0, 20.0, 1.0]]), None, places)).all()


def test_worst_leaves_gaps_out() -> None:
    assert worst(np.array([0.9, NAN, 0.3])) == (2, 0.3)
    assert worst(np.array([NAN])) is None


def test_values_are_ordered_as_numbers_where_they_are() -> None:
    assert ordered_values(["128", "", "16", "128"]) == ("", "16", "128")
    assert ordered_values(["wide", "off"]) == ("wide", "off")


def test_values_that_do_not_vary_are_left_out() -> None:
    names, domains, table = coded(("a", "b"), [("1", "x"), ("1", "y")])
    assert (names, domains, table.tolist()) == (("b",), (("x", "y"),), [[0], [1]])


def test_nearest_counts_parameters_before_steps_and_no_times() -> None:
    table = np.array([[0, 0], [3, 0], [1, 1], [1, 2]], dtype=np.int32)
    legal = np.array([False, True, True, True])
    assert nearest_legal(table, legal, 0) == 1  # one parameter by three steps before two by one step each
    assert nearest_legal(table, np.zeros(4, bool), 0) is None


def effect(low: float | None, high: float | None, reach: float | None = 1.0) -> Effect:
    return Effect((0, "1"), 0, 1.0, low, high, 9, reach)


@pytest.mark.parametrize(
    ("effects", "places", "verdict"),
    [
        ([(1.1, 1.3), (1.2, 1.4)], 2, Verdict.TRAVELS),
        ([(1.1, 1.3), (0.9, 1.4)], 2, Verdict.LOCAL),
        ([(0.9, 1.3), (0.9, 1.4)], 2, Verdict.IDLE),
        ([(1.1, 1.3), (None, None)], 2, Verdict.UNKNOWN),
        ([(1.1, 1.3)], 2, Verdict.UNKNOWN),
        ([(1.1, 1.3)], 1, Verdict.UNKNOWN),
    ],
)
def test_verdicts(effects: list[tuple[float | None, float | None]], places: int, verdict: Verdict) -> None:
    assert verdict_of([effect(*pair) for pair in effects], places, 0.95) is verdict


def test_a_gene_that_costs_time_is_bound_if_the_best_can_have_it_everywhere() -> None:
    assert verdict_of([effect(1.1, 1.2), effect(0.7, 0.8)], 2, 0.95) is Verdict.BOUND
    assert verdict_of([effect(1.1, 1.2), effect(0.7, 0.8, 0.9)], 2, 0.95) is Verdict.TURNS
    assert verdict_of([effect(0.7, 0.8)], 2, 0.95) is Verdict.TURNS  # nothing is known of the other device


def test_what_if_by_hand() -> None:
    place = Place("a", Peaks(100, 1000), units=10, shared_bytes=48 * 1024)
    # 1 GB at 100 GB/s are 10 ms, 1 GFLOP at 1000 GFLOP/s is 1 ms. At 12.5 ms it reaches 0.8 of the memory's ceiling.
    one = case([[12.5]], places=(place,), work=Work(1e9, 1e9), shared_bytes=(20_000,))
    found = what_if(one, parse_changes("bandwidth=20x,shared=228KB,sms=5"))
    (outlook,) = found.outlooks
    # Memory then takes 0.5 ms, and half the multiprocessors 2 ms of arithmetic: 2.5 ms at the same share of 0.8.
    assert outlook.after_ms == pytest.approx(2.5)
    assert (outlook.before, outlook.after, outlook.changes) == (Bottleneck.DRAM, Bottleneck.COMPUTE, True)
    assert outlook.fits == (2, 11)
    assert found.error is None


def test_the_models_error_is_that_of_carrying_times_over() -> None:
    places = (Place("a", Peaks(100, 1e9)), Place("b", Peaks(200, 1e9)))
    # Twice the bandwidth: the model halves times. It says 2 for 3 (x1.5) and 8 for 4 (x2).
    two = case([[4.0, 3.0], [4.0, 3.5]], places=places, work=Work(1.0, 1e9), champions=(0, 1))
    error = model_error(two)
    assert error is not None
    first, second = 3.0 / 2.0, 7.0 / 4.0
    assert (error.typical, error.worst, error.pairs) == (pytest.approx(math.sqrt(first * second)), second, 2)


def test_what_a_device_does_not_tell_is_said() -> None:
    place = Place("a", Peaks(100, 1000))
    answer = what_if(case([[12.5]], places=(place,), work=Work(1e9, 1e9)), parse_changes("sms=264"))
    assert not answer.outlooks
    assert "multiprocessors is not known" in answer.unknown[0][1]
    assert changed(place, parse_changes("sms=2x")).peaks == Peaks(100, 2000)


@pytest.mark.parametrize("text", ["speed=2x", "bandwidth", "bandwidth=fast", "sms=0", "shared=3GB", "sms=1,sms=2", " "])
def test_changes_that_cannot_be_read(text: str) -> None:
    with pytest.raises(CampaignError, match=r"--what-if: .*(expected|given twice)"):
        parse_changes(text)

"""The best single variant and the smallest portfolio against enumeration."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from evo.portability.case import Case, Place
from evo.portability.efficiency import Floats, application_efficiency, performance_portability
from evo.portability.portable import most_portable, nsga2
from evo.portability.portfolio import MOST_SETS, smallest_portfolio


def random_case(seed: int, places: int, sides: tuple[int, ...], gaps: float) -> Case:
    """A table whose times have structure, as those of kernels do, and noise."""
    rng = np.random.default_rng(seed)
    table = np.array(list(product(*(range(side) for side in sides))), dtype=np.int32)
    best = rng.random((places, len(sides))) * (np.array(sides) - 1)
    slope = rng.random((places, len(sides)))
    apart = np.abs(table[:, None, :] - best) * slope
    times = np.exp(apart.sum(axis=2) * 0.4 + 0.05 * rng.standard_normal((len(table), places)))
    times[rng.random(times.shape) < gaps] = np.nan
    champions = tuple(int(np.nanargmin(times[:, place])) for place in range(places))
    return Case(
        "k", "n=1", tuple(Place(str(place)) for place in range(places)), tuple(f"p{k}" for k in range(len(sides))),
        tuple(tuple(map(str, range(side))) for side in sides), table, times, champions,
    )  # fmt: skip


def by_enumeration(efficiency: Floats) -> float:
    return max(performance_portability(row) for row in efficiency)


@pytest.mark.parametrize("seed", range(4))
def test_nsga2_finds_what_enumeration_finds(seed: int) -> None:
    case = random_case(seed, places=4, sides=(6, 5, 4, 4, 3), gaps=0.15)  # 1440 variants
    efficiency = application_efficiency(case.times_ms)
    found = most_portable(replace(case, complete=False), seed)  # without the enumeration
    assert performance_portability(efficiency[found.variant]) == by_enumeration(efficiency)
    assert found.looked_at < len(case.table)
    assert not found.exhaustive


def test_a_complete_table_is_enumerated_beside_the_search() -> None:
    case = random_case(11, places=3, sides=(6, 5, 4), gaps=0.3)
    efficiency = application_efficiency(case.times_ms)
    found = most_portable(case, 0)
    assert found.exhaustive
    assert performance_portability(efficiency[found.variant]) == by_enumeration(efficiency)


def test_the_front_holds_nobody_that_another_one_beats() -> None:
    case = random_case(3, places=2, sides=(8, 8, 4), gaps=0.0)
    efficiency = application_efficiency(case.times_ms)
    _, front = nsga2(case, efficiency, np.random.default_rng(0))
    for one, other in product(front, front):
        better = (efficiency[one] >= efficiency[other]).all() and (efficiency[one] > efficiency[other]).any()
        assert not better


def test_the_same_seed_gives_the_same_search() -> None:
    case = random_case(4, places=3, sides=(8, 8, 4), gaps=0.1)
    assert most_portable(case, 7) == most_portable(case, 7)


def test_where_nothing_runs_everywhere_the_widest_support_wins() -> None:
    times = np.array([[1.0, np.nan, np.nan], [9.0, 5.0, np.nan], [np.nan, np.nan, 1.0]])
    case = replace(random_case(0, 3, (3,), 0.0), times_ms=times, champions=(0, 1, 2))
    assert most_portable(case, 0).variant == 1


def smallest_by_enumeration(efficiency: Floats, keep: float) -> int:
    """Size of the smallest set of variants, over all sets of all variants."""
    kept = np.nan_to_num(efficiency) >= keep
    for size in range(1, efficiency.shape[1] + 1):
        for rows in combinations(range(len(kept)), size):
            if kept[list(rows)].any(axis=0).all():
                return size
    raise AssertionError("a champion keeps all of its own device")


@pytest.mark.parametrize("seed", range(8))
def test_no_smaller_portfolio_keeps_the_share(seed: int) -> None:
    case = random_case(seed, places=5, sides=(4, 3, 3), gaps=0.2)
    efficiency = application_efficiency(case.times_ms)
    found = smallest_portfolio(efficiency, 0.9)
    assert found.exact
    assert len(found.variants) == smallest_by_enumeration(efficiency, 0.9)
    served = np.array([efficiency[variant, place] for place, variant in enumerate(found.serves)])
    assert found.efficiencies == tuple(served)
    assert (served >= 0.9).all()
    assert found.pp == performance_portability(served)


def test_many_devices_are_covered_greedily_and_it_is_said() -> None:
    rng = np.random.default_rng(1)
    efficiency = np.where(rng.random((400, 24)) < 0.25, 1.0, 0.5)
    efficiency[np.arange(24), np.arange(24)] = 1.0
    found = smallest_portfolio(efficiency, 0.95)
    assert not found.exact
    assert MOST_SETS < 400**4
    assert all(value is not None and value >= 0.95 for value in found.efficiencies)


def test_a_device_on_which_nothing_runs_is_left_out() -> None:
    found = smallest_portfolio(np.array([[1.0, np.nan], [0.5, np.nan]]), 0.95)
    assert (found.variants, found.serves, found.pp) == ((0,), (0, None), 1.0)

"""A study of small recordings against figures that are computed anew from their files, without the package."""

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo.portability.analysis import CaseReport, analyse, overall
from evo.portability.as_json import report_json
from evo.portability.case import Case, Place
from evo.portability.gene_effects import LEAST_CONTEXTS, NEAR, table_effect
from evo.portability.recorded_case import recorded_case
from evo.portability.run import answer
from evo.portability.study import load_study

DATA = Path(__file__).parents[1] / "data" / "portability"
DEVICES = ("Made-up A", "Made-up B", "Made-up C")
WORK, PEAKS = (2.0e9, 1.0e8), ((400.0, 4000.0), (100.0, 2000.0), None)
Configuration = tuple[tuple[str, str], ...]


@pytest.fixture(scope="module")
def report() -> CaseReport:
    study = load_study(DATA / "study.yaml")
    (kernel,) = study.recorded
    return analyse(recorded_case(kernel.name, kernel.size, kernel.sources, kernel.work), 0, 0.95)


def table() -> dict[Configuration, list[float]]:
    """Times of every configuration of the three files, NaN where there is none."""
    found: dict[Configuration, list[float]] = {}
    for place, letter in enumerate("abc"):
        data = json.loads((DATA / f"{letter}.json").read_text())
        names = list(data["params"])
        for row in data["rows"]:
            values = {name: str(value) for name, value in zip(names, row, strict=False)}
            values.setdefault("cache", "on")  # what the study says of c
            key = tuple(sorted((name, value) for name, value in values.items() if name != "width"))
            times = found.setdefault(key, [math.nan] * 3)
            times[place] = row[-1] if row[-2] == "ok" else math.nan
    return found


def key_of(case: Case, variant: int) -> Configuration:
    return tuple(sorted(case.configuration(variant).items()))


def harmonic(values: list[float]) -> float:
    return 0.0 if any(map(math.isnan, values)) else len(values) / sum(1 / value for value in values)


def test_the_union_of_the_spaces_and_its_times(report: CaseReport) -> None:
    known, case = table(), report.case
    assert len(case.times_ms) == len(known)
    assert [place.name for place in case.places] == list(DEVICES)
    assert case.names == ("bx", "tile", "vec", "cache")
    for variant in range(len(known)):
        assert np.array_equal(case.times_ms[variant], known[key_of(case, variant)], equal_nan=True)


def test_every_cell_of_the_matrix(report: CaseReport) -> None:
    known = table()
    best = [min(times[place] for times in known.values() if not math.isnan(times[place])) for place in range(3)]
    bounds = [max(WORK[0] / (p[1] * 1e6), WORK[1] / (p[0] * 1e6)) if p else math.nan for p in PEAKS]
    for row in (*report.rows, *report.others):
        times = known[key_of(report.case, row.variant)]
        expected = [best[place] / times[place] for place in range(3)]
        for place, cell in enumerate(row.cells):
            assert (cell.time_ms is None) == math.isnan(times[place]) == bool(cell.gap)
            if cell.time_ms is not None:
                assert (cell.time_ms, cell.efficiency) == (times[place], expected[place])
                roof = bounds[place] / times[place]
                assert cell.architectural == (None if math.isnan(roof) else roof)
        assert row.pp == pytest.approx(harmonic(expected), rel=1e-15)
        supported = [value for value in expected if not math.isnan(value)]
        assert row.worst is not None and row.worst[1] == min(supported)
    assert [row.cells[place].time_ms for place, row in enumerate(report.rows)] == best


def test_each_gap_says_why_and_is_repaired_by_the_nearest(report: CaseReport) -> None:
    known = table()
    domains = {name: sorted({dict(key)[name] for key in known}, key=_rank) for name in ("bx", "tile", "vec", "cache")}
    gaps = [(row, place) for row in report.rows for place, cell in enumerate(row.cells) if cell.gap]
    assert gaps, "the files are made so that champions do not run everywhere"
    for row, place in gaps:
        own, cell = dict(key_of(report.case, row.variant)), row.cells[place]
        apart = {}
        for variant in range(len(known)):
            other = dict(key_of(report.case, variant))
            if not math.isnan(known[tuple(sorted(other.items()))][place]):
                steps = [abs(domains[n].index(own[n]) - domains[n].index(other[n])) for n in domains]
                apart[variant] = (sum(step > 0 for step in steps), sum(steps), variant)
        nearest = min(apart, key=apart.__getitem__)
        assert cell.repair is not None
        assert cell.repair.time_ms == known[key_of(report.case, nearest)][place]
        assert cell.efficiency is None and cell.architectural is None
    reasons = {row.cells[place].gap for row, place in gaps}
    assert any("failed there" in reason or "has no" in reason for reason in reasons)


def _rank(value: str) -> tuple[float, str]:
    return (float(value), "") if value.replace(".", "").isdigit() else (0.0, value)


def test_a_parameter_that_one_file_does_not_name_keeps_it_apart() -> None:
    study = load_study(DATA / "study.yaml")
    (kernel,) = study.recorded
    first, _, third = kernel.sources
    apart = recorded_case("blur", "n", (first, type(third)(third.place, third.recording)))
    joined = recorded_case("blur", "n", (first, third))
    assert not (~np.isnan(apart.times_ms)).all(axis=1).any()
    assert (~np.isnan(joined.times_ms)).all(axis=1).any()
    assert "its recording names no cache" in apart.reasons.values()


def test_best_single_variant_and_portfolio_by_enumeration(report: CaseReport) -> None:
    known = table()
    best = [min(t[place] for t in known.values() if not math.isnan(t[place])) for place in range(3)]
    rows = {key: [best[place] / times[place] for place in range(3)] for key, times in known.items()}
    assert report.single.pp == pytest.approx(max(map(harmonic, rows.values())), rel=1e-15)
    kept = [{place for place in range(3) if row[place] >= 0.95} for row in rows.values()]
    least = next(k for k in (1, 2, 3) if any(set().union(*some) == {0, 1, 2} for some in combinations(kept, k)))
    assert len(report.portfolio.variants) == least


def test_effects_of_genes_recomputed_with_plain_loops(report: CaseReport) -> None:
    known = table()
    compared = 0
    for gene in report.genes:
        for effect in gene.effects:
            gains, best = [], min(t[effect.place] for t in known.values() if not math.isnan(t[effect.place]))
            groups: dict[Configuration, list[tuple[str, float]]] = {}
            for key, times in known.items():
                if not math.isnan(times[effect.place]):
                    rest = tuple(pair for pair in key if pair[0] != gene.name)
                    groups.setdefault(rest, []).append((dict(key)[gene.name], times[effect.place]))
            for members in groups.values():
                own = [time for value, time in members if value == gene.value]
                others = [time for value, time in members if value != gene.value]
                if own and others and min(time for _, time in members) <= NEAR * best:
                    gains.append(sum(map(math.log, others)) / len(others) - math.log(own[0]))
            assert effect.contexts == len(gains)
            assert effect.factor == pytest.approx(math.exp(sum(gains) / len(gains)))
            assert (effect.low is None) == (len(gains) < LEAST_CONTEXTS)
            if effect.low is not None and effect.high is not None:
                assert effect.low <= effect.factor <= effect.high
            compared += 1
    assert compared > 8


def test_a_gene_of_known_worth_is_found_with_an_interval_around_it() -> None:
    rng = np.random.default_rng(2)
    grid = np.array([(a, b) for a in range(2) for b in range(200)], dtype=np.int32)
    noise = np.exp(0.02 * rng.standard_normal(len(grid)))
    times = np.where(grid[:, 0] == 1, 1.0, 1.1) * noise  # the second value of the first parameter is worth 1.1
    case = Case("k", "n", (Place("a"),), ("g", "rest"), (("0", "1"), tuple(map(str, range(200)))), grid,
                times[:, None], (int(np.argmin(times)),))  # fmt: skip
    effect = table_effect(case, (0, "1"), 0, 0)
    assert effect is not None and effect.low is not None and effect.high is not None
    assert effect.low < 1.1 < effect.high
    assert effect.high - effect.low < 0.02


def test_the_interval_covers_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        grid = np.array([(a, b) for a in range(2) for b in range(40)], dtype=np.int32)
        times = np.where(grid[:, 0] == 1, 1.0, 1.05) * np.exp(0.02 * rng.standard_normal(80))
        case = Case("k", "n", (Place("a"),), ("g", "r"), (("0", "1"), tuple(map(str, range(40)))), grid,
                    times[:, None], (0,))  # fmt: skip
        effect = table_effect(case, (0, "1"), 0, seed)
        assert effect is not None and effect.low is not None and effect.high is not None
        covered += effect.low <= 1.05 <= effect.high
    assert covered >= 86  # 95% asked; fewer than 86 of 100 would be seen once in ten thousand times


def test_over_all_is_the_harmonic_mean_of_every_pair(report: CaseReport) -> None:
    twice = overall([report, report])
    single = next(row for row in twice if row.name == "best single variant")
    assert single.count == 6
    assert single.pp == pytest.approx(report.single.pp)


def test_json_holds_what_the_guide_promises() -> None:
    study = load_study(DATA / "study.yaml")
    (kernel,) = study.recorded
    case = recorded_case(kernel.name, kernel.size, kernel.sources, kernel.work)
    data: dict[str, Any] = report_json(answer(study, (case,), (), "", (), lambda text: None))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert {"matrix", "pp", "portfolio", "genes", "portable", "waiting", "what_if", "notes"} <= set(data)
    (matrix,) = data["matrix"]
    assert len(matrix["efficiency"]) == len(matrix["rows"]) == len(matrix["configurations"])
    assert data["notes"] == ["Made-up C: cache=on by the study, not by the recording"]

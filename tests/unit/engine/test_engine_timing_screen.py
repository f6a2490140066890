"""The second look of the surrogate: it learns from what the compiler said, and earns what it discards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluator.result import Resources
from evo.evolve import evolve
from evo.state import Candidate
from evo.timing_screen import TimingScreen
from genome.genes import Genome
from genome.variant import Variant
from knowledge.compiled_features import COMPILED_FEATURES, compiled_features
from knowledge.records import TrainingRow
from knowledge.surrogate import BLIND_STD, Surrogate
from knowledge.trust import FEWEST, Observation, calibration
from operators.base import Proposal

RNG_SEED = 5


def surrogate(compiled: bool = True) -> Surrogate:
    return Surrogate((0.0,), (), (), seed=3, compiled=compiled)


def row(registers: int, gain: float | None) -> TrainingRow:
    resources = Resources(registers=registers, spills_bytes=0)
    return TrainingRow(Genome(), (0.0,), (), (), gain, gain is None, True, True, resources)


def spilling(count: int) -> tuple[list[int], list[float]]:
    """A landscape that only the compiler knows: the more registers, the slower."""
    registers = [int(r) for r in np.random.default_rng(RNG_SEED).integers(16, 255, size=count)]
    return registers, [4.0 - r / 32.0 for r in registers]


def test_what_the_compiler_said_predicts_what_genomes_cannot() -> None:
    rows = [row(*pair) for pair in zip(*spilling(40), strict=True)]
    model = surrogate()
    model.fit(rows)
    asked = [Resources(registers=r, spills_bytes=0) for r in (32, 100, 230)]
    mean, _, _ = model.predict([Genome()] * 3, asked)
    assert mean[0] > mean[1] + 1.0 > mean[2] + 2.0
    before = surrogate(compiled=False)
    before.fit(rows)
    assert np.ptp(before.predict([Genome()] * 3)[0]) == 0.0


def test_rows_of_which_the_compiler_said_nothing_are_left_out() -> None:
    model = surrogate()
    model.fit([replace(row(32 + number, 1.0), resources=None) for number in range(20)])
    mean, std, _ = model.predict([Genome()], [Resources(registers=32)])
    assert mean[0] == 0.0 and std[0] == BLIND_STD


def test_the_vector_has_its_names_and_shares_of_the_mix() -> None:
    said = Resources(64, 15, 1023, None, 0.5, (("float", 30), ("global", 10)))
    named = dict(zip(COMPILED_FEATURES, compiled_features(said), strict=True))
    assert named["registers"] == 64.0 and named["spills"] == 4.0 and named["shared"] == 10.0
    assert named["private"] == 0.0 and named["occupancy"] == 0.5
    assert named["share.float"] == 0.75 and named["share.global"] == 0.25 and named["share.tensor"] == 0.0


@pytest.fixture
def candidates(bench: Any) -> list[Candidate]:
    """Distinct variants, which tell the model nothing."""
    plain = bench.lowered(Genome())
    return [
        Candidate(Proposal(Genome(), "x", ()), replace(plain, source=f"// {number}"), "unknown", None, number)  # type: ignore[arg-type]
        for number in range(200)
    ]


def played(screen: TimingScreen, candidates: list[Candidate], gains: list[float], registers: list[int]) -> list[bool]:
    """What passes, each outcome told as soon as it is known."""
    rng, passed = np.random.default_rng(RNG_SEED), []
    for candidate, gain, used in zip(candidates, gains, registers, strict=True):
        kept = screen.compiled(candidate, Resources(registers=used, spills_bytes=0), rng)
        passed.append(kept is not None)
        if kept is not None:
            screen.observe(kept, replace(row(used, gain), genome=candidate.variant.genome))
    return passed


def test_a_model_that_is_right_keeps_the_best_and_saves_time(candidates: list[Candidate]) -> None:
    registers, gains = spilling(120)
    screen = TimingScreen(surrogate(), 0.1)
    passed = np.array(played(screen, candidates[:120], gains, registers))
    assert passed[:FEWEST].all(), "nothing is discarded before there is proof"
    report = screen.report(device_s=2.0)
    assert report.pruned == (~passed).sum() > 30
    assert report.saved_s == 2.0 * report.pruned
    assert report.rank_correlation is not None and report.rank_correlation > 0.8
    best = np.argsort(gains)[-12:]
    assert passed[best].mean() > passed.mean() + 0.15


def test_a_model_that_knows_nothing_discards_nothing(candidates: list[Candidate]) -> None:
    registers, _ = spilling(60)
    gains = [float(gain) for gain in np.random.default_rng(9).normal(size=60)]
    passed = played(TimingScreen(surrogate(), 0.1), candidates[:60], gains, registers)
    assert np.mean(passed) > 0.9


def test_what_must_be_seen_is_timed_whatever_it_promises(candidates: list[Candidate]) -> None:
    registers, gains = spilling(60)
    screen = TimingScreen(surrogate(), 0.0)
    played(screen, candidates[:60], gains, registers)
    rng, worst = np.random.default_rng(0), Resources(registers=255, spills_bytes=0)
    doubted, recalled = Proposal(Genome(), "x", (), "", True), Proposal(Genome(), "x", (), "", False, 2.0)
    for number, special in enumerate((doubted, recalled) * 3, 100):
        assert screen.compiled(replace(candidates[number], proposal=special), worst, rng) is not None
    assert screen.compiled(replace(candidates[150], forced=True), worst, rng) is not None
    ordinary = [screen.compiled(candidate, worst, rng) for candidate in candidates[160:170]]
    assert any(kept is None for kept in ordinary) and any(kept is not None for kept in ordinary)


def test_devices_whose_compiler_says_nothing_time_everything(candidates: list[Candidate]) -> None:
    screen, rng = TimingScreen(surrogate(), 0.1), np.random.default_rng(0)
    assert all(screen.compiled(candidate, Resources(), rng) is not None for candidate in candidates[:60])
    assert screen.report().rows == 0


def test_calibration_is_the_share_within_one_deviation() -> None:
    rng = np.random.default_rng(1)
    errors = rng.normal(size=4000)
    right = [Observation(0.0, float(error), True, 0.0, 1.0) for error in errors]
    assert calibration(right) == pytest.approx(0.683, abs=0.02)
    assert calibration([replace(item, std=0.1) for item in right]) == pytest.approx(0.08, abs=0.02)
    assert calibration(right[: FEWEST - 1]) is None


def test_a_campaign_spends_its_budget_on_what_was_let_through(bench: Any) -> None:
    class Telling(bench.evaluator_type):  # type: ignore[name-defined, misc]
        """Its compiler tells registers that grow with the time."""

        def compile(self, ticket: int, variant: Variant) -> None:
            super().compile(ticket, variant)
            registers = int(min(255.0, 2.5 * bench.seconds(variant.genome)))
            self.queue[-1] = replace(self.queue[-1], resources=Resources(registers=registers, spills_bytes=0))

    device, memory = Telling([0.0]), bench.memory_type()
    parts = bench.parts(device, memory, timing_surrogate=surrogate())
    result = evolve(bench.campaign(evaluations=60), parts, observer=bench.watcher())
    report = result.timing_surrogate
    assert report.fits >= 5 and report.rank_correlation is not None and report.rank_correlation > 0.5
    assert result.counts.evaluations == 60
    assert result.counts.pruned == report.pruned > 0
    assert result.surrogate.fits == 0, "the first look was not asked for"

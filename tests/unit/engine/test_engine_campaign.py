"""Whole campaigns on the synthetic kernel: search, determinism, caches, resume, quarantine, proof, explanation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluator.result import Status
from evo.evolve import evolve
from evo.memory import NoMemory
from evo.progress import CampaignPhase
from evo.result import CampaignResult, StopReason
from genome.genes import Genome, Site
from genome.variant import Rejection

BEST = 8**0.75 * 4**0.75 * 1.3  # of the synthetic formula


def run(bench: Any, evaluator: Any, memory: Any = None, stop: Any = None, resume: bool = False, agents: Any = None,
        **changes: Any) -> CampaignResult:  # fmt: skip
    parts = bench.parts(evaluator, memory, **({"agents": agents} if agents else {}))
    return evolve(bench.campaign(**changes), parts, observer=bench.watcher(), stop=stop, resume=resume)


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_tile_and_proves_it(bench: Any, seed: int) -> None:
    result = run(bench, bench.evaluator(), seed=seed)
    assert result.improved
    assert result.comparison.verified
    assert result.comparison.speedup > 0.9 * BEST
    assert result.stop is StopReason.EVALUATIONS
    assert result.counts.evaluations == 60
    assert result.best.genome.find("register_tile") is not None


def test_the_same_seed_gives_the_same_proposals(bench: Any) -> None:
    first, second, other = bench.evaluator(), bench.evaluator(), bench.evaluator()
    one, two = run(bench, first), run(bench, second)
    assert [v.digest() for v in first.measured] == [v.digest() for v in second.measured]
    assert [(p.agent, p.variant, p.speedup) for p in one.history] == [
        (p.agent, p.variant, p.speedup) for p in two.history
    ]
    run(bench, other, seed=2)
    assert [v.digest() for v in other.measured] != [v.digest() for v in first.measured]


def test_nothing_is_measured_twice(bench: Any) -> None:
    evaluator = bench.evaluator()
    result = run(bench, evaluator)
    doubted = sum(p.agent == "verifier" for p in result.agents)
    searched = [v.digest() for v in evaluator.measured[:60]]
    verified = sum(tally.proposals for tally in result.agents if tally.agent == "verifier")
    assert len(searched) - len(set(searched)) == verified
    assert doubted <= 1


def test_the_explanation_names_every_gene_and_its_share(bench: Any) -> None:
    result = run(bench, bench.evaluator())
    assert [row.gene for row in result.explanation] == list(result.best.genome.genes)
    assert sum(row.share for row in result.explanation) == pytest.approx(1.0)
    by_name = {row.gene.transform: row for row in result.explanation}
    assert by_name["register_tile"].factor is not None
    assert by_name["register_tile"].factor > 5.0
    assert by_name["register_tile"].share > by_name["unroll"].share if "unroll" in by_name else True


def test_every_outcome_is_in_the_base_at_once(bench: Any) -> None:
    memory, evaluator = bench.memory_type(), bench.evaluator()
    result = run(bench, evaluator, memory)
    (rows,) = memory.rows.values()
    assert rows[0].lineage.agent == "baseline"
    assert len(rows) == 1 + result.counts.evaluations
    assert len({row.lineage.generation for row in rows}) == len(rows)
    assert memory.finished[1]["speedup"]["median"] == pytest.approx(result.comparison.speedup)


def test_a_second_campaign_remeasures_the_champion_first_and_looks_the_rest_up(bench: Any) -> None:
    memory = bench.memory_type()
    cold = run(bench, bench.evaluator(), memory)
    memory._priors = (bench.prior(cold.best.genome, cold.comparison.speedup),)
    evaluator, watcher = bench.evaluator(), bench.watcher()
    warm = evolve(bench.campaign(evaluations=20, seed=7), bench.parts(evaluator, memory), observer=watcher)
    assert watcher.start is not None
    assert "knows this kernel" in watcher.start.known
    fastest = max(row.speedup or 0.0 for row in memory.rows[1])
    assert evaluator.measured[0].digest() in {row.variant for row in memory.rows[1] if row.speedup == fastest}
    assert warm.comparison.speedup >= cold.comparison.speedup
    old = {row.variant for row in memory.rows[1]}
    assert not old & {v.digest() for v in evaluator.measured[1:20]}
    assert warm.counts.evaluations == 20
    assert warm.counts.cached >= 5
    cached = [row for row in memory.rows[2] if row.cached]
    assert len(cached) == warm.counts.cached


def test_at_another_size_priors_reach_the_gain_in_a_third_of_the_measurements(bench: Any) -> None:
    def until(result: CampaignResult, goal: float) -> int:
        return next(p.evaluation for p in result.history if p.speedup is not None and p.speedup >= goal)

    ratios = []
    for seed in range(5):
        cold = run(bench, bench.evaluator(), seed=seed)
        goal = 0.95 * max(p.speedup or 0.0 for p in cold.history)
        prior = bench.prior(cold.best.genome, cold.comparison.speedup, distance=0.3)
        warm = run(bench, bench.evaluator(), bench.memory_type((prior,)), seed=seed + 100)
        ratios.append(until(warm, goal) / until(cold, goal))
    assert float(np.median(ratios)) <= 1 / 3


def test_a_killed_campaign_goes_on_without_measuring_anything_again(bench: Any) -> None:
    class Killed(Exception):
        pass

    def killer(variant: Any, number: int) -> None:
        if number == 23:
            raise Killed

    memory, first = bench.memory_type(), bench.evaluator(verdict=killer)
    with pytest.raises(Killed):
        run(bench, first, memory)
    stored = len(memory.rows[1])
    assert stored == 1 + 22
    second = bench.evaluator()
    result = run(bench, second, memory, resume=True)
    assert result.campaign_id == 1
    assert result.counts.evaluations == 60
    assert len(memory.rows[1]) == 1 + 60
    again = {row.variant for row in memory.rows[1][:stored]} & {v.digest() for v in second.measured[: 60 - 22]}
    assert not again
    assert len({row.lineage.generation for row in memory.rows[1]}) == len(memory.rows[1])
    assert result.comparison.speedup > 0.9 * BEST


def test_a_stop_request_ends_the_search_with_the_best_so_far(bench: Any) -> None:
    memory, evaluator = bench.memory_type(), bench.evaluator()
    result = run(bench, evaluator, memory, stop=lambda: len(evaluator.measured) >= 15)
    assert result.stop is StopReason.INTERRUPTED
    assert result.counts.evaluations <= 17
    assert result.best.digest() != result.baseline.digest()
    assert not result.comparison.verified
    assert "resume" in result.comparison.message
    assert memory.finished == {}
    assert evaluator.proofs == []


def test_what_nothing_remembers_is_not_offered_to_be_resumed(bench: Any) -> None:
    evaluator = bench.evaluator()
    result = run(bench, evaluator, NoMemory(), stop=lambda: len(evaluator.measured) >= 15)
    assert result.stop is StopReason.INTERRUPTED
    assert "stopped by the user" in result.comparison.message and "resume" not in result.comparison.message


def test_patience_and_minutes_end_a_campaign(bench: Any) -> None:
    patient = run(bench, bench.evaluator(), evaluations=500, patience=25)
    assert patient.stop is StopReason.PATIENCE
    assert patient.counts.evaluations < 200
    short = run(bench, bench.evaluator(), evaluations=500, minutes=0.5)
    assert short.stop is StopReason.MINUTES
    assert 15 <= short.counts.evaluations <= 30


def test_an_exhausted_space_ends_a_campaign(bench: Any) -> None:
    def tiny(genome: Genome, only: Any = None) -> tuple[Any, ...]:
        return (
            bench.move(bench.named("unroll"), Site("k", "reduction[0]"), {"factor": (2, 4)}, genome.find("unroll")),
        )

    parts = bench.parts(bench.evaluator(), moves=tiny)
    result = evolve(bench.campaign(), parts, observer=bench.watcher())
    assert result.stop is StopReason.EXHAUSTED
    assert result.counts.evaluations == 2
    assert result.comparison.speedup == pytest.approx(1.3)


def test_wrong_variants_are_counted_and_never_best(bench: Any) -> None:
    def verdict(variant: Any, number: int) -> Status | None:
        return Status.WRONG if variant.genome.find("register_tile") else None

    result = run(bench, bench.evaluator(verdict=verdict))
    assert result.counts.wrong > 5
    assert result.best.genome.find("register_tile") is None


def test_a_finalist_that_fails_its_proof_is_quarantined_and_the_next_one_wins(bench: Any) -> None:
    evaluator = bench.evaluator()
    leader = run(bench, evaluator).best.digest()
    second = bench.evaluator(refuted=frozenset({leader}))
    result = run(bench, second)
    assert result.best.digest() != leader
    assert result.comparison.verified
    assert [q.variant.digest() for q in result.quarantined] == [leader]
    assert any("thrown out" in note for note in result.notes)


def test_the_baseline_wins_if_nothing_beats_it(bench: Any) -> None:
    result = run(bench, bench.evaluator(time_of=lambda variant: 100.0), evaluations=10)
    assert not result.improved
    assert result.best.digest() == result.baseline.digest()
    assert result.comparison.speedup == 1.0
    assert result.comparison.verified


def test_a_leap_is_no_parent_until_a_second_measurement_agrees(bench: Any) -> None:
    calls: dict[str, int] = {}

    def time_of(variant: Any) -> float:
        honest = float(bench.seconds(variant.genome))
        if not variant.genome.find("foreign"):
            return honest
        calls[variant.digest()] = calls.get(variant.digest(), 0) + 1
        return honest / 300.0 if calls[variant.digest()] <= 2 else honest  # two sizes of the first measurement

    result = run(bench, bench.evaluator(time_of=time_of))
    assert result.counts.quarantined > 0
    assert all("measured again" in q.reason for q in result.quarantined)
    assert result.comparison.speedup < 2 * BEST


def test_what_was_thrown_out_stays_out_of_the_base_and_of_a_resumed_run(bench: Any) -> None:
    class Killed(Exception):
        pass

    def seconds(variant: Any) -> float:
        return float(bench.seconds(variant.genome)) / (300.0 if variant.genome.find("foreign") else 1.0)

    def killer(variant: Any, number: int) -> None:
        if variant.genome.find("foreign"):
            doubted.append(variant.digest())
        if len(doubted) == 1 and doubted[0] != variant.digest():
            raise Killed  # before the second look

    doubted: list[str] = []
    memory = bench.memory_type()
    with pytest.raises(Killed):
        run(bench, bench.evaluator(time_of=seconds, verdict=killer), memory)
    honest = bench.evaluator()
    result = run(bench, honest, memory, resume=True)
    assert doubted[0] in [variant.digest() for variant in honest.measured]  # the doubt was not forgotten
    assert doubted[0] in [q.variant.digest() for q in result.quarantined]
    assert result.comparison.speedup < 2 * BEST
    last = [row for row in memory.rows[1] if row.variant == doubted[0]][-1]
    assert last.speedup is None
    again = run(bench, bench.evaluator(), memory, resume=True)
    assert again.best.digest() != doubted[0]


def test_a_crash_is_tried_again_and_the_variant_before_it_is_doubted(bench: Any) -> None:
    """A stray write of ``foreign`` kills the process only when the next variant runs in it."""
    previous: list[Any] = []

    def verdict(variant: Any, number: int) -> Status | None:
        guilty = bool(previous) and previous[-1].genome.find("foreign") is not None
        repeated = bool(previous) and previous[-1].digest() == variant.digest()
        previous.append(variant)
        if variant.genome.find("foreign") and any(v.digest() == variant.digest() for v in previous[:-1]):
            return Status.STRAY_WRITE  # looked at alone, it is caught
        return Status.CRASH if guilty and not repeated and not variant.genome.find("foreign") else None

    result = run(bench, bench.evaluator(verdict=verdict))
    assert result.quarantined
    assert all(q.variant.genome.find("foreign") for q in result.quarantined)
    assert all("crashed right after it" in q.reason for q in result.quarantined)


def test_rejections_are_recorded_and_cost_nothing(bench: Any) -> None:
    def narrow(genome: Genome) -> Any:
        return Rejection(genome, "no y") if genome.find("block_shape", "y") else bench.lowered(genome)

    memory, evaluator = bench.memory_type(), bench.evaluator()
    parts = replace(bench.parts(evaluator, memory), lower=narrow)
    result = evolve(bench.campaign(), parts, observer=bench.watcher())
    assert result.counts.rejected == len(memory.rejections) > 0
    assert result.counts.evaluations == 60


def test_the_observer_sees_phases_and_counts(bench: Any) -> None:
    evaluator, watcher = bench.evaluator(), bench.watcher()
    evolve(bench.campaign(), bench.parts(evaluator), observer=watcher)
    phases = list(dict.fromkeys(snapshot.phase for snapshot in watcher.snapshots))
    assert phases == list(CampaignPhase)
    counts = [snapshot.evaluations for snapshot in watcher.snapshots]
    assert counts == sorted(counts)
    assert watcher.snapshots[-1].best is not None
    assert watcher.result is not None

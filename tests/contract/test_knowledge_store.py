"""The store against a real Postgres: round trips, natural keys, optima, priors, hostile data, concurrent writers."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

import psycopg
import pytest

from evaluator.api import Comparison, SizeComparison
from evaluator.result import Bottleneck, DeviceInfo, Evaluation, Profile, Resources, Status, Timing, Toolchain
from genome.genes import Gene, Genome, Site
from genome.sizes import SizeExpr
from genome.spec import ProblemSize
from genome.variant import GridAxis, Launch, Memset, Rejection, SkippedGene, Target, Variant
from knowledge.errors import KnowledgeError
from knowledge.features import KERNEL_FEATURE_VERSION, label_features
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome
from knowledge.store import KnowledgeBase
from knowledge.trust import SurrogateMetrics

CPU = DeviceInfo("opencl:0", "Fast CPU", "Someone", "x86-64", "cpu", 8, 2**34, max_threads=4096)
GPU = DeviceInfo("cuda:0", "NVIDIA H200", "NVIDIA", "sm_90", "gpu", 132, 141 * 2**30)
TOOLS = Toolchain("PoCL 3.0", "3.0", "clang 14")
BIG = ProblemSize((("M", 512), ("N", 512)))
SMALL = ProblemSize((("M", 64), ("N", 64)))
UNROLL = Gene.of("unroll", Site("k", "reduction[0]"), factor=4)
TILE = Gene.of("strip", Site("k", "reduction[0]"), factor=16)


@dataclass(frozen=True)
class Campaign:
    """One campaign on a kernel of its own, with the outcomes that a test needs."""

    base: KnowledgeBase
    kernel: KernelRecord
    device: DeviceInfo
    id: int

    def outcome(
        self, number: int, genes: tuple[Gene, ...], ms: float, speedup: float | None, status: Status = Status.OK,
        size: ProblemSize = BIG, cached: bool = False,
    ) -> Outcome:  # fmt: skip
        genome = Genome(genes)
        variant = Variant("k", Target.OPENCL, f"// {genome.digest()}", (), genome=genome, proposed=genome)
        timing = Timing((ms, ms), ms, ms * 0.9, ms * 1.1) if status is Status.OK else None
        evaluation = Evaluation(variant.digest(), size.label, status, timing=timing)
        return Outcome(variant, (evaluation,), (), Lineage("memory", generation=number), speedup, cached=cached)

    def record(self, *outcomes: Outcome) -> None:
        for outcome in outcomes:
            self.base.record(self.id, outcome)

    def best_genes(self) -> tuple[Gene, ...]:
        """Genes of the optimum at the big size on this device."""
        return self.base.best(self.kernel.name, self.device.name, BIG.label)[0].genome.genes


def kernel_record(name: str | None = None, features: tuple[float, ...] = (1.0, 0.5)) -> KernelRecord:
    digest = uuid.uuid4().hex[:16]
    sizes = tuple((size.label, label_features(size.env)) for size in (BIG, SMALL))
    return KernelRecord(name or f"kernel-{digest}", digest, "source", "entry", features, KERNEL_FEATURE_VERSION, sizes)


Starter = Callable[..., Campaign]


@pytest.fixture
def start(knowledge_base: KnowledgeBase) -> Starter:
    def begin(
        kernel: KernelRecord | None = None, device: DeviceInfo = CPU, seed: int = 1, resume: bool = False,
        contract: str = "", **settings: object,
    ) -> Campaign:  # fmt: skip
        record = kernel or kernel_record()
        given = {"budget": {"evaluations": 9}, **settings}
        campaign = CampaignRecord(record.name, record, device, TOOLS, seed, "0.1", given, contract)
        return Campaign(knowledge_base, record, device, knowledge_base.start_campaign(campaign, resume))

    return begin


def test_an_outcome_comes_back_as_it_went_in(start: Starter) -> None:
    campaign = start()
    grid = (GridAxis(SizeExpr("N"), 64), GridAxis(SizeExpr("M")), GridAxis(SizeExpr("1")))
    steps = (Memset("out"), Launch("k", grid, (64, 1, 1), ("a",)))
    skipped = (SkippedGene(TILE, "the loop's trip count is not divisible"),)
    variant = Variant("k", Target.CUDA, "code", steps, options=("-O3",), proposed=Genome((UNROLL, TILE)),
                      genome=Genome((UNROLL,)), skipped=skipped)  # fmt: skip
    timing = Timing((1.0, 1.5, 1.25), 1.25, 1.0, 1.5)
    tuned = Evaluation(
        variant.digest(), BIG.label, Status.OK, "", timing, Resources(32, 0, 1024, None, 0.5),
        Profile(Bottleneck.DRAM, "because", 10.0, 20.0, 1.0, 2.0, 0.5, ("bytes",)), 0.25, False, 0.1, 0.2, "time",
    )  # fmt: skip
    check = Evaluation(variant.digest(), SMALL.label, Status.WRONG, "off by one", max_error=7.5, stage="check")
    lineage = Lineage("crossover", ("aa", "bb"), (UNROLL,), 3)
    campaign.record(Outcome(variant, (tuned,), (check,), lineage, 1.5, 0.5, True, False))
    (found,) = campaign.base.outcomes(campaign.id)
    assert (found.variant, found.genome, found.proposed) == (variant.digest(), variant.genome, variant.proposed)
    assert found.evaluations == (tuned,) and found.checks == (check,) and found.lineage == lineage
    assert (found.speedup, found.predicted, found.forced, found.cached) == (1.5, 0.5, True, False)
    assert campaign.base.lookup(campaign.kernel.digest, CPU, TOOLS, variant.digest()) == (tuned, check)
    assert campaign.base.lookup(campaign.kernel.digest, GPU, TOOLS, variant.digest()) == ()


def test_recording_twice_changes_nothing(start: Starter) -> None:
    campaign = start()
    outcome = campaign.outcome(1, (UNROLL,), 1.0, 2.0)
    campaign.record(outcome)
    before = campaign.base.counts()
    campaign.record(outcome)
    lineage = Lineage("memory", generation=2)
    for _ in range(2):
        campaign.base.reject(campaign.id, Rejection(Genome((TILE,)), "too many threads"), lineage)
    after = campaign.base.counts()
    assert after["rejections"] == before["rejections"] + 1
    assert {name: after[name] for name in ("evaluations", "variants", "optima")} == {
        name: before[name] for name in ("evaluations", "variants", "optima")
    }


def test_a_variant_measured_again_gets_a_new_row(start: Starter) -> None:
    campaign = start()
    before = campaign.base.counts()["evaluations"]
    campaign.record(campaign.outcome(1, (UNROLL,), 1.0, 2.0), campaign.outcome(2, (UNROLL,), 1.2, 1.8))
    assert campaign.base.counts()["evaluations"] == before + 2


def test_look_ups_are_no_new_evidence(start: Starter) -> None:
    campaign = start()
    before = campaign.base.counts()["evaluations"]
    campaign.record(campaign.outcome(1, (UNROLL,), 1.0, 2.0, cached=True))
    assert campaign.base.counts()["evaluations"] == before
    assert campaign.base.best(campaign.kernel.name) == ()
    assert campaign.base.outcomes(campaign.id)[0].evaluations[0].timing is not None


def test_timeouts_are_not_looked_up(start: Starter) -> None:
    campaign = start()
    lost = campaign.outcome(1, (UNROLL,), 1.0, None, Status.TIMEOUT)
    wrong = campaign.outcome(2, (TILE,), 1.0, None, Status.WRONG)
    campaign.record(lost, wrong)
    digest = campaign.kernel.digest
    assert campaign.base.lookup(digest, CPU, TOOLS, lost.variant.digest()) == ()
    assert campaign.base.lookup(digest, CPU, TOOLS, wrong.variant.digest())[0].status is Status.WRONG


def test_the_optimum_is_the_fastest_and_its_speedup_is_against_the_own_baseline(start: Starter) -> None:
    campaign = start()
    campaign.record(
        campaign.outcome(0, (), 8.0, 1.0),
        campaign.outcome(1, (UNROLL,), 2.0, 4.0),
        campaign.outcome(2, (TILE,), 4.0, 2.0),
    )
    (best,) = campaign.base.best(campaign.kernel.name)
    assert best.genome.genes == (UNROLL,) and (best.best_ms, best.baseline_ms, best.speedup) == (2.0, 8.0, 4.0)
    assert best.agent == "memory" and best.size == BIG.label


def test_a_lucky_sample_does_not_stay_on_top(start: Starter) -> None:
    campaign = start()
    campaign.record(campaign.outcome(0, (), 8.0, 1.0), campaign.outcome(1, (TILE,), 2.0, 4.0))
    campaign.record(campaign.outcome(2, (UNROLL,), 1.0, 8.0))
    assert campaign.best_genes() == (UNROLL,)
    campaign.record(campaign.outcome(3, (UNROLL,), 5.0, 1.6), campaign.outcome(4, (UNROLL,), 5.0, 1.6))
    assert campaign.best_genes() == (TILE,)


def test_a_variant_found_wrong_later_is_dethroned_but_a_crash_is_forgiven(start: Starter) -> None:
    campaign = start()
    campaign.record(
        campaign.outcome(0, (), 8.0, 1.0),
        campaign.outcome(1, (TILE,), 2.0, 4.0),
        campaign.outcome(2, (UNROLL,), 1.0, 8.0),
    )
    campaign.record(campaign.outcome(3, (TILE,), 0.0, None, Status.CRASH))
    assert campaign.best_genes() == (UNROLL,)
    campaign.record(campaign.outcome(4, (UNROLL,), 0.0, None, Status.UNSTABLE))
    assert campaign.best_genes() == (TILE,)
    campaign.record(campaign.outcome(5, (UNROLL,), 1.0, 8.0))  # right this time proves nothing
    assert campaign.best_genes() == (TILE,)
    campaign.record(campaign.outcome(6, (TILE,), 0.0, None, Status.WRONG))
    assert campaign.best_genes() == ()


def test_priors_come_nearest_first_and_say_why(start: Starter) -> None:
    features = (0.0,) * 7 + (1.0, 3.0)
    here = start(kernel_record(features=features))
    here.record(here.outcome(0, (), 8.0, 1.0), here.outcome(1, (UNROLL,), 2.0, 4.0))
    here.record(here.outcome(2, (), 1.0, 1.0, size=SMALL), here.outcome(3, (TILE,), 0.5, 2.0, size=SMALL))
    there = start(here.kernel, GPU)
    vector = Gene.of("vectorise", Site("copies", "copies"), width=4)
    there.record(there.outcome(0, (), 4.0, 1.0), there.outcome(1, (vector,), 1.0, 4.0))
    like = start(kernel_record("cousin", features=(*features[:-1], 3.1)))
    swap = Gene.of("axis_swap", Site("axes", "parallel"))
    like.record(like.outcome(0, (), 4.0, 1.0), like.outcome(1, (swap,), 1.0, 4.0))
    far = start(kernel_record(features=(0.0,) * 7 + (9.0, 3.0)))
    far.record(far.outcome(0, (), 4.0, 1.0), far.outcome(1, (Gene.of("x", Site("y")),), 1.0, 4.0))

    found = here.base.priors(here.kernel, CPU, TOOLS, (BIG,), 10)
    assert [prior.genome.genes for prior in found] == [(UNROLL,), (TILE,), (vector,), (swap,)]
    assert [prior.distance for prior in found] == sorted(prior.distance for prior in found)
    assert found[0].distance == 0.0 and found[0].speedup == 4.0
    assert found[0].why == "the same kernel on this device at M=512,N=512: 4.00x in the search"
    assert "NVIDIA H200" in found[2].why and "cousin" in found[3].why
    assert here.base.priors(here.kernel, CPU, TOOLS, (BIG,), 1) == found[:1]
    other_tools = here.base.priors(here.kernel, CPU, replace(TOOLS, driver="4.0"), (BIG,), 1)
    assert "another toolchain" in other_tools[0].why


def test_proven_variants_are_priors_beside_the_optimum_unless_they_failed_since(start: Starter) -> None:
    campaign = start(kernel_record(features=(0.0,) * 13 + (6.0,)))  # nothing else is near it
    swap = Gene.of("axis_swap", Site("axes", "parallel"))
    lucky = campaign.outcome(1, (TILE,), 1.0, 4.0)
    proven = {
        speedup: campaign.outcome(n, genes, 1.5, 2.6) for n, speedup, genes in ((2, 2.5, (UNROLL,)), (3, 2.0, (swap,)))
    }
    campaign.record(campaign.outcome(0, (), 4.0, 1.0), lucky, *proven.values())
    for speedup, outcome in proven.items():
        low, high = speedup - 0.1, speedup + 0.1
        row = SizeComparison(BIG.label, 4.0, 4.0 / speedup, speedup, low, high)
        proof = Comparison(outcome.variant.digest(), (row,), speedup, low, high, True, processes=5)
        campaign.base.prove(campaign.id, proof)

    def known(size: ProblemSize) -> list[tuple[tuple[Gene, ...], float, bool]]:
        found = campaign.base.priors(campaign.kernel, CPU, TOOLS, (size,), 9)
        return [(prior.genome.genes, prior.speedup, prior.proven) for prior in found]

    assert known(BIG) == [((UNROLL,), 2.5, True), ((swap,), 2.0, True), ((TILE,), 4.0, False)]
    here, there = (campaign.base.priors(campaign.kernel, CPU, TOOLS, (size,), 1)[0] for size in (BIG, SMALL))
    assert here.promise == pytest.approx(math.log2(2.5))
    assert there.promise == pytest.approx(math.log2(2.5) * 2 ** -(3.0 / 8.0))  # three doublings away
    campaign.record(campaign.outcome(4, (UNROLL,), 0.0, None, Status.WRONG))
    assert known(BIG) == [((swap,), 2.0, True), ((TILE,), 4.0, False)]


def test_best_of_a_record_finds_the_same_structure_under_another_name(start: Starter) -> None:
    campaign = start(kernel_record(features=(0.0,) * 9 + (5.0,)))
    campaign.record(campaign.outcome(0, (), 8.0, 1.0), campaign.outcome(1, (UNROLL,), 2.0, 4.0))
    (row,) = campaign.base.best(replace(campaign.kernel, name="another"))
    assert row.kernel == campaign.kernel.name and row.distance == 0.0
    (near,) = campaign.base.best(replace(campaign.kernel, digest="other", features=(0.0,) * 9 + (5.25,)))
    assert near.distance == pytest.approx(0.25)
    assert campaign.base.best(campaign.kernel.name, device="fast c") and not campaign.base.best(
        campaign.kernel.name, "%"
    )


def test_training_rows_prefer_this_kernel_and_hold_failures(start: Starter) -> None:
    campaign = start()
    campaign.record(
        campaign.outcome(0, (), 8.0, 1.0), campaign.outcome(1, (UNROLL,), 2.0, 4.0),
        campaign.outcome(2, (TILE,), 0.0, None, Status.WRONG),
    )  # fmt: skip
    rows = campaign.base.training_rows(campaign.kernel, CPU, 3)
    assert all(row.same_kernel and row.same_device for row in rows)
    assert [(row.genome.genes, row.log2_speedup, row.failed) for row in rows] == [
        ((TILE,), None, True), ((UNROLL,), 2.0, False), ((), 0.0, False),
    ]  # fmt: skip
    assert rows[0].size_features == label_features(BIG.env)


def test_resume_refuses_other_settings_but_not_another_budget(start: Starter) -> None:
    first = start(sizes=[{"n": 1}])
    assert start(first.kernel, resume=True, sizes=[{"n": 1}], budget={"evaluations": 99}).id == first.id
    with pytest.raises(KnowledgeError, match=r"changed since then: sizes"):
        start(first.kernel, resume=True, sizes=[{"n": 2}])
    with pytest.raises(KnowledgeError, match="the reference"):
        start(first.kernel, resume=True, sizes=[{"n": 1}], contract="another")


def test_what_another_contract_judged_is_not_looked_up(start: Starter) -> None:
    strict = start(contract="strict")
    wrong = strict.outcome(1, (UNROLL,), 1.0, None)
    strict.record(wrong)
    digest = wrong.variant.digest()
    loose = start(strict.kernel, contract="loose")
    assert strict.base.lookup(strict.kernel.digest, CPU, TOOLS, digest, "strict")
    assert loose.base.lookup(strict.kernel.digest, CPU, TOOLS, digest, "loose") == ()
    loose.record(loose.outcome(0, (), 3.0, 1.0), loose.outcome(1, (UNROLL,), 1.0, 3.0))
    assert loose.base.best(strict.kernel.name, CPU.name, BIG.label)[0].genome.genes == (UNROLL,)


def test_the_final_figure_stands_beside_the_search_figure(start: Starter) -> None:
    campaign = start()
    good = campaign.outcome(1, (UNROLL,), 1.0, 2.0)
    campaign.record(campaign.outcome(0, (), 2.0, 1.0), good)
    (before,) = campaign.base.best(campaign.kernel.name, CPU.name, BIG.label)
    assert before.proven is None
    row = SizeComparison(BIG.label, 1.9, 1.2, 1.6, 1.5, 1.7)
    proof = Comparison(good.variant.digest(), (row,), 1.6, 1.5, 1.7, True, processes=5)
    campaign.base.prove(campaign.id, replace(proof, verified=False))
    assert campaign.base.best(campaign.kernel.name, CPU.name, BIG.label)[0].proven is None
    for _ in range(2):
        campaign.base.prove(campaign.id, proof)
    (after,) = campaign.base.best(campaign.kernel.name, CPU.name, BIG.label)
    assert after.proven is not None
    assert (after.proven.speedup, after.proven.low, after.proven.high, after.proven.processes) == (1.6, 1.5, 1.7, 5)
    assert after.speedup == pytest.approx(2.0)
    prior = campaign.base.priors(campaign.kernel, CPU, TOOLS, (BIG,), 5)[0]
    assert "1.60x proven" in prior.why


def test_a_variant_thrown_out_later_is_no_optimum_any_more(start: Starter) -> None:
    campaign = start()
    good, liar = campaign.outcome(1, (UNROLL,), 1.0, 2.0), campaign.outcome(2, (TILE,), 0.1, 20.0)
    campaign.record(campaign.outcome(0, (), 2.0, 1.0), good, liar)
    assert campaign.base.best(campaign.kernel.name, CPU.name, BIG.label)[0].genome.genes == (TILE,)
    proof = Evaluation(liar.variant.digest(), BIG.label, Status.UNSTABLE, "measured again: 2x", stage="quarantine")
    campaign.record(Outcome(liar.variant, (proof,), (), Lineage("verifier", (), (), 3), None))
    assert campaign.base.best(campaign.kernel.name, CPU.name, BIG.label)[0].genome.genes == (UNROLL,)


def test_resume_finds_the_unfinished_campaign_of_the_same_seed(start: Starter) -> None:
    first = start(seed=1)
    assert start(first.kernel, seed=1, resume=True).id == first.id
    assert start(first.kernel, seed=2, resume=True).id != first.id
    assert start(first.kernel, GPU, seed=1, resume=True).id != first.id
    first.base.finish(first.id, {"speedup": 2.0})
    assert start(first.kernel, seed=1, resume=True).id != first.id


def test_state_is_plain_data(start: Starter) -> None:
    campaign = start()
    assert campaign.base.load_state(campaign.id, "credit") is None
    campaign.base.save_state(campaign.id, "credit", {"memory": [1, 2.5], "nested": {"on": True}})
    campaign.base.save_state(campaign.id, "credit", {"memory": [3], "lost": float("nan"), "text": "a\0b\ud800"})
    assert campaign.base.load_state(campaign.id, "credit") == {"memory": [3], "lost": None, "text": "a\ufffdb?"}
    with pytest.raises(TypeError, match="plain data"):
        campaign.base.save_state(campaign.id, "credit", {"object": object()})


def test_surrogate_metrics_round_trip(start: Starter) -> None:
    campaign = start()
    figures = SurrogateMetrics(20, 14, 0.75, None, 0.5)
    campaign.base.record_metrics(campaign.id, 10, replace(figures, prune_share=0.0))
    campaign.base.record_metrics(campaign.id, 10, figures)
    assert campaign.base.surrogate_metrics(campaign.id) == ((10, figures),)


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE kernel; --", "%s %(x)s :y", 'a"b\\c', "nul\0byte", "\ud800", "x" * 5000]
)
def test_hostile_names_are_only_names(start: Starter, name: str) -> None:
    campaign = start(kernel_record(name))
    campaign.record(campaign.outcome(0, (), 8.0, 1.0), campaign.outcome(1, (UNROLL,), 2.0, 4.0))
    assert campaign.base.best(name, device=CPU.name)[0].speedup == 4.0
    assert campaign.base.best(name, device=name) == ()
    assert campaign.base.counts()["kernels"] > 0


def test_a_malformed_genome_from_a_shared_base_is_passed_over(start: Starter) -> None:
    campaign = start(kernel_record(features=(0.0,) * 11 + (4.0,)))
    campaign.record(campaign.outcome(0, (), 8.0, 1.0), campaign.outcome(1, (UNROLL,), 2.0, 4.0))
    conninfo = campaign.base.where.replace("postgresql+psycopg", "postgresql")
    fields = [
        {"transform": "unroll"}, "text", {"transform": "t", "site": {"label": "k"}, "params": {"factor": [1]}},
    ]  # fmt: skip
    digest = Genome((UNROLL,)).digest()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        good = connection.execute("SELECT genes FROM genome WHERE digest = %s", (digest,)).fetchone()
        assert good is not None
        try:
            connection.execute("UPDATE genome SET genes = %s WHERE digest = %s", (json.dumps(fields), digest))
            assert campaign.base.priors(campaign.kernel, CPU, TOOLS, (BIG,), 5) == ()
            assert campaign.base.best(campaign.kernel.name) == ()
            assert len(campaign.base.training_rows(campaign.kernel, CPU, 2)) == 1
            assert len(campaign.base.outcomes(campaign.id)) == 1
        finally:
            connection.execute("UPDATE genome SET genes = %s WHERE digest = %s", (json.dumps(good[0]), digest))


def test_stats_count_by_kernel_and_device(start: Starter) -> None:
    campaign = start()
    campaign.record(campaign.outcome(0, (), 8.0, 1.0), campaign.outcome(1, (TILE,), 0.0, None, Status.WRONG))
    stats = campaign.base.stats()
    (line,) = [line for line in stats.kernels if line.kernel == campaign.kernel.name]
    assert (line.device, line.campaigns, line.evaluations, line.failed) == (CPU.name, 1, 2, 1)
    assert dict(stats.counts) == campaign.base.counts() and stats.revision and stats.bytes > 0


def test_an_unknown_campaign_is_an_error(knowledge_base: KnowledgeBase) -> None:
    with pytest.raises((KeyError, KnowledgeError)):
        knowledge_base.reject(2**40, Rejection(Genome(), "no"), Lineage("memory"))

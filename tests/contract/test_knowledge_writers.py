"""Several campaigns on one base at the same time: nothing is lost or doubled, and each sees what the others found."""

from __future__ import annotations

import math
import threading
import uuid
from statistics import median

import pytest

from evaluator.result import DeviceInfo, Evaluation, Status, Timing, Toolchain
from genome.genes import Gene, Genome, Site
from genome.spec import ProblemSize
from genome.variant import Rejection, Target, Variant
from knowledge.features import KERNEL_FEATURE_VERSION
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome
from knowledge.store import KnowledgeBase
from knowledge.trust import SurrogateMetrics

DEVICE = DeviceInfo("opencl:0", "Fast CPU", "Someone", "x86-64", "cpu", 8, 2**34)
TOOLS = Toolchain("p", "d", "c")
SIZES = (ProblemSize((("N", 1),)), ProblemSize((("N", 2),)))
WRITERS, OUTCOMES = 8, 8


def kernel_record() -> KernelRecord:
    digest = uuid.uuid4().hex[:16]
    return KernelRecord(f"shared {digest}", digest, "s", "e", (0.0,) * 20 + (3.0,), KERNEL_FEATURE_VERSION)


def outcome(number: int, factor: int, ms: float, speedup: float = 1.5) -> Outcome:
    genome = Genome((Gene.of("unroll", Site("k"), factor=factor),) if factor else ())
    variant = Variant("k", Target.OPENCL, f"v{factor}", (), genome=genome, proposed=Genome(genome.genes * 2))
    evaluations = tuple(
        Evaluation(variant.digest(), size.label, Status.OK, timing=Timing((ms,), ms, ms, ms)) for size in SIZES
    )
    return Outcome(variant, evaluations, (), Lineage("a", generation=number), speedup)


def campaign(base: KnowledgeBase, kernel: KernelRecord, seed: int) -> int:
    return base.start_campaign(CampaignRecord("w", kernel, DEVICE, TOOLS, seed, "0"), resume=False)


def time_of(writer: int, number: int) -> float:
    return 100.0 - number + (-writer if number % 2 else writer)


def test_eight_writers_at_once_lose_and_double_nothing(knowledge_base: KnowledgeBase) -> None:
    before, kernel = knowledge_base.counts(), kernel_record()
    together, errors = threading.Barrier(WRITERS), []

    def write(writer: int) -> None:
        try:
            with KnowledgeBase.open(knowledge_base.where) as base:
                together.wait()
                number = campaign(base, kernel, writer)
                for n in range(OUTCOMES):
                    for _ in range(1 + n % 2):  # every other one twice: the answer to the first was lost, say
                        base.record(number, outcome(n, n, time_of(writer, n)))
                        gene = Gene.of(f"no {kernel.digest}", Site("k"), factor=n)
                        base.reject(number, Rejection(Genome((gene,)), "no"), Lineage("a", generation=n))
                    base.record_metrics(number, n, SurrogateMetrics(n, n, 0.5, 0.5, 0.5))
                    base.save_state(number, "engine", {"n": n})
                base.finish(number, {"writer": writer})
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    after = knowledge_base.counts()
    grown = {name: after[name] - before[name] for name in after}
    assert grown["evaluations"] == WRITERS * OUTCOMES * len(SIZES) and grown["rejections"] == WRITERS * OUTCOMES
    assert (grown["campaigns"], grown["kernels"], grown["variants"], grown["optima"]) == (WRITERS, 1, OUTCOMES, 2)
    times = [median(time_of(writer, n) for writer in range(WRITERS)) for n in range(OUTCOMES)]
    fastest = min(range(OUTCOMES), key=times.__getitem__)
    for best in knowledge_base.best(kernel.name):
        assert best.best_ms == pytest.approx(times[fastest]) and best.genome.genes[0].values["factor"] == fastest


def test_campaigns_see_what_others_find_while_they_run(knowledge_base: KnowledgeBase) -> None:
    kernel = kernel_record()
    with KnowledgeBase.open(knowledge_base.where) as other:
        here, there = campaign(knowledge_base, kernel, 1), campaign(other, kernel, 2)
        other.record(there, outcome(0, 0, 8.0, 1.0))
        found = outcome(1, 4, 2.0, 4.0)
        assert knowledge_base.lookup(kernel.digest, DEVICE, TOOLS, found.variant.digest()) == ()
        other.record(there, found)
        assert knowledge_base.lookup(kernel.digest, DEVICE, TOOLS, found.variant.digest()) == found.evaluations
        (prior, *_) = knowledge_base.priors(kernel, DEVICE, TOOLS, SIZES[:1], 5)
        assert prior.genome == found.variant.genome and prior.speedup == pytest.approx(4.0)
        gains = {row.log2_speedup for row in knowledge_base.training_rows(kernel, DEVICE, 4) if row.same_kernel}
        assert gains == {0.0, math.log2(4.0)}
        assert knowledge_base.outcomes(here) == []

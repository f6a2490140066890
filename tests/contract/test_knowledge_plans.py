"""Questions that are asked of a large base are answered by indexes: no plan reads all evaluations or variants."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, event

from evaluator.result import DeviceInfo, Evaluation, Status, Timing, Toolchain
from genome.genes import Gene, Genome, Site
from genome.spec import ProblemSize
from genome.variant import Target, Variant
from knowledge import prior, queries
from knowledge.features import KERNEL_FEATURE_VERSION, device_features
from knowledge.posting import outcome_posting
from knowledge.prior import OTHER_DEVICE, OTHER_TOOLCHAIN
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome
from knowledge.similarity import nearest_size, vector_distance
from knowledge.store import KnowledgeBase
from knowledge.write import post

SIZES = tuple(ProblemSize((("M", m), ("N", n))) for m in (64, 512) for n in (64, 4096))
DEVICES = tuple(DeviceInfo("cuda:0", f"Planned {n}", "v", "a", "gpu", 8 << n, 2**34) for n in range(4))
TOOLS = tuple(Toolchain(f"planned {n}", "d", "c") for n in range(2))


@pytest.fixture(scope="module")
def kernel(knowledge_base: KnowledgeBase) -> KernelRecord:
    """A kernel with an optimum of its own at each size, on each device and toolchain."""
    digest = uuid.uuid4().hex[:16]
    record = KernelRecord(f"planned {digest}", digest, "s", "e", (0.0,) * 15 + (7.0,), KERNEL_FEATURE_VERSION)
    rng = random.Random(1)
    for device in DEVICES:
        for tools in TOOLS:
            campaign = knowledge_base.start_campaign(CampaignRecord("c", record, device, tools, 1, "0"), resume=False)
            for number, size in enumerate(SIZES):
                name = rng.choice("abcdef") if number % 2 else f"{device.name} {tools.platform} {number}"
                genome = Genome((Gene.of(f"{name}{digest}", Site("k")),))
                variant = Variant("k", Target.CUDA, genome.canonical(), (), genome=genome, proposed=genome)
                ms = rng.uniform(1.0, 2.0)
                timed = Evaluation(variant.digest(), size.label, Status.OK, timing=Timing((ms,), ms, ms, ms))
                lineage = Lineage("a", generation=number + 1)
                knowledge_base.record(campaign, Outcome(variant, (timed,), (), lineage, rng.uniform(1.5, 3.0)))
    return record


@pytest.mark.parametrize("asked", range(6))
def test_the_nearest_priors_agree_with_brute_force(
    asked: int, kernel: KernelRecord, knowledge_base: KnowledgeBase
) -> None:
    rng = random.Random(asked)
    device, tools = rng.choice(DEVICES), rng.choice(TOOLS)
    size = ProblemSize((("M", rng.choice((64, 200, 512))), ("N", rng.choice((64, 100, 4096)))))
    places: dict[str, float] = {}
    by_name = {item.name: item for item in DEVICES}
    for row in knowledge_base.best(kernel.name, limit=1000):
        other = by_name[row.device]
        apart = nearest_size({k: int(v) for k, v in (p.split("=") for p in row.size.split(","))}, [size.env])
        if other is not device:
            apart += OTHER_DEVICE + vector_distance(device_features(device), device_features(other))
        elif row.toolchain != tools.label:
            apart += OTHER_TOOLCHAIN
        digest = row.genome.digest()
        places[digest] = min(apart, places.get(digest, apart))
    found = knowledge_base.priors(kernel, device, tools, (size,), 9)
    nearest = sorted(places.values())[: len(found)]
    assert len(found) == 9 and [item.distance for item in found] == pytest.approx(nearest, abs=1e-5)
    assert all(places[item.genome.digest()] == pytest.approx(item.distance, abs=1e-5) for item in found)


@pytest.fixture
def connection(knowledge_base: KnowledgeBase, kernel: KernelRecord) -> Iterator[Connection]:
    """Where the planner scans a table only if no index can answer: the base of this test is small."""
    engine = create_engine(knowledge_base.where)
    with engine.connect() as found:
        found.exec_driver_sql("SET enable_seqscan = off")
        yield found
        found.rollback()
    engine.dispose()


def new_outcome() -> Outcome:
    genome = Genome((Gene.of("unroll", Site("k"), factor=77),))
    variant = Variant("k", Target.CUDA, "new", (), genome=genome, proposed=genome)
    timed = Evaluation(variant.digest(), SIZES[0].label, Status.OK, timing=Timing((0.5,), 0.5, 0.5, 0.5))
    return Outcome(variant, (timed,), (), Lineage("a", generation=99), 9.0)


QUESTIONS: dict[str, Callable[[Connection, KernelRecord], object]] = {
    "priors": lambda c, k: prior.priors(c, k, DEVICES[0], TOOLS[0], SIZES[:1], 12),
    "similar": lambda c, k: prior.similar(c, k, 8),
    "lookup": lambda c, k: queries.lookup(c, k.digest, DEVICES[0], TOOLS[0], "0" * 16),
    "record": lambda c, k: post(c, _campaign(c, k), outcome_posting(new_outcome())),
}


def _campaign(connection: Connection, kernel: KernelRecord) -> int:
    query = "SELECT max(c.id) FROM campaign c JOIN kernel k ON k.id = c.kernel_id WHERE k.digest = %(digest)s"
    return int(connection.exec_driver_sql(query, {"digest": kernel.digest}).scalar_one())


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_plan_reads_all_evaluations_or_variants(question: str, kernel: KernelRecord, connection: Connection) -> None:
    asked: list[tuple[str, Any]] = []
    event.listen(connection, "before_cursor_execute", lambda _c, _k, text, values, *_: asked.append((text, values)))
    QUESTIONS[question](connection, kernel)
    assert asked
    for text, values in tuple(asked):
        plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {text}", values).scalar_one()
        for table in ("evaluation", "variant", "lineage", "optimum"):
            assert not any(node.get("Relation Name") == table for node in scans(plan[0]["Plan"])), json.dumps(plan)


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Nodes of a plan that read a table from one end to the other."""
    if plan["Node Type"] == "Seq Scan":
        yield plan
    for child in plan.get("Plans", ()):
        yield from scans(child)

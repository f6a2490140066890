"""Deleting a campaign: what is left is what a base without it would hold, also while others write."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import create_engine, text

from cli.main import app
from evaluator.result import DeviceInfo, Evaluation, Status, Timing, Toolchain
from genome.genes import Gene, Genome, Site
from genome.variant import Rejection, Target, Variant
from knowledge.errors import KnowledgeError
from knowledge.filters import Filter
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome
from knowledge.schema import metadata
from knowledge.store import KnowledgeBase

SIZES = ("N=1", "N=2")


def kernel_record() -> KernelRecord:
    digest = uuid.uuid4().hex[:16]
    return KernelRecord(f"deleted_{digest}", digest, "source", "entry", (1.0,), 1)


def device(name: str) -> DeviceInfo:
    return DeviceInfo("cuda:0", name, "v", "sm_90", "gpu", 1, 2**30)


def tools(name: str) -> Toolchain:
    return Toolchain(name, "d", "c")


def begin(base: KnowledgeBase, kernel: KernelRecord, where: str = "gpu") -> int:
    record = CampaignRecord("c", kernel, device(f"{where} {kernel.digest}"), tools(f"{where} {kernel.digest}"), 1, "0")
    return base.start_campaign(record, resume=False)


def outcome(
    kernel: KernelRecord, factor: int, number: int, ms: float, speedup: float | None, parents: tuple[str, ...] = ()
) -> Outcome:
    genome = Genome((Gene.of(f"g{kernel.digest}", Site("k"), factor=factor),) if factor else ())
    proposed = Genome((*genome.genes, Gene.of(f"h{kernel.digest}", Site("k"), factor=number)))
    variant = Variant("k", Target.CUDA, f"{kernel.digest} {factor}", (), genome=genome, proposed=proposed)
    status = Status.OK if speedup is not None else Status.WRONG
    evaluations = tuple(
        Evaluation(variant.digest(), size, status, timing=Timing((ms,), ms, ms, ms) if speedup is not None else None)
        for size in SIZES
    )
    return Outcome(variant, evaluations, (), Lineage(f"agent{factor}", parents, genome.genes, number), speedup)


def random_campaign(rng: random.Random, kernel: KernelRecord) -> list[Outcome]:
    found = [outcome(kernel, 0, 0, 10.0, 1.0)]
    for number in range(1, 8):
        ms = rng.uniform(1.0, 9.0)
        speedup = None if rng.random() < 0.15 else 10.0 / ms
        found.append(outcome(kernel, rng.randrange(1, 6), number, ms, speedup))
    return found


def optima(base: KnowledgeBase, kernel: KernelRecord) -> list[tuple[Any, ...]]:
    return [(row.size, row.variant, row.best_ms, row.baseline_ms, row.agent) for row in base.best(kernel.name)]


@pytest.mark.parametrize("seed", range(4))
def test_optima_are_those_of_a_base_that_never_had_it(seed: int, knowledge_base: KnowledgeBase) -> None:
    rng, base = random.Random(seed), knowledge_base
    kernel = kernel_record()
    campaigns = [random_campaign(rng, kernel) for _ in range(3)]
    numbers = []
    for items in campaigns:
        numbers.append(begin(base, kernel))
        for item in items:
            base.record(numbers[-1], item)
    gone = rng.randrange(3)
    base.delete(numbers[gone])
    other = kernel_record()
    twin = KernelRecord(other.name, other.digest, "source", "entry", (1.0,), 1)
    for items in (items for index, items in enumerate(campaigns) if index != gone):
        number = begin(base, twin)
        for item in items:
            base.record(number, item)
    assert optima(base, kernel) == optima(base, twin)
    kept = [row.id for row in base.history(Filter(kernel=kernel.name), 9)]
    assert sorted(kept) == sorted(number for index, number in enumerate(numbers) if index != gone)


def test_nothing_of_the_last_campaign_is_left(knowledge_base: KnowledgeBase) -> None:
    base, kernel = knowledge_base, kernel_record()
    before = _rows(base)
    number = begin(base, kernel)
    for item in random_campaign(random.Random(0), kernel):
        base.record(number, item)
    base.reject(number, Rejection(Genome((Gene.of(kernel.digest, Site("z")),)), "no"), Lineage("a", generation=9))
    base.save_state(number, "engine", {})
    assert _rows(base) != before
    found = base.delete(number)
    assert found.kernel and found.device and found.toolchain and found.variants and found.rejections == 1
    after = _rows(base)
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} in ({}, {"genome": 1})
    with pytest.raises(KnowledgeError, match="holds no campaign"):
        base.delete(number)
    with pytest.raises(KnowledgeError, match="was it deleted while it ran"):
        base.record(number, outcome(kernel, 1, 1, 1.0, 1.0))


def _rows(base: KnowledgeBase) -> dict[str, int]:
    """Rows of every table."""
    return {
        table.name: int(base.sql(f"SELECT count(*) FROM {table.name}", 1, 9.0).rows[0][0])
        for table in metadata.sorted_tables
    }


def test_what_others_know_or_name_stays(knowledge_base: KnowledgeBase) -> None:
    base, kernel = knowledge_base, kernel_record()
    first, second = begin(base, kernel), begin(base, kernel, "another")
    shared, own, parent = (outcome(kernel, factor, factor, 2.0, 5.0) for factor in (1, 2, 3))
    for item in (shared, own, parent):
        base.record(first, item)
    child = outcome(kernel, 4, 4, 1.0, 9.0, (parent.variant.digest(),))
    for item in (shared, child):
        base.record(second, item)
    found = base.delete(first)
    assert (found.variants, found.kernel, found.device) == (1, False, True)
    tree = base.dossier(child.variant.digest()).lineage
    assert tree is not None and [item.variant for item in tree.parents] == [parent.variant.digest()]
    assert base.dossier(shared.variant.digest()).genome == shared.variant.genome
    with pytest.raises(KnowledgeError, match="holds no variant"):
        base.dossier(own.variant.digest())
    assert len(base.outcomes(second)) == 2
    assert base.delete(second).variants == 3 - 1  # the parent's last campaign is gone already


def test_writers_at_the_same_time_lose_nothing(knowledge_base: KnowledgeBase) -> None:
    kernel, stop = kernel_record(), threading.Event()
    keeper = begin(knowledge_base, kernel)
    errors: list[Exception] = []

    def churn() -> None:
        with KnowledgeBase.open(knowledge_base.where) as base:
            while not stop.is_set():
                number = begin(base, kernel)
                for factor in range(1, 4):
                    base.record(number, outcome(kernel, factor, factor, 3.0, 3.0))
                base.delete(number)

    def guarded() -> None:
        try:
            churn()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    for number in range(30):
        knowledge_base.record(keeper, outcome(kernel, 1 + number % 3, number, 2.0, 5.0))
    stop.set()
    thread.join()
    assert not errors
    assert [found.lineage.generation for found in knowledge_base.outcomes(keeper)] == list(range(30))
    assert {row.best_ms for row in knowledge_base.best(kernel.name)} == {2.0}


@contextmanager
def kept(base: KnowledgeBase) -> Iterator[KnowledgeBase]:
    yield base


def test_on_the_command_line(knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.kb_delete.open_base", lambda url: kept(knowledge_base))
    kernel = kernel_record()
    number = begin(knowledge_base, kernel)
    unsure = CliRunner().invoke(app, ["kb", "delete", str(number)])
    assert unsure.exit_code == 2 and "add --yes" in unsure.output and kernel.name in unsure.output
    unknown = CliRunner().invoke(app, ["kb", "delete", "--yes", str(number), str(2**40)])
    assert unknown.exit_code == 2 and "holds no campaign" in unknown.output
    assert knowledge_base.campaign(number) is not None
    done = CliRunner().invoke(app, ["kb", "delete", "--yes", str(number), "--json"])
    assert done.exit_code == 0 and f'"campaign": {number}' in done.output and '"kernel": true' in done.output
    assert knowledge_base.campaign(number) is None


def test_every_reference_to_what_may_go_has_an_index(knowledge_base: KnowledgeBase) -> None:
    """Else each deleted row scans a table of a million others."""
    engine = create_engine(knowledge_base.where)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'")).scalars()
        first = {definition.partition(" ON ")[2].partition(",")[0].rstrip(")") for definition in rows}
    engine.dispose()
    for table in metadata.sorted_tables:
        for column in table.c:
            targets = {key.column.table.name for key in column.foreign_keys}
            if targets & {"genome", "variant"} and table.name not in ("proof", "recommendation"):
                assert f"public.{table.name} USING btree ({column.name}" in first

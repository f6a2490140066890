"""Studies of kernels that run, on made-up devices and a real knowledge base: what crosses, what waits, what joins."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.devices import DeviceError
from evaluator.result import DeviceInfo, Status
from evo.campaign_types import Campaign
from evo.contract import contract
from evo.parts import Parts
from evo.portability import live
from evo.portability.analysis import analyse
from evo.portability.case import Case
from evo.portability.live import Hands, live_cases
from evo.portability.measure import trimmed
from evo.portability.study import Study
from evo.start import campaign_record
from genome.genes import Gene, Genome, Site
from genome.variant import Rejection, SkippedGene, Target, Variant
from knowledge.features import kernel_record
from knowledge.records import Lineage, Outcome
from knowledge.spooled import SpooledBase
from knowledge.store import KnowledgeBase

X, K = Site("x", "parallel.x"), Site("k", "reduction[0]")
COARSE, TILE, UNROLL = (
    Gene.of("coarsen_blocked", X, factor=8), Gene.of("register_tile", Site("instances")), Gene.of("unroll", K, factor=4)
)  # fmt: skip
BLOCK = Gene.of("block_shape", Site("y", "parallel.y"), threads=32)
CPU = DeviceInfo("opencl:0", "Made-up CPU", "v", "x", "cpu", 4, 1 << 30, bandwidth_gbs=50, peak_gflops=100)
GPU = DeviceInfo("cuda:0", "Made-up GPU", "v", "y", "gpu", 80, 1 << 33, bandwidth_gbs=900, peak_gflops=9000)


@dataclass
class Machine:
    """A machine with one device, whose base may be its own."""

    bench: Any
    base: KnowledgeBase
    device: DeviceInfo
    champion: Genome
    speed: float = 1.0
    slow_unroll: bool = False
    forbids: str = ""
    leaves_out: str = ""
    wrong: str = ""

    def __post_init__(self) -> None:
        self.tuned: list[str] = []
        self.measured: list[str] = []

    def find(self, name: str) -> DeviceInfo:
        if name != self.device.id:
            raise DeviceError(f"there is no device '{name}'")
        return self.device

    @contextmanager
    def parts(self, campaign: Campaign) -> Iterator[Parts]:
        evaluator = self.bench.evaluator(device=self.device, time_of=self._time, verdict=self._verdict)
        memory, kernel = SpooledBase(self.base, campaign.output), kernel_record(campaign.spec, None)
        yield self.bench.parts(evaluator, memory, lower=self._lower, kernel=kernel, contract=contract(campaign))
        self.measured += [variant.digest() for variant in evaluator.measured]

    def tune(self, campaign: Campaign) -> None:
        """A finished campaign that ended with this machine's champion."""
        self.tuned.append(campaign.device)
        with self.parts(campaign) as parts:
            baseline, best = self._lower(Genome()), self._lower(self.champion)
            assert isinstance(baseline, Variant) and isinstance(best, Variant)
            number = parts.memory.start_campaign(campaign_record(campaign, parts), resume=False)
            first = parts.evaluator.open(baseline).evaluations
            parts.memory.record(number, Outcome(baseline, first, (), Lineage("baseline"), 1.0))
            (proof,) = parts.evaluator.compare(baseline, [best], 5, lambda done, of: None)
            found = parts.evaluator.open(best).evaluations
            parts.memory.record(number, Outcome(best, found, (), Lineage("a", generation=1), proof.speedup))
            parts.memory.prove(number, proof)
            parts.memory.finish(number, {
                "best": best.digest(), "verified": True,
                "speedup": {"median": proof.speedup, "low": proof.low, "high": proof.high},
            })  # fmt: skip

    def study(self, study: Study, stop_after: int | None = None) -> tuple[tuple[Case, ...], tuple[str, ...]]:
        calls = [0]

        def stop() -> bool:
            calls[0] += 1
            return stop_after is not None and calls[0] > stop_after

        return live_cases(study, None, Hands(lambda text: None, stop, self.tune, self.find, self.parts))

    def _time(self, variant: Variant) -> float:
        unroll = variant.genome.find("unroll")
        penalty = 1.5 if self.slow_unroll and unroll else 1.0
        return float(self.bench.seconds(variant.genome)) * penalty / self.speed

    def _verdict(self, variant: Variant, number: int) -> Status | None:
        return Status.WRONG if self.wrong and variant.genome.find(self.wrong) else None

    def _lower(self, genome: Genome) -> Variant | Rejection:
        if self.forbids and genome.find(self.forbids):
            return Rejection(genome, f"{self.forbids} takes too much shared memory")
        gone = tuple(gene for gene in genome.genes if gene.transform == self.leaves_out)
        variant = self.bench.lowered(Genome(tuple(gene for gene in genome.genes if gene not in gone)))
        if isinstance(variant, Rejection):
            return variant
        skipped = (*variant.skipped, *(SkippedGene(gene, "not for this target") for gene in gone))
        return replace(variant, proposed=genome, skipped=skipped)


def cpu(bench: Any, base: KnowledgeBase) -> Machine:
    return Machine(bench, base, CPU, Genome((COARSE, TILE, UNROLL)))


def gpu(bench: Any, base: KnowledgeBase) -> Machine:
    """Twenty times as fast, and better off without the unrolled loop."""
    return Machine(bench, base, GPU, Genome((COARSE, TILE, BLOCK)), 20.0, slow_unroll=True)


@pytest.fixture
def study(bench: Any, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study of a kernel that no other test knows; bases are opened by ``_bases``."""
    campaign = bench.campaign(30)
    campaign = replace(campaign, spec=replace(campaign.spec, name=f"kernel_{uuid.uuid4().hex[:10]}"))
    _bases(monkeypatch, knowledge_base)
    return Study("s", Path("study.yaml"), (), (campaign,), ("opencl:0", "cuda:0"), (), (), 0.95, 0, Path("out"), True,
                 None)  # fmt: skip


def _bases(monkeypatch: pytest.MonkeyPatch, base: KnowledgeBase) -> None:
    """Studies open this base, which stays open for other tests."""

    class Lent:
        def __getattr__(self, name: str) -> Any:
            return getattr(base, name)

        def close(self) -> None:
            return

    monkeypatch.setattr(live, "open_base", lambda url: Lent())


def rows_of(case: Case) -> dict[str, Any]:
    report = analyse(case, 0, 0.95)
    return {row.name: row for row in (*report.rows, *report.others)}


def test_cells_wait_until_their_machine_was_there(bench: Any, study: Study, knowledge_base: KnowledgeBase) -> None:
    first, second = cpu(bench, knowledge_base), gpu(bench, knowledge_base)
    cases, notes = first.study(study)
    assert first.tuned == ["opencl:0"]
    assert [case.size for case in cases] == ["N=64", "N=50"]
    assert [place.name for place in cases[0].places] == [CPU.name, "cuda:0"]
    own = rows_of(cases[0])[CPU.name]
    assert own.cells[0].efficiency == 1.0 and own.cells[1].waiting and own.pp == 1.0
    assert "cuda:0 is not here" in notes[0]

    cases, _ = second.study(study)
    rows = rows_of(cases[0])
    assert [place.name for place in cases[0].places] == [CPU.name, GPU.name]
    assert rows[CPU.name].cells[1].time_ms is not None, "the CPU's champion was measured on the GPU"
    assert rows[GPU.name].cells[0].waiting, "the CPU has not seen the GPU's champion yet"
    assert rows[GPU.name].pp is None

    cases, _ = first.study(study)
    rows = rows_of(cases[0])
    assert not any(cell.waiting for row in rows.values() for cell in row.cells)
    for place, machine in enumerate((first, second)):
        champion = cases[0].champions[place]
        assert champion is not None
        time = cases[0].times_ms[champion, place]
        assert time == pytest.approx(min(t for t in cases[0].times_ms[:, place] if not math.isnan(t)))
        baseline = cases[0].times_ms[cases[0].baseline, place]
        assert baseline == pytest.approx(100.0 / machine.speed / 1.0, rel=0.01)
    assert first.tuned == ["opencl:0"] and second.tuned == ["cuda:0"]


def test_what_was_measured_is_not_measured_again(bench: Any, study: Study, knowledge_base: KnowledgeBase) -> None:
    machine = cpu(bench, knowledge_base)
    before, _ = machine.study(study)
    done = list(machine.measured)
    after, _ = machine.study(study)
    assert machine.measured == done
    for first, second in zip(before, after, strict=True):
        assert np.array_equal(first.times_ms, second.times_ms, equal_nan=True)


def test_an_interrupted_study_goes_on(bench: Any, study: Study, knowledge_base: KnowledgeBase) -> None:
    machine = cpu(bench, knowledge_base)
    for calls in range(2, 30, 4):
        machine.study(study, stop_after=calls)
    cases, _ = machine.study(study)
    assert not any(row.cells[0].waiting for row in rows_of(cases[0]).values())
    assert len(cases[0].effects) == 3
    assert machine.tuned == ["opencl:0"]
    assert len(machine.measured) < 12, "what was measured before the stop is not measured again"


@pytest.mark.parametrize(
    ("trouble", "reason", "how"),
    [
        ({"forbids": "register_tile"}, "takes too much shared memory", "without register_tile@instances"),
        ({"leaves_out": "unroll"}, "1 gene of it does not apply there", "without unroll@k"),
        ({"wrong": "unroll"}, "wrong: as planned", "without"),
    ],
)
def test_a_gap_is_no_zero_and_one_repair_is_tried(
    bench: Any, study: Study, knowledge_base: KnowledgeBase, trouble: dict[str, str], reason: str, how: str
) -> None:
    cpu(bench, knowledge_base).study(study)
    there = replace(gpu(bench, knowledge_base), champion=Genome((COARSE,)), **trouble)  # type: ignore[arg-type]
    cases, _ = there.study(study)
    cell = rows_of(cases[0])[CPU.name].cells[1]
    assert cell.time_ms is None and cell.efficiency is None and not cell.waiting
    assert reason in cell.gap
    assert cell.repair is None or (how in cell.repair.how and cell.repaired is not None)
    if "wrong" not in trouble:
        assert cell.repair is not None
    assert rows_of(cases[0])[CPU.name].pp == 0.0


def test_effects_of_genes_are_those_of_leaving_them_out(
    bench: Any, study: Study, knowledge_base: KnowledgeBase
) -> None:
    machine = cpu(bench, knowledge_base)
    cases, _ = machine.study(study)
    whole = bench.seconds(bench.lowered(machine.champion).genome)
    found = {cases[0].names[effect.gene[0]]: effect for effect in cases[0].effects}
    assert set(found) == {"coarsen_blocked@x", "register_tile@instances", "unroll@k"}
    for gene in machine.champion.genes:
        effect = found[f"{gene.transform}@{gene.site.label}"]
        rest = bench.seconds(bench.lowered(machine.champion.without(gene)).genome)
        assert effect.factor == pytest.approx(rest / whole)
        assert effect.low is not None and effect.high is not None
        assert effect.low < effect.factor < effect.high


def test_the_best_single_variant_is_one_that_was_tried_everywhere(
    bench: Any, study: Study, knowledge_base: KnowledgeBase
) -> None:
    first, second = cpu(bench, knowledge_base), gpu(bench, knowledge_base)
    for machine in (first, second, first):
        cases, _ = machine.study(study)
    case = cases[0]
    single = rows_of(case)["best single variant"]
    known = ~np.isnan(case.times_ms).any(axis=1)
    efficiency = np.nanmin(case.times_ms, axis=0) / case.times_ms
    best = max(2 / (1 / row).sum() for row in efficiency[known])
    assert single.pp == pytest.approx(best)
    assert not any(cell.waiting for cell in single.cells)


def test_two_bases_that_are_joined_fill_each_others_cells(
    bench: Any, study: Study, knowledge_base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu(bench, knowledge_base).study(study)
    knowledge_base.export(tmp_path / "cpu.jsonl.xz")
    with KnowledgeBase.open(None, tmp_path / "elsewhere") as elsewhere:
        elsewhere.join(tmp_path / "cpu.jsonl.xz")
        _bases(monkeypatch, elsewhere)
        there, _ = gpu(bench, elsewhere).study(study)
        elsewhere.export(tmp_path / "gpu.jsonl.xz")
    assert not rows_of(there[0])[CPU.name].cells[1].waiting
    knowledge_base.join(tmp_path / "gpu.jsonl.xz")
    _bases(monkeypatch, knowledge_base)
    cases, _ = cpu(bench, knowledge_base).study(study)
    rows = rows_of(cases[0])
    assert {CPU.name, GPU.name} <= set(rows)
    assert not any(cell.waiting for row in rows.values() for cell in row.cells)


def test_a_device_that_only_the_base_knows_lends_its_champion(
    bench: Any, study: Study, knowledge_base: KnowledgeBase
) -> None:
    gpu(bench, knowledge_base).tune(replace(study.campaigns[0], device="cuda:0"))
    known = replace(study, devices=("opencl:0",), known=("up gpu",))
    cases, _ = cpu(bench, knowledge_base).study(known)
    assert [place.name for place in cases[0].places] == [CPU.name, GPU.name]
    row = rows_of(cases[0])[GPU.name]
    assert row.cells[0].time_ms is not None and row.cells[1].waiting


def test_trimming_leaves_out_the_last_gene_that_stands_in_the_way() -> None:
    def lower(genome: Genome) -> Variant | Rejection:
        if genome.find("register_tile") or genome.find("nothing"):
            return Rejection(genome, "too large")
        return Variant("k", Target.OPENCL, "", (), proposed=genome, genome=genome)

    found = trimmed(Genome((COARSE, TILE, UNROLL)), lower)
    assert found is not None
    assert found[1] == TILE and found[0].proposed.genes == (COARSE, UNROLL)
    assert trimmed(Genome((TILE, Gene.of("nothing", K))), lower) is None
    assert trimmed(Genome((TILE,)), lower) is None, "the kernel as it is repairs nothing"

"""A synthetic kernel whose timings are a formula of the genome, and a device that answers at once and in order."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import pytest

from evaluator.accounts import StageCost
from evaluator.api import Comparison, Compiled, Event, Measured, SizeComparison
from evaluator.result import Bottleneck, DeviceInfo, Evaluation, Profile, Status, Timing, Toolchain
from evo.campaign_types import Budget, Campaign
from evo.parts import Parts, Pipeline
from evo.progress import CampaignStart, ProgressSnapshot
from evo.result import CampaignResult
from genome.genes import Gene, Genome, ParamValue, Site
from genome.limits import DeviceLimits
from genome.sizes import SizeExpr
from genome.spec import KernelSpec, LaunchSpec, ProblemSize
from genome.variant import GridAxis, Launch, Rejection, SkippedGene, Target, Variant
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome, Prior, TrainingRow
from knowledge.trust import SurrogateMetrics
from operators.computation import Computation
from operators.crossover import Crossover, Merge
from operators.local_search import LocalSearch
from operators.memory_layout import MemoryLayout
from operators.parallelism import Parallelism
from operators.profiler import Profiler
from operators.recall import Recall
from operators.verifier import Verifier

AGENTS = (
    Profiler(), MemoryLayout(), Computation(), Parallelism(), Recall(), Crossover(), Merge(), LocalSearch(), Verifier(),
)  # fmt: skip
SIZES = (ProblemSize((("N", 64),), 1.0), ProblemSize((("N", 50),), 1.0))
ROLES = {"x": "parallel.x", "y": "parallel.y", "k": "reduction[0]", "instances": "parallel", "copies": "copies"}
POWERS = (2, 4, 8, 16)
TOOLCHAIN = Toolchain("Fake 1.0", "driver", "compiler")
DEVICE = DeviceInfo("opencl:0", "fake", "fake", "x", "cpu", 2, 1 << 30)


@dataclass(frozen=True)
class Named:
    name: str


@dataclass(frozen=True)
class FakeMove:
    transform: Named
    site: Site
    domain: Mapping[str, tuple[ParamValue, ...]]
    current: Gene | None = None


def space(genome: Genome, only: Collection[str] | None = None) -> tuple[FakeMove, ...]:
    """A matmul-like space: register_tile needs a coarsened axis, and nothing else exists but a foreign transform."""
    found = [
        _move(genome, "block_shape", "x", threads=(1, 2, 4, 8, 32, 64)),
        _move(genome, "block_shape", "y", threads=(1, 2, 4, 8, 32, 64)),
        _move(genome, "coarsen_blocked", "x", factor=POWERS),
        _move(genome, "coarsen_blocked", "y", factor=POWERS),
        _move(genome, "unroll", "k", factor=POWERS),
        _move(genome, "foreign", "k", depth=(1, 2)),
    ]
    if genome.find("coarsen_blocked"):
        found.append(_move(genome, "register_tile", "instances"))
    return tuple(move for move in found if only is None or move.transform.name in only)


def _move(genome: Genome, name: str, label: str, **domain: tuple[ParamValue, ...]) -> FakeMove:
    return FakeMove(Named(name), Site(label, ROLES[label]), domain, genome.find(name, label))


def value(genome: Genome, name: str, label: str, default: int = 1) -> int:
    gene = genome.find(name, label)
    return int(next(iter(gene.values.values()))) if gene and gene.params else default


def lowered(genome: Genome) -> Variant | Rejection:
    """Applied genes in canonical order; register_tile falls out without a coarsened axis; a block is 1024 at most."""
    block = (value(genome, "block_shape", "x", 16), value(genome, "block_shape", "y", 16), 1)
    if prod(block) > 1024:
        return Rejection(genome, f"{prod(block)} threads")
    applicable = genome.find("coarsen_blocked") is not None
    kept = [g for g in genome.genes if g.transform != "register_tile" or applicable]
    skipped = tuple(SkippedGene(g, "no instances") for g in genome.genes if g not in kept)
    applied = Genome(tuple(sorted(kept, key=lambda gene: gene.key)))
    tile = tuple(
        GridAxis(SizeExpr("N"), threads * value(genome, "coarsen_blocked", axis))
        for axis, threads in zip("xy", block, strict=False)
    )
    launch = Launch("k", (tile[0], tile[1], GridAxis(SizeExpr("1"))), block, ("N",))
    return Variant(
        "fake", Target.OPENCL, applied.canonical(), (launch,), proposed=genome, genome=applied, skipped=skipped
    )


def seconds(genome: Genome) -> float:
    """100 ms for the baseline; only a jammed tile gains (up to 16x, best at 8 along x and 4 along y)."""
    gain = 1.0
    if genome.find("register_tile"):
        for axis, best in (("x", 8), ("y", 4)):
            factor = value(genome, "coarsen_blocked", axis)
            gain *= max(0.5, min(factor, best) / max(1.0, factor / best) ** 0.5) ** 0.75
    gain *= {1: 1.0, 2: 1.1, 4: 1.3, 8: 1.2, 16: 0.8}[value(genome, "unroll", "k")]
    gain *= 1.0 - 0.01 * abs(value(genome, "block_shape", "x", 16).bit_length() - 5)
    return 100.0 / gain


def timing(ms: float) -> Timing:
    return Timing((ms, ms * 1.02), ms, ms * 0.99, ms * 1.01)


@dataclass
class FakeEvaluator:
    """Answers in order. ``verdict`` may give a Status (or None: timed by the formula) for the n-th measurement."""

    clock: list[float]
    verdict: Callable[[Variant, int], Status | None] = lambda variant, number: None
    time_of: Callable[[Variant], float] = lambda variant: seconds(variant.genome)
    target: Target = Target.OPENCL
    limits: DeviceLimits = field(default_factory=DeviceLimits)
    toolchain: Toolchain = TOOLCHAIN
    device: DeviceInfo = DEVICE
    refuted: frozenset[str] = frozenset()
    costs: tuple[StageCost, ...] = ()
    notes: tuple[str, ...] = ()
    remark: str = ""

    def __post_init__(self) -> None:
        self.queue: deque[Event] = deque()
        self.variants: dict[int, Variant] = {}
        self.measured: list[Variant] = []
        self.proofs: list[tuple[str, ...]] = []

    def open(self, baseline: Variant, say: Callable[[str], None] = lambda text: None) -> Measured:
        return Measured(0, self._evaluations(baseline))

    def settle(
        self, say: Callable[[str], None] = lambda text: None, give_up: Callable[[], bool] = lambda: False
    ) -> str:
        return self.remark

    def compile(self, ticket: int, variant: Variant) -> None:
        self.variants[ticket] = variant
        self.queue.append(Compiled(ticket, Status.OK, compile_s=0.1))

    def measure(self, ticket: int) -> None:
        variant = self.variants[ticket]
        self.measured.append(variant)
        self.clock[0] += 1.0
        status = self.verdict(variant, len(self.measured))
        if status is None:
            self.queue.append(Measured(ticket, self._evaluations(variant)))
        else:
            failed = Evaluation(variant.digest(), SIZES[0].label, status, "as planned", stage="check")
            self.queue.append(Measured(ticket, (failed,)))

    def discard(self, ticket: int) -> None:
        self.queue = deque(event for event in self.queue if event.ticket != ticket)

    def events(self, timeout_s: float | None) -> list[Event]:
        return [self.queue.popleft()] if self.queue else []

    def compare(
        self, baseline: Variant, champions: Sequence[Variant], processes: int, progress: Callable[[int, int], None]
    ) -> tuple[Comparison, ...]:
        self.proofs.append(tuple(v.digest() for v in champions))
        return tuple(self._proof(baseline, champion, processes) for champion in champions)

    def counted(self, variant: Variant, evaluation: Evaluation) -> Evaluation:
        return evaluation

    def close(self) -> None:
        self.queue.clear()

    def _proof(self, baseline: Variant, champion: Variant, processes: int) -> Comparison:
        base, own = self.time_of(baseline), self.time_of(champion)
        rows = tuple(
            SizeComparison(s.label, base, own, base / own, base / own * 0.98, base / own * 1.02) for s in SIZES
        )
        verified = champion.digest() not in self.refuted
        return Comparison(champion.digest(), rows, base / own, base / own * 0.98, base / own * 1.02, verified,
                          "" if verified else "wrong at N=7", processes)  # fmt: skip

    def _evaluations(self, variant: Variant) -> tuple[Evaluation, ...]:
        profile = Profile(Bottleneck.ISSUE)  # no roofline: leaps are doubted
        return tuple(
            Evaluation(variant.digest(), s.label, Status.OK, timing=timing(self.time_of(variant)), profile=profile)
            for s in SIZES
        )


@dataclass(frozen=True)
class Row:
    genome: Genome
    proposed: Genome
    variant: str
    evaluations: tuple[Evaluation, ...]
    checks: tuple[Evaluation, ...]
    lineage: Lineage
    speedup: float | None
    cached: bool


class FakeMemory:
    """A knowledge base in a dictionary. Look-ups see every outcome of every campaign, as the real one does."""

    def __init__(self, priors: tuple[Prior, ...] = ()) -> None:
        self.rows: dict[int, list[Row]] = {}
        self.rejections: list[Rejection] = []
        self.proofs: list[tuple[int, Comparison]] = []
        self.metrics: list[tuple[int, int, SurrogateMetrics]] = []
        self.state: dict[tuple[int, str], Mapping[str, Any]] = {}
        self.finished: dict[int, Mapping[str, Any]] = {}
        self._priors = priors

    def start_campaign(self, record: CampaignRecord, resume: bool) -> int:
        unfinished = [number for number in self.rows if number not in self.finished]
        number = unfinished[-1] if resume and unfinished else len(self.rows) + 1
        self.rows.setdefault(number, [])
        return number

    def record(self, campaign: int, outcome: Outcome) -> None:
        variant = outcome.variant
        self.rows[campaign].append(
            Row(variant.genome, variant.proposed, variant.digest(), outcome.evaluations, outcome.checks,
                outcome.lineage, outcome.speedup, outcome.cached))  # fmt: skip

    def prove(self, campaign: int, comparison: Comparison) -> None:
        self.proofs.append((campaign, comparison))

    def reject(self, campaign: int, rejection: Rejection, lineage: Lineage) -> None:
        self.rejections.append(rejection)

    def finish(self, campaign: int, summary: Mapping[str, Any]) -> None:
        self.finished[campaign] = summary

    def lookup(
        self, kernel_digest: str, device: DeviceInfo, toolchain: Toolchain, variant_digest: str, contract: str = ""
    ) -> tuple[Evaluation, ...]:
        found = [row for rows in self.rows.values() for row in rows if row.variant == variant_digest]
        return found[-1].evaluations if found else ()

    def outcomes(self, campaign: int) -> list[Row]:
        return list(self.rows[campaign])

    def priors(
        self, kernel: KernelRecord, device: DeviceInfo, toolchain: Toolchain, sizes: Sequence[ProblemSize], limit: int
    ) -> tuple[Prior, ...]:
        return self._priors[:limit]

    def training_rows(self, kernel: KernelRecord, device: DeviceInfo, limit: int) -> tuple[TrainingRow, ...]:
        rows = [row for rows in self.rows.values() for row in rows]
        return tuple(
            TrainingRow(row.genome, (0.0,), (), (), None if row.speedup is None else math.log2(row.speedup),
                        row.speedup is None, True, True)
            for row in rows[::-1][:limit]
        )  # fmt: skip

    def record_metrics(self, campaign: int, ordinal: int, metrics: SurrogateMetrics) -> None:
        self.metrics.append((campaign, ordinal, metrics))

    def save_state(self, campaign: int, key: str, data: Mapping[str, Any]) -> None:
        self.state[(campaign, key)] = data

    def load_state(self, campaign: int, key: str) -> Mapping[str, Any] | None:
        return self.state.get((campaign, key))

    def news(self) -> tuple[str, ...]:
        return ()

    def settle(self) -> tuple[str, ...]:
        return ()


class Watcher:
    """Keeps what an observer is told."""

    def __init__(self) -> None:
        self.start: CampaignStart | None = None
        self.snapshots: list[ProgressSnapshot] = []
        self.result: CampaignResult | None = None

    def on_start(self, start: CampaignStart) -> None:
        self.start = start

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        self.snapshots.append(snapshot)

    def on_finish(self, result: CampaignResult) -> None:
        self.result = result


@dataclass
class Bench:
    """Builds parts and campaigns of the synthetic kernel."""

    space: Callable[..., tuple[FakeMove, ...]] = space
    lowered: Callable[[Genome], Variant | Rejection] = lowered
    seconds: Callable[[Genome], float] = seconds
    agents: tuple[Any, ...] = AGENTS
    memory_type: type[FakeMemory] = FakeMemory
    evaluator_type: type[FakeEvaluator] = FakeEvaluator
    sizes: tuple[ProblemSize, ...] = SIZES
    watcher: type[Watcher] = Watcher
    move: type[FakeMove] = FakeMove
    named: type[Named] = Named

    def evaluator(self, **changes: Any) -> FakeEvaluator:
        return FakeEvaluator([0.0], **changes)

    def campaign(self, evaluations: int = 60, seed: int = 1, **changes: Any) -> Campaign:
        spec = KernelSpec("fake", "", "k", (), LaunchSpec((16, 16, 1), domain=(SizeExpr("N"),)), SIZES)
        budget = Budget(evaluations, changes.pop("minutes", None), changes.pop("patience", None))
        return Campaign("fake", Path("campaign.yaml"), spec, Path("out"), budget=budget, seed=seed, population=16,
                        **changes)  # fmt: skip

    def parts(self, evaluator: FakeEvaluator, memory: FakeMemory | None = None, **changes: Any) -> Parts:
        kernel = KernelRecord("fake", "digest", "", "k", (0.0,), 1)
        given: dict[str, Any] = {
            "evaluator": evaluator, "lower": lowered, "moves": space, "describe": lambda gene: gene.transform,
            "agents": AGENTS, "kernel": kernel, "clock": lambda: evaluator.clock[0], "memory": memory or FakeMemory(),
            "pipeline": Pipeline(3, 1), "size_features": tuple(() for _ in SIZES), **changes,
        }  # fmt: skip
        return Parts(**given)

    def prior(self, genome: Genome, speedup: float, distance: float = 0.0) -> Prior:
        return Prior(genome, "fake", "digest", "fake", "Fake 1.0", SIZES[0].label, 1.0, speedup, speedup, "v", distance,
                     "same kernel on this device")  # fmt: skip


@pytest.fixture
def bench() -> Bench:
    """The synthetic kernel and its device."""
    return Bench()

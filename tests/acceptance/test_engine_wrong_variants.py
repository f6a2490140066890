"""Transforms that are wrong by construction are caught, the right variant is blamed, and none becomes best."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.devices import list_devices
from evaluator.pool import LocalEvaluator
from evaluator.settings import EvaluatorSettings
from evo.campaign import load_campaign
from evo.evolve import evolve
from evo.memory import NoMemory
from evo.progress import SilentObserver
from evo.result import CampaignResult
from evo.wire import assemble
from genome.genes import Gene, Genome, ParamValue, Site
from genome.ir.expr import Binary, Index, Var, integer
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Assign, Barrier, Body, If, Stmt
from genome.replay import spec_kernel
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.builtin import BUILTIN
from genome.variant import Rejection
from knowledge.features import kernel_record
from knowledge.records import Lineage, Outcome
from operators.base import AgentContext, Proposal
from operators.choice import Want, compose
from operators.verifier import Verifier

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not list_devices(), reason="no device"),
]

SITE = Site("everything", "everything")


def no_guard(kernel: Kernel) -> Kernel:
    """Threads outside of the domain run the body as well."""
    return replace(kernel, inside=None, inside_block=None, tail=None)


def no_barriers(kernel: Kernel) -> Kernel:
    """A staged tile is read before it is written."""

    def drop(stmt: Stmt) -> Body:
        return () if isinstance(stmt, Barrier) else (stmt,)

    return replace(kernel, body=map_stmts(kernel.body, drop))


def half_output(kernel: Kernel) -> Kernel:
    """Every other thread does nothing."""
    even = Binary("==", Binary("%", Var("threadIdx.x"), integer(2)), integer(0))
    return replace(kernel, body=(If(even, kernel.body),))


def one_past_the_end(kernel: Kernel) -> Kernel:
    """The first thread of each block also writes behind the last element."""
    first = Binary("==", Binary("+", Var("threadIdx.x"), Var("threadIdx.y")), integer(0))
    stray = Assign(Index("C", (Binary("*", Var("M"), Var("N")),)), integer(0))
    return replace(kernel, body=(*kernel.body, If(first, (stray,))))


@dataclass(frozen=True)
class Sabotage:
    """A transform whose check lies."""

    name: str
    rewrite: Callable[[Kernel], Kernel]
    phase: Phase = Phase.LAUNCH
    targets: frozenset[Any] = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        return (SITE,)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        return self.rewrite(kernel)

    def describe(self, site: Site, params: Params) -> str:
        return self.name


SABOTEURS = tuple(
    Sabotage(function.__name__, function) for function in (no_guard, no_barriers, half_output, one_past_the_end)
)
TILED = (
    Want("block_shape", "parallel.x", {"threads": 8}),
    Want("coarsen_blocked", "parallel.*", {"factor": 2}),
    Want("register_tile"),
    Want("strip", "reduction*", {"factor": 8}, sites=1),
)
STAGED = (*TILED, Want("shared_tile", "read.reused*", {"pad": 0}))


@dataclass(frozen=True)
class Saboteur:
    """Honest tiles, each followed by every wrong form of it."""

    name: str = "saboteur"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        for unroll in (2, 4, 8):
            for wants in (TILED, STAGED):
                honest = compose(Genome((Gene.of("unroll", Site("k", "reduction[0]"), factor=unroll),)), wants,
                                 context.moves)  # fmt: skip
                wrong = [honest.with_gene(Gene.of(item.name, SITE)) for item in SABOTEURS]
                for genome in (honest, *wrong):
                    if not context.proposed(genome):
                        return (Proposal(genome, self.name, (context.baseline.variant,)),)
        return ()


@dataclass(frozen=True)
class Diary(NoMemory):
    """Keeps what a knowledge base would be told."""

    outcomes_seen: list[Outcome] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)

    def record(self, campaign: int, outcome: Outcome) -> None:
        self.outcomes_seen.append(outcome)

    def reject(self, campaign: int, rejection: Rejection, lineage: Lineage) -> None:
        self.rejections.append(rejection)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[CampaignResult, Diary]:
    root = Path(__file__).resolve().parents[2] / "examples" / "matmul"
    campaign = load_campaign(root / "campaign.yaml")
    sizes = (replace(campaign.spec.sizes[0], values=(("M", 96), ("N", 96), ("K", 96))),
             replace(campaign.spec.sizes[0], values=(("M", 90), ("N", 75), ("K", 61))))  # fmt: skip
    campaign = replace(campaign, spec=replace(campaign.spec, sizes=sizes), surrogate=False, processes=2,
                       budget=replace(campaign.budget, evaluations=30, minutes=4.0, patience=None))  # fmt: skip
    settings = EvaluatorSettings(cache_dir=tmp_path_factory.mktemp("cache"), sample_budget_s=0.05)
    evaluator = LocalEvaluator(campaign.spec, list_devices()[0].id, settings, campaign.reference, 1)
    record = kernel_record(campaign.spec, spec_kernel(campaign.spec))
    diary = Diary()
    try:
        parts = assemble(campaign, evaluator, diary, record, (*BUILTIN, *SABOTEURS), (Saboteur(), Verifier()))
        result = evolve(campaign, replace(parts, clock=time.monotonic), observer=SilentObserver())
    finally:
        evaluator.close()
    return result, diary


def _sabotaged(genome: Genome) -> set[str]:
    return {gene.transform for gene in genome.genes} & {item.name for item in SABOTEURS}


def test_no_wrong_variant_passes_and_no_right_one_is_blamed(told: tuple[CampaignResult, Diary]) -> None:
    _, diary = told
    judged = [outcome for outcome in diary.outcomes_seen if outcome.lineage.agent != "baseline"]
    assert len(judged) >= 15
    for outcome in judged:
        caught = outcome.speedup is None
        assert caught == bool(_sabotaged(outcome.variant.genome)), [
            (e.status, e.message) for e in (*outcome.evaluations, *outcome.checks)
        ]


def test_every_kind_of_sabotage_was_caught(told: tuple[CampaignResult, Diary]) -> None:
    _, diary = told
    failed = {name for outcome in diary.outcomes_seen for name in _sabotaged(outcome.variant.genome)}
    refused = {name for rejection in diary.rejections for name in _sabotaged(rejection.genome)}
    assert failed >= {"no_guard", "half_output", "one_past_the_end"}
    assert "no_barriers" in refused  # a CPU runs it right by luck: the static check is what catches it


def test_the_winner_is_an_honest_one(told: tuple[CampaignResult, Diary]) -> None:
    result, _ = told
    assert not _sabotaged(result.best.genome)
    assert result.comparison.verified
    assert result.counts.wrong > 0

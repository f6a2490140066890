"""Champions are proven again on a real device (PoCL) after its toolchain changed; those that lost get a campaign."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from evaluator.api import Comparison, SizeComparison
from evaluator.devices import facts_of
from evaluator.result import Evaluation, Status, Timing
from evo.campaign import Campaign, Overrides
from evo.contract import contract
from evo.engine import run_campaign
from evo.result import CampaignResult
from evo.retune import Retune, Retuned
from evo.retune_campaigns import named_campaigns
from evo.retune_plan import Plan, plan_of
from evo.retune_verdict import Verdict
from genome.genes import Gene, Genome, Site
from genome.lower import lower
from genome.replay import spec_kernel
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from knowledge.features import kernel_record
from knowledge.records import CampaignRecord, Lineage, Outcome
from knowledge.store import KnowledgeBase

pytest.importorskip("pyopencl")
pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "matmul"
SIZE = {"M": 48, "N": 48, "K": 48}
LABEL = "M=48,N=48,K=48"
NARROW = Genome((Gene.of("block_shape", Site("c", "parallel.x"), threads=8),))
FASTER = Genome((
    Gene.of("block_shape", Site("c", "parallel.x"), threads=8),
    Gene.of("coarsen_blocked", Site("c", "parallel.x"), factor=8),
    Gene.of("block_shape", Site("r", "parallel.y"), threads=8),
    Gene.of("coarsen_blocked", Site("r", "parallel.y"), factor=4),
    Gene.of("register_tile", Site("instances", "instances")),
))  # fmt: skip


@pytest.fixture
def campaign(tmp_path: Path, knowledge_base: KnowledgeBase) -> Path:
    data = yaml.safe_load((EXAMPLE / "campaign.yaml").read_text())
    data |= {
        "name": f"matmul {uuid.uuid4().hex[:8]}", "sizes": [SIZE], "device": "opencl:0", "surrogate": False,
        "check_sizes": [{"M": 32, "N": 64, "K": 48}, {"M": 37, "N": 41, "K": 29}, {"M": 64, "N": 32, "K": 16}],
    }  # fmt: skip
    for name in ("kernel.cu", "reference.py"):
        (tmp_path / name).write_text((EXAMPLE / name).read_text())
    path = tmp_path / "campaign.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def loaded(path: Path, base: KnowledgeBase) -> Campaign:
    (found,), _ = named_campaigns([path], Overrides(knowledge=base.where))
    return replace(found, processes=2)


def remember(base: KnowledgeBase, campaign: Campaign, genome: Genome, speedup: float, best_ms: float) -> None:
    """Puts a champion of an older driver into the base."""
    facts = facts_of("opencl:0")
    record = CampaignRecord(
        campaign.name, kernel_record(campaign.spec, spec_kernel(campaign.spec)), facts.info,
        replace(facts.toolchain, driver="an older one"), 1, "", campaign.settings, contract(campaign),
    )  # fmt: skip
    number = base.start_campaign(record, resume=False)
    times = ((Genome(), best_ms * speedup, 1.0), (genome, best_ms, speedup))
    for ordinal, (genes, ms, gain) in enumerate(times):
        variant = lower(campaign.spec, genes, BUILTIN, Target.OPENCL, facts.limits)
        assert isinstance(variant, Variant) and not variant.skipped
        timed = Evaluation(variant.digest(), LABEL, Status.OK, timing=Timing((ms,), ms, ms, ms))
        base.record(number, Outcome(variant, (timed,), (), Lineage("test", generation=ordinal), gain))
    row = SizeComparison(LABEL, best_ms * speedup, best_ms, speedup, speedup, speedup)
    base.prove(number, Comparison(variant.digest(), (row,), speedup, speedup, speedup, True, processes=5))
    told = {"median": speedup, "low": speedup, "high": speedup}
    base.finish(number, {"best": variant.digest(), "improved": True, "verified": True, "speedup": told})


def planned(base: KnowledgeBase, campaign: Campaign) -> Plan:
    plan = plan_of(base.champions(), [campaign], "", every=False)
    assert not plan.absent
    return plan


def retuned(plan: Plan, output: Path) -> Retuned:
    def mend(campaign: Campaign, again: bool) -> CampaignResult:
        return run_campaign(campaign)

    return Retune(plan, output, 1, None, mend, lambda text: None, lambda: False).run()


def test_a_champion_that_holds_becomes_that_of_the_platform_at_hand(
    campaign: Path, knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    read = loaded(campaign, knowledge_base)
    remember(knowledge_base, read, FASTER, speedup=1.2, best_ms=50.0)  # a matrix product of 48 takes far less
    plan = planned(knowledge_base, read)
    assert [case.changes for case in plan.cases] == [
        (f"driver: an older one -> {facts_of('opencl:0').toolchain.driver}",)
    ]
    (finding,) = retuned(plan, tmp_path / "again").findings
    assert finding.verdict is Verdict.KEPT, finding
    assert finding.now is not None and finding.now.speedup > 1.0
    assert not planned(knowledge_base, read).cases
    newest = knowledge_base.champions()[0]
    assert (newest.name, newest.variant) == (read.name, finding.variant) and newest.file == str(campaign)


def test_what_a_campaign_cannot_mend_is_lost(campaign: Path, knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    read = loaded(campaign, knowledge_base)
    remember(knowledge_base, read, NARROW, speedup=1e6, best_ms=1e-6)  # nothing can be as fast as that
    (finding,) = retuned(planned(knowledge_base, read), tmp_path / "again").findings
    assert finding.verdict is Verdict.LOST, finding
    assert finding.now is not None and 0.0 < finding.now.speedup < 1e6  # it is right, and slower than was claimed
    assert (tmp_path / "again" / "retune.json").exists()
    assert not planned(knowledge_base, read).cases  # told once

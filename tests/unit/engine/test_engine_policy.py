"""Planted rewards move the policy; the leader is trimmed before the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evo.closing import closing, closing_due
from evo.evolve import evolve
from evo.population import Individual
from evo.result import CampaignResult, StopReason
from evo.start import first_state
from genome.genes import Gene, Genome, Site
from operators.base import AgentContext, Parent, Proposal


def run(bench: Any, evaluator: Any, memory: Any = None, stop: Any = None, resume: bool = False, agents: Any = None,
        **changes: Any) -> CampaignResult:  # fmt: skip
    parts = bench.parts(evaluator, memory, **({"agents": agents} if agents else {}))
    return evolve(bench.campaign(**changes), parts, observer=bench.watcher(), stop=stop, resume=resume)


@dataclass(frozen=True)
class Planted:
    """Each of its proposals beats its parent by raising a counter."""

    name: str = "planted"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        best = max(
            (p.genome.find("counter").values["n"] for p in context.elites if p.genome.find("counter")), default=0
        )
        gene = Gene.of("counter", Site("n"), n=int(best) + 1)
        while context.proposed(Genome((gene,))):
            gene = Gene.of("counter", Site("n"), n=int(gene.values["n"]) + 1)
        return (Proposal(Genome((gene,)), self.name, (context.parent.variant,)),)


@dataclass(frozen=True)
class Useless:
    """Each of its proposals is new and gains nothing."""

    name: str

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        gene = Gene.of("noise", Site(self.name), n=int(rng.integers(10**9)))
        return (Proposal(Genome((gene,)), self.name, (context.baseline.variant,)),)


def test_planted_rewards_move_the_shares(bench: Any) -> None:
    def time_of(variant: Any) -> float:
        counter = variant.genome.find("counter")
        return 100.0 / (1.05 ** int(counter.values["n"]) if counter else 1.0)

    agents = (Planted(), *(Useless(f"useless{index}") for index in range(7)))
    passed, below = [], []
    for seed in range(7):
        parts = bench.parts(bench.evaluator(time_of=time_of), agents=agents, moves=lambda genome, only=None: ())
        result = evolve(bench.campaign(evaluations=50, seed=seed), parts, observer=bench.watcher())
        tally = {agent.agent: agent.proposals for agent in result.agents}
        total = sum(tally.values())
        passed.append(tally["planted"] / total)
        below.append(max(dict(result.credit[-1].shares)[agent.name] for agent in agents[1:]))
    assert float(np.median(passed)) > 0.6
    assert max(below) < 0.1


def test_a_gene_that_costs_does_not_ride_along(bench: Any) -> None:
    def time_of(variant: Any) -> float:
        return float(bench.seconds(variant.genome)) * (1.05 if variant.genome.find("foreign") else 1.0)

    for seed in range(4):
        result = run(bench, bench.evaluator(time_of=time_of), seed=seed)
        assert result.best.genome.find("foreign") is None


def test_closing_leaves_out_each_gene_of_the_leader(bench: Any) -> None:
    evaluator = bench.evaluator()
    parts, campaign = bench.parts(evaluator), bench.campaign()
    baseline = parts.lower(Genome())
    state = first_state(campaign, parts, baseline, evaluator.open(baseline))
    assert closing(state) == ()
    wide = Gene.of("coarsen_blocked", Site("x", "parallel.x"), factor=8)
    jam = Gene.of("register_tile", Site("instances", "parallel"))
    unroll = Gene.of("unroll", Site("k", "reduction[0]"), factor=4)
    variant = parts.lower(Genome((wide, jam, unroll)))
    parent = Parent(variant.genome, variant.digest(), 12.0)
    state.archive.add(Individual(parent, variant, 12.0, 12.0))
    state.genomes.add(Genome((wide, jam)).digest())
    assert [p.genome for p in closing(state)] == [Genome((wide, unroll)), Genome((jam, unroll))]
    assert not closing_due(campaign.budget, state, 0, 1.0, 100.0)
    assert closing_due(campaign.budget, state, 57, 1.0, 100.0)
    assert closing_due(campaign.budget, state, 0, 91.0, 100.0)


def test_a_search_out_of_patience_goes_on_if_trimming_finds_a_leader(bench: Any) -> None:
    """The rider costs 30%: leaving it out at the end of patience is a record, and patience starts again."""
    rider = Gene.of("foreign", Site("k", "reduction[0]"), depth=1)
    wide = Gene.of("coarsen_blocked", Site("x", "parallel.x"), factor=2)

    def time_of(variant: Any) -> float:
        genes = variant.genome.genes
        return {0: 100.0, 1: 50.0 if genes == (wide,) else 110.0, 2: 65.0}.get(len(genes), 110.0)

    @dataclass(frozen=True)
    class Stubborn:
        name: str = "stubborn"

        def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
            fixed = Genome((wide, rider))
            noise = Gene.of("noise", Site("n"), n=int(rng.integers(10**9)))
            genome = Genome((wide, rider, noise)) if context.proposed(fixed) else fixed
            return (Proposal(genome, self.name, (context.baseline.variant,)),)

    parts = bench.parts(bench.evaluator(time_of=time_of), agents=(Stubborn(),), moves=lambda genome, only=None: ())
    result = evolve(bench.campaign(evaluations=200, patience=10), parts, observer=bench.watcher())
    assert result.stop is StopReason.PATIENCE
    assert result.best.genome == Genome((wide,))
    assert 20 <= result.counts.evaluations <= 40

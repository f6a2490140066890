"""The beginning of a campaign: memory, and the proposals that come before any agent is asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from evaluator.api import Measured
from evaluator.objective import Kind
from evo.campaign_types import Campaign
from evo.experience import Remembered, remembered
from evo.fitness import Fitness
from evo.inspection.remark import opening_remark
from evo.parts import Parts
from evo.population import Individual, Population
from evo.progress import CampaignStart
from evo.screening import Screen
from evo.state import SearchState, context_of
from genome.genes import Genome
from genome.replay import with_pins
from genome.variant import Variant
from knowledge.records import CampaignRecord, Lineage, Outcome, TrainingRow
from operators.base import AgentContext, Parent, Proposal
from operators.opening import opening
from operators.portfolio import portfolio
from operators.recall import Recall, placed

PRIORS = 32
HISTORY_ROWS = 4000  # of the knowledge base that the surrogate learns from
OPENING_SHARE = 0.15  # of the evaluations that the opening book may take
PRIOR_SHARE = 0.1  # of the evaluations that go to other sizes', devices' and kernels' optima among the first
REMEMBERED = 10  # best genomes of earlier campaigns at these sizes that come back for nothing


def campaign_record(campaign: Campaign, parts: Parts) -> CampaignRecord:
    """The campaign as the knowledge base stores it."""
    return CampaignRecord(
        campaign.name, parts.kernel, parts.evaluator.device, parts.evaluator.toolchain, campaign.seed,
        parts.versions.get("evo-tune", ""), campaign.settings, parts.contract)  # fmt: skip


def origin(campaign: Campaign) -> dict[str, str]:
    """Where the campaign lies on this machine: what has to be proven again later finds it there."""
    return {"file": str(campaign.path.resolve()), "entry": campaign.entry}


def first_state(campaign: Campaign, parts: Parts, baseline: Variant, measured: Measured) -> SearchState:
    """The state in which only the baseline is known, and what the base remembers of kernels like this one."""
    on_cpu = parts.evaluator.device.kind == "cpu"
    by_energy = campaign.objective.kind is Kind.ENERGY
    fitness = Fitness.of(campaign.spec.sizes, measured.evaluations, fastest=on_cpu, by_energy=by_energy)
    own = Parent(baseline.genome, baseline.digest(), 1.0, "baseline", measured.evaluations)
    individual = Individual(own, baseline, 1.0, 1.0)
    population = Population(campaign.population)
    population.add(individual)
    priors = parts.memory.priors(
        parts.kernel, parts.evaluator.device, parts.evaluator.toolchain, campaign.spec.sizes, PRIORS
    )
    state = SearchState(np.random.default_rng(campaign.seed), fitness, individual, population, tuple(priors))
    state.archive.add(individual)
    state.variants.add(individual.digest)
    state.genomes.add(Genome().digest())
    return state


def store_baseline(parts: Parts, number: int, state: SearchState, measured: Measured) -> None:
    """Puts the baseline's own measurement into the knowledge base."""
    outcome = Outcome(state.baseline.variant, measured.evaluations, measured.checks, Lineage("baseline"), 1.0)
    parts.memory.record(number, outcome)


def first_screen(campaign: Campaign, parts: Parts, state: SearchState, rows: Sequence[TrainingRow]) -> Screen:
    """The surrogate's screen with the base's experience (a resumed campaign's own outcomes are part of that)."""
    screen = Screen(parts, campaign.epsilon, rows)
    screen.remember(state.baseline.variant.genome, 0.0)
    return screen


def queue_first(campaign: Campaign, parts: Parts, state: SearchState, rows: Sequence[TrainingRow]) -> None:
    """What comes before any agent: pinned genes, the champion, what else the base knows, and the opening book.

    The champion (best over this campaign's sizes, on this device) is measured again whatever the base says. What else
    was measured at these very sizes comes back from the base for nothing, the opening book as well. Of what other
    sizes, devices and kernels had, a portfolio is measured here, in turn with the book: the past comes first, and where
    it misleads it costs no more than every other of the first places.
    """
    context = context_of(state, parts, 1, campaign.budget.evaluations)
    weights = [size.weight for size in campaign.spec.sizes]
    own = remembered(rows, parts.size_features, weights)
    exact = [item for item in own if item.exact][:REMEMBERED]
    first = [
        _recalled(item.genome, 2**item.log2_speedup, "in an earlier campaign", fresh=index == 0)
        for index, item in enumerate(exact)
    ]
    pinned = Proposal(with_pins(campaign.spec, Genome()), Recall().name, (), "what the campaign pins")
    book: Sequence[Proposal] = ()
    if parts.guide is None:
        book = opening(context)[: max(1, round(OPENING_SHARE * campaign.budget.evaluations))]
    unique: dict[Genome, Proposal] = {}
    for proposal in (pinned, *first, *in_turn(_elsewhere(campaign, parts, state, own, context), book)):
        if proposal.genome.genes:
            unique.setdefault(proposal.genome, proposal)
    state.queue.extend(unique.values())


def _elsewhere(
    campaign: Campaign, parts: Parts, state: SearchState, own: Sequence[Remembered], context: AgentContext
) -> tuple[Proposal, ...]:
    """What other sizes, devices and kernels had, as far as their share of the measurements goes.

    In a table of configurations all genomes have one shape: there the nearest come first, and no portfolio is made.
    """
    room = max(1, round(PRIOR_SHARE * campaign.budget.evaluations))
    known = {item.genome for item in own if item.exact}
    if parts.guide is None:
        stakes = portfolio([prior for prior in state.priors if prior.genome not in known], context, room)
        return tuple(_recalled(s.genome, s.prior.speedup, s.prior.why) for s in stakes)
    others = [item for item in own if not item.exact][: max(1, room // 2)]
    found = [_recalled(item.genome, 2**item.log2_speedup, "at other sizes") for item in others]
    found += [_recalled(placed(p, context), p.speedup, p.why) for p in state.priors[:12] if p.speedup > 1.0]
    return tuple(p for p in found if p.genome.genes and p.genome not in known)[:room]


def in_turn(first: Sequence[Proposal], second: Sequence[Proposal]) -> tuple[Proposal, ...]:
    """One of each, as long as there are two, then the rest of the longer one."""
    pairs = zip_longest(first, second)
    return tuple(proposal for pair in pairs for proposal in pair if proposal is not None)


def _recalled(genome: Genome, speedup: float, where: str, fresh: bool = False) -> Proposal:
    return Proposal(genome, Recall().name, (), f"{speedup:.2f}x {where}", fresh, speedup)


def experience(parts: Parts) -> tuple[TrainingRow, ...]:
    """Rows of earlier campaigns, the most relevant first."""
    return tuple(parts.memory.training_rows(parts.kernel, parts.evaluator.device, HISTORY_ROWS))


def start_notice(campaign: Campaign, parts: Parts, state: SearchState, resumed: int) -> CampaignStart:
    """What the observer is told first."""
    timings = state.fitness.baseline
    return CampaignStart(
        campaign.spec.name,
        parts.evaluator.device,
        parts.evaluator.toolchain,
        campaign.budget.evaluations,
        campaign.budget.minutes,
        tuple((size.label, timings[size.label].median_ms) for size in state.fitness.sizes),
        known(parts, state),
        resumed,
        tuple(agent.name for agent in parts.agents),
        opening_remark(campaign, parts.moves(Genome())),
    )


def known(parts: Parts, state: SearchState) -> str:
    """One sentence on what the base remembers; empty if nothing."""
    own = [prior for prior in state.priors if prior.kernel_digest == parts.kernel.digest]
    if own:
        return f"the knowledge base knows this kernel: {own[0].why}"
    best = next(iter(state.priors), None)
    if best is None or (best.promise is not None and best.promise <= 0.0):  # what was no gain there is no news here
        return ""
    return f"the knowledge base knows {best.why}"

"""A campaign from start to result, on parts that somebody built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evaluator.accounts import seconds_a_variant
from evaluator.api import Measured
from evaluator.result import Evaluation, Profile
from evaluator.waiting import Say
from evo.campaign_types import Campaign
from evo.checkpoint import resume as resume_campaign
from evo.diagnosis import diagnosed
from evo.explain import explain
from evo.finish import Winner, alternatives, prove, stopped_note, unproven
from evo.kernel_remarks import explained
from evo.parts import Parts
from evo.phase_clock import PhaseClock
from evo.progress import CampaignPhase, Observer, ProgressSnapshot, StopRequest
from evo.reading import Opened, open_baseline
from evo.result import CampaignResult, GeneShare, StopReason
from evo.screening import Screen
from evo.search import Search
from evo.start import (
    campaign_record,
    experience,
    first_screen,
    first_state,
    known,
    origin,
    queue_first,
    start_notice,
    store_baseline,
)
from evo.state import SearchState
from genome.spec import Reading
from knowledge.champions import ORIGIN

EXPLAIN_S = 40.0  # longest time for leaving genes out
EXPLAIN_LEAST_S = 15.0  # even where the campaign's minutes are over


def evolve(
    campaign: Campaign,
    parts: Parts,
    *,
    observer: Observer,
    resume: bool = False,
    stop: StopRequest | None = None,
) -> CampaignResult:
    """Runs a campaign on parts that the caller built (and closes). See ``evo.engine.run_campaign``."""
    observer = phases = PhaseClock(observer, parts.clock)
    began = parts.clock()
    stopped = stop or (lambda: False)

    def starting(text: str) -> None:
        observer.on_event(ProgressSnapshot(CampaignPhase.STARTING, text, elapsed_s=parts.clock() - began))

    starting("verifying and timing the kernel as it stands")
    opened = _opened(campaign, parts, starting)
    parts, measured = opened.parts, opened.measured
    start = _begun(campaign, opened, resume, starting)
    number, state, screen = start.number, start.state, start.screen

    def elapsed() -> float:
        return start.earlier_s + parts.clock() - began

    observer.on_start(start_notice(campaign, parts, state, start.resumed))
    search = Search(campaign, number, parts, state, screen, observer, stopped, elapsed)
    reason = search.run()
    winner, explanation = _conclude(campaign, number, parts, state, search, observer, reason, stopped)
    if not winner.comparison.verified:  # the user alone cuts a proof short: --resume makes it
        reason = StopReason.INTERRUPTED
    result = replace(
        _result(campaign, parts, state, measured, winner, reason),
        explanation=explanation,
        surrogate=screen.report(seconds_a_variant(parts.evaluator.costs)),
        timing_surrogate=screen.timing.report(seconds_a_variant(parts.evaluator.costs)),
        campaign_id=number,
        elapsed_s=elapsed(),
        costs=parts.evaluator.costs,
        phases=phases.seconds,
    )
    if reason is not StopReason.INTERRUPTED:
        parts.memory.finish(number, summary(result))
    result = replace(result, notes=(*result.notes, *parts.memory.settle()))
    observer.on_event(search.snapshot("", CampaignPhase.DONE))
    observer.on_finish(result)
    return result


@dataclass(frozen=True)
class _Begun:
    """A campaign on the threshold of its search: new, or with what an interrupted run of it had found."""

    number: int
    state: SearchState
    screen: Screen
    resumed: int
    earlier_s: float


def _begun(campaign: Campaign, opened: Opened, resume: bool, say: Say) -> _Begun:
    """Enters the campaign in the knowledge base, and gathers what is known before it searches."""
    parts = opened.parts
    number = parts.memory.start_campaign(campaign_record(campaign, parts), resume)
    parts.memory.save_state(number, ORIGIN, origin(campaign))
    state = first_state(campaign, parts, opened.baseline, opened.measured)
    earlier_s = resume_campaign(parts, number, state) if resume else 0.0
    resumed = len(state.ledger.history)
    if resume and not resumed:
        say("there is no interrupted run of this campaign with this seed: a new one begins")
    rows = experience(parts)
    screen = first_screen(campaign, parts, state, rows)
    if not resumed:
        store_baseline(parts, number, state, opened.measured)
        queue_first(campaign, parts, state, rows)
    return _Begun(number, state, screen, resumed, earlier_s)


def _opened(campaign: Campaign, parts: Parts, say: Say) -> Opened:
    """The baseline with its bottlenecks, and what a person should know of the kernel said."""
    with explained(campaign.spec):
        opened = open_baseline(parts, campaign.spec.sizes, say)
    for remark in (*opened.parts.notes, *opened.parts.evaluator.notes):
        say(remark)
    measured, kind = opened.measured, opened.parts.evaluator.device.kind
    judged = diagnosed(measured.evaluations, opened.baseline, campaign.spec.sizes, opened.parts.strain, kind)
    return replace(opened, measured=replace(measured, evaluations=judged))


def _result(
    campaign: Campaign,
    parts: Parts,
    state: SearchState,
    measured: Measured,
    winner: Winner,
    reason: StopReason,
) -> CampaignResult:
    """What the search and the final proof came to."""
    return CampaignResult(
        kernel=campaign.spec.name,
        device=parts.evaluator.device,
        toolchain=parts.evaluator.toolchain,
        seed=campaign.seed,
        baseline=state.baseline.variant,
        best=winner.individual.variant,
        best_agent=winner.individual.parent.agent,
        improved=winner.improved,
        comparison=winner.comparison,
        stop=reason,
        alternatives=alternatives(state, winner.individual),
        quarantined=tuple(state.quarantined),
        baseline_evaluations=measured.evaluations,
        best_evaluations=winner.individual.parent.evaluations,
        profile_before=_profiles(measured.evaluations),
        profile_after=_profiles(winner.individual.parent.evaluations),
        history=tuple(state.ledger.history),
        credit=tuple(state.ledger.credit),
        agents=state.ledger.agents,
        counts=state.ledger.counts,
        versions=parts.versions,
        text_only=parts.reading is Reading.TEXT,
        notes=tuple(n for n in (*parts.notes, known(parts, state), *parts.evaluator.notes, *winner.notes) if n),
    )


def _conclude(
    campaign: Campaign,
    number: int,
    parts: Parts,
    state: SearchState,
    search: Search,
    observer: Observer,
    reason: StopReason,
    stopped: Callable[[], bool],
) -> tuple[Winner, tuple[GeneShare, ...]]:
    """Final proof and explanation, both left out where the user stopped the campaign."""

    def at(phase: CampaignPhase, what: str) -> Callable[[int, int], None]:
        return lambda step, steps: observer.on_event(search.snapshot(what, phase, step, steps))

    if reason is StopReason.INTERRUPTED:
        return unproven(state, stopped_note(parts.memory)), ()
    comparing = at(CampaignPhase.COMPARING, "finalists against the baseline in fresh processes")
    comparing(0, campaign.processes)
    winner = prove(number, state, parts, campaign.processes, stopped, comparing,
                   lambda text: at(CampaignPhase.COMPARING, text)(0, campaign.processes))  # fmt: skip
    if not winner.improved or stopped():
        return winner, ()
    left = EXPLAIN_S if campaign.budget.minutes is None else campaign.budget.minutes * 60.0 - search.elapsed()
    deadline = parts.clock() + min(EXPLAIN_S, max(EXPLAIN_LEAST_S, left))
    explaining = at(CampaignPhase.EXPLAINING, "leaving out one gene at a time")
    rows = explain(
        winner.individual.variant,
        parts,
        state.fitness,
        lambda: stopped() or parts.clock() > deadline,
        explaining,
    )
    return winner, rows


def _profiles(evaluations: Sequence[Evaluation]) -> tuple[tuple[str, Profile], ...]:
    return tuple((e.size, e.profile) for e in evaluations if e.profile is not None)


def summary(result: CampaignResult) -> dict[str, Any]:
    """The end of a campaign as plain data, for the knowledge base."""
    comparison = result.comparison
    return {
        "stop": result.stop.value,
        "best": result.best.digest(),
        "improved": result.improved,
        "speedup": {"median": comparison.speedup, "low": comparison.low, "high": comparison.high},
        "verified": comparison.verified,
        "evaluations": result.counts.evaluations,
        "pruned": result.counts.pruned,
        "rejected": result.counts.rejected,
        "cached": result.counts.cached,
        "elapsed_s": result.elapsed_s,
        "rank_correlation": result.surrogate.rank_correlation,
        "recall_best_decile": result.surrogate.recall_best_decile,
        "surrogate": asdict(result.surrogate),
        "timing_surrogate": asdict(result.timing_surrogate),
    }

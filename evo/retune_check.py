"""Looks at a champion again: verified, and timed against the kernel as it is in fresh processes, as in a final proof.

What comes of it is a small campaign of its own in the knowledge base: later searches begin with it, and the next look
at the same platform finds that the champion was proven there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evaluator.api import Comparison, EvaluatorError
from evaluator.objective import Kind
from evaluator.result import Evaluation, Status
from evaluator.waiting import Say
from evo.fitness import Fitness
from evo.kernel_remarks import explained
from evo.reading import Opened, open_baseline
from evo.retune_plan import Case
from evo.retune_verdict import Figure, figure_of, has_lost
from evo.start import campaign_record, origin
from evo.trial import Trial, try_variant
from evo.wire import build
from genome.variant import Rejection, Variant
from knowledge.champions import ORIGIN
from knowledge.records import Lineage, Outcome

AGENT = "retune"
_ATTEMPTS = 2  # once more where the machine may be the cause


@dataclass(frozen=True)
class Look:
    """What came of it: the figures on the platform at hand (None if the champion is wrong or does not run), and why."""

    figure: Figure | None
    note: str = ""


def look_again(
    case: Case, progress: Callable[[int, int], None], say: Say, give_up: Callable[[], bool]
) -> Look:  # fmt: skip
    """Verifies and times the kernel as it is and the champion on the platform at hand, and stores what it saw (blocks).

    Args:
        case: What to look at.
        progress: Told (processes done, processes in all).
        say: Hears what takes long before that.
        give_up: Asked before the long part; True ends it.

    Raises:
        EvaluatorError, DeviceError: If the device, or the kernel as it is, cannot be used.
        KnowledgeError: If the base cannot be written.
        KeyboardInterrupt: If ``give_up`` has ended it.
    """
    with build(case.campaign) as parts:
        say("verifying and timing the kernel as it stands")
        with explained(case.campaign.spec):
            opened = open_baseline(parts, case.campaign.spec.sizes, say)
        variant = opened.parts.lower(case.champion.genome)
        if isinstance(variant, Rejection):
            return Look(None, f"its genes give nothing that can run here: {variant.reason}")
        return _Examination(case, opened, variant).run(progress, say, give_up)


@dataclass(frozen=True)
class _Examination:
    """A champion on an open device."""

    case: Case
    opened: Opened
    variant: Variant

    def run(self, progress: Callable[[int, int], None], say: Say, give_up: Callable[[], bool]) -> Look:
        """Measures it as a search would, then compares it as a proof does."""
        parts, opened, variant = self.opened.parts, self.opened, self.variant
        if variant.digest() == opened.baseline.digest():
            return Look(self._as_it_is(), self._changed())
        number = self._begin()
        trial = self._tried(give_up)
        if trial.measured is None:
            self._store_failure(number, trial.status or Status.UNSTABLE, trial.reason)
            return Look(None, trial.reason)
        measured = trial.measured
        self._store(number, measured.evaluations, measured.checks, self._speedup(measured.evaluations))
        parts.evaluator.settle(say, give_up)
        if give_up():
            raise KeyboardInterrupt
        comparisons = parts.evaluator.compare(opened.baseline, [variant], self.case.campaign.processes, progress)
        if not comparisons:
            raise EvaluatorError("the comparison gave no result")
        return self._judged(number, comparisons[0])

    def _judged(self, number: int, comparison: Comparison) -> Look:
        case, memory = self.case, self.opened.parts.memory
        figure = figure_of(comparison)
        if figure is None:
            failed = next((check for check in comparison.checks if check.status is not Status.OK), None)
            self._store_failure(number, failed.status if failed else Status.UNSTABLE, comparison.message)
            return Look(None, comparison.message)
        memory.prove(number, comparison)
        lost = has_lost(case.then, figure, case.weights, case.by_time)
        memory.finish(number, _lost_summary(case) if lost else _kept_summary(comparison))
        return Look(figure, "; ".join(filter(None, (self._changed(), comparison.note))))

    def _begin(self) -> int:
        """A campaign in the base, with the kernel as it is."""
        parts, campaign = self.opened.parts, self.case.campaign
        number = parts.memory.start_campaign(campaign_record(campaign, parts), resume=False)
        parts.memory.save_state(number, ORIGIN, origin(campaign))
        measured = self.opened.measured
        first = Outcome(self.opened.baseline, measured.evaluations, measured.checks, Lineage("baseline"), 1.0)
        parts.memory.record(number, first)
        return number

    def _tried(self, give_up: Callable[[], bool]) -> Trial:
        for attempt in range(_ATTEMPTS):
            trial = try_variant(self.opened.parts.evaluator, self.variant, attempt, give_up)
            if give_up():
                raise KeyboardInterrupt
            if trial.measured is not None or (trial.status is not None and not trial.status.retryable):
                break
        return trial

    def _speedup(self, evaluations: tuple[Evaluation, ...]) -> float | None:
        """As a search scores it."""
        by_energy = self.case.campaign.objective.kind is Kind.ENERGY
        on_cpu = self.opened.parts.evaluator.device.kind == "cpu"
        before = self.opened.measured.evaluations
        score = Fitness.of(self.case.campaign.spec.sizes, before, on_cpu, by_energy).score(evaluations)
        return None if score is None else score.value

    def _store(
        self, number: int, evaluations: tuple[Evaluation, ...], checks: tuple[Evaluation, ...], speedup: float | None,
        ordinal: int = 1,
    ) -> None:  # fmt: skip
        lineage = Lineage(AGENT, (self.opened.baseline.digest(),), self.variant.genome.genes, ordinal)
        self.opened.parts.memory.record(number, Outcome(self.variant, evaluations, checks, lineage, speedup))

    def _store_failure(self, number: int, status: Status, reason: str) -> None:
        """By which it is no optimum and no prior any more."""
        size = self.case.campaign.spec.sizes[0].label
        failed = Evaluation(self.variant.digest(), size, status, reason, stage=AGENT)
        self._store(number, (failed,), (), None, ordinal=2)
        self.opened.parts.memory.finish(number, _lost_summary(self.case))

    def _as_it_is(self) -> Figure:
        """Of a champion that is nothing but the kernel as it is here."""
        times = {e.size: e.timing.median_ms for e in self.opened.measured.evaluations if e.timing is not None}
        return Figure(1.0, 1.0, 1.0, tuple((size, time, time) for size, time in times.items()))

    def _changed(self) -> str:
        """What is not as it was of the champion's text, in words."""
        if self.variant.skipped:
            gene = self.variant.skipped[0].gene
            where = f"{gene.transform} at {gene.site.label}"
            return f"its gene {where} does not apply here: {self.variant.skipped[0].reason}"
        same = self.variant.digest() == self.case.champion.variant
        return "" if same else "its genes give another text than they gave then"


def _kept_summary(comparison: Comparison) -> dict[str, Any]:
    """The end of the small campaign, in the words of any campaign's."""
    return {
        "stop": AGENT, "best": comparison.variant, "improved": comparison.low > 1.0, "verified": True,
        "speedup": {"median": comparison.speedup, "low": comparison.low, "high": comparison.high}, "evaluations": 1,
    }  # fmt: skip


def _lost_summary(case: Case) -> dict[str, Any]:
    """Of one whose champion has lost: it has no winner, and what is known of the platform stays unknown."""
    return {"stop": AGENT, "lost": case.champion.variant, "evaluations": 1}

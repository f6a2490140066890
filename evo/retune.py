"""After a change of driver, compiler, device or evo-tune: proves champions again, and mends those that have lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from evaluator.api import EvaluatorError
from evaluator.waiting import Say
from evo.campaign_types import Budget, Campaign, CampaignError
from evo.progress import StopRequest
from evo.result import CampaignResult, StopReason
from evo.retune_check import Look, look_again
from evo.retune_journal import FILE, Journal, load
from evo.retune_plan import Case, Plan
from evo.retune_verdict import Finding, Verdict, figure_of, has_lost, is_mended
from genome.source.errors import SourceError

Mend = Callable[[Campaign, bool], CampaignResult]
"""(campaign with its short budget and its folder, go on with an interrupted run) -> its result, with files written."""
LookAgain = Callable[[Case, Callable[[int, int], None], Say, Callable[[], bool]], Look]


@dataclass(frozen=True)
class Retuned:
    """What came of a retune; ``interrupted`` if the user stopped it."""

    findings: tuple[Finding, ...]
    interrupted: bool


@dataclass(frozen=True)
class Retune:
    """A retune with everything that it needs.

    Attributes:
        plan: What is to be done.
        output: Folder of the journal and of the results of campaigns; made when there is something to write.
        evaluations, minutes: Budget of each campaign that mends.
        mend: Runs such a campaign.
        say: Hears in words what comes next.
        stop: True ends it cleanly.
        look: Looks at a champion.
    """

    plan: Plan
    output: Path
    evaluations: int
    minutes: float | None
    mend: Mend
    say: Say
    stop: StopRequest
    look: LookAgain = look_again

    def run(self, resume: bool = False) -> Retuned:
        """Looks at every champion of the plan, and opens a campaign for each that has lost (blocks).

        Args:
            resume: Go on with an interrupted retune whose journal is in the output folder.

        Raises:
            KnowledgeError: If the base is lost for good.
            CampaignError: If the journal is damaged.
            OSError: If the output folder cannot be written.
        """
        path = self.output / FILE
        journal = (load(path) if resume else None) or Journal(path)
        if resume and not journal.findings:
            self.say(f"there is no interrupted retune in {self.output}: a new one begins")
        for number, case in enumerate(self.plan.cases, 1):
            known = journal.of(case.key)
            if known is not None and known.verdict is not Verdict.MENDING:
                continue
            if self.stop():
                break
            self.say(f"{case.campaign.name}: champion {number} of {len(self.plan.cases)}, {_why(case)}")
            try:
                finding = known or self._looked(case)
                journal = self._told(journal, finding)
                if finding.verdict is Verdict.MENDING:
                    journal = self._told(journal, self._mended(case, finding, again=known is not None))
            except KeyboardInterrupt:
                if not self.stop():
                    raise
                break  # what is known is in the journal
        waiting = [case for case in self.plan.cases if not _is_done(journal.of(case.key))]
        journal.save(self.plan, ended=not waiting)
        return Retuned(journal.findings, bool(waiting))

    def _told(self, journal: Journal, finding: Finding) -> Journal:
        journal = journal.told(finding)
        journal.save(self.plan, ended=False)
        return journal

    def _looked(self, case: Case) -> Finding:
        """The champion on the platform at hand; where it has lost, with the verdict that it is being mended."""
        finding = _finding(case)
        try:
            look = self.look(case, self._process(case), self.say, self.stop)
        except (EvaluatorError, CampaignError, SourceError) as error:
            return replace(finding, verdict=Verdict.FAILED).noted(str(error))
        lost = has_lost(case.then, look.figure, case.weights, case.by_time)
        verdict = Verdict.MENDING if lost else Verdict.KEPT
        return replace(finding, now=look.figure, verdict=verdict).noted(look.note)

    def _process(self, case: Case) -> Callable[[int, int], None]:
        return lambda done, of: self.say(f"{case.campaign.name}: process {done} of {of}")

    def _mended(self, case: Case, finding: Finding, again: bool) -> Finding:
        """After a short campaign, which begins with what the base knows; still being mended if the user stopped it."""
        folder = self.output / folder_of(case)
        budget = Budget(self.evaluations, self.minutes, case.campaign.budget.patience)
        self.say(f"{case.campaign.name}: it has lost; a campaign of {self.evaluations} evaluations looks for better")
        try:
            result = self.mend(replace(case.campaign, budget=budget, output=folder), again)
        except EvaluatorError as error:
            return replace(finding, verdict=Verdict.LOST).noted(str(error))
        if result.stop is StopReason.INTERRUPTED:
            return finding
        after = figure_of(result.comparison) if result.improved else None
        mended = is_mended(case.then, after, case.weights, case.by_time, case.same_hardware)
        verdict = Verdict.MENDED if mended else Verdict.LOST
        return replace(finding, after=after, verdict=verdict, results=str(folder))


def folder_of(case: Case) -> str:
    """Name of the folder with the results of a campaign that mends."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', case.campaign.name)}-{case.platform.kernel_digest[:6]}"


def _is_done(finding: Finding | None) -> bool:
    return finding is not None and finding.verdict is not Verdict.MENDING


def _why(case: Case) -> str:
    return "; ".join(case.changes) or "nothing has changed"


def _finding(case: Case) -> Finding:
    """What is known before it is looked at."""
    campaign, champion, here = case.campaign, case.champion, case.platform
    return Finding(
        key=case.key, campaign=campaign.name, kernel=champion.kernel, file=str(campaign.path), entry=campaign.entry,
        device=here.device.name, toolchain=here.toolchain.label, was_on=champion.device, changes=case.changes,
        variant=champion.variant, then=case.then, verdict=Verdict.FAILED,
    )  # fmt: skip

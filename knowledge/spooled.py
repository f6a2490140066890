"""A knowledge base for the length of a campaign, which does not end when the base goes away.

What the base does not take waits in a file of the run's folder (``spool``). From time to time it is tried again, and
once it answers it gets everything that waits, in order, before anything new. Until then nothing is looked up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from evaluator.api import Comparison
from evaluator.result import DeviceInfo, Evaluation, Toolchain
from genome.spec import ProblemSize
from genome.variant import Rejection
from knowledge import posting
from knowledge.delivery import deliver, deliver_folder
from knowledge.errors import KnowledgeError
from knowledge.posting import Posting
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome, Prior, TrainingRow
from knowledge.rows import StoredOutcome
from knowledge.spool import Head, Spool, spool_path
from knowledge.store import KnowledgeBase
from knowledge.trust import SurrogateMetrics

T = TypeVar("T")

PATIENCE_S = 10.0
"""How long a campaign waits for a server that restarts, before its results go to the spool."""
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
SHARE = 0.05
"""Trying a base that is away (a cut network answers late) takes at most this share of the time."""
SETTLE_S = 15.0
"""How long the base is waited for at the end."""


class SpooledBase:
    """The base as one campaign uses it (``evo.memory.Memory``). Closing it closes the base."""

    def __init__(self, base: KnowledgeBase, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """``base``: opened with little patience (``PATIENCE_S``); ``folder``: of the run."""
        self._base, self._folder, self._clock = base, folder, clock
        self._spool: Spool | None = None
        self._head: Head | None = None
        self._pause_s, self._next_try = FIRST_PAUSE_S, 0.0
        self._why = ""
        self._news: list[str] = []

    def start_campaign(self, record: CampaignRecord, resume: bool) -> int:
        """See ``KnowledgeBase``. What earlier runs have left in the folder goes into the base before that.

        Raises:
            KnowledgeError: As there.
        """
        delivered, failed = deliver_folder(self._base, self._folder)
        for item in delivered:
            self._news.append(f"{item.results} results of an earlier run were still to come into the knowledge base")
        self._news += [str(error) for error in failed]
        campaign = self._base.start_campaign(record, resume)
        self._head = Head(self._base.token(campaign), self._base.where)
        return campaign

    def record(self, campaign: int, outcome: Outcome) -> None:
        """Stores a finished proposal, now or later."""
        self._post(campaign, posting.outcome_posting(outcome))

    def prove(self, campaign: int, comparison: Comparison) -> None:
        """Stores the figures of a verified final comparison, now or later."""
        self._post(campaign, posting.proof_posting(comparison))

    def reject(self, campaign: int, rejection: Rejection, lineage: Lineage) -> None:
        """Stores a genome that gave no variant, now or later."""
        self._post(campaign, posting.rejection_posting(rejection, lineage))

    def finish(self, campaign: int, summary: Mapping[str, Any]) -> None:
        """Closes the campaign, now or later."""
        self._post(campaign, posting.end_posting(summary))

    def record_metrics(self, campaign: int, ordinal: int, metrics: SurrogateMetrics) -> None:
        """Stores how well the surrogate did up to a proposal, now or later."""
        self._post(campaign, posting.metrics_posting(ordinal, metrics))

    def save_state(self, campaign: int, key: str, data: Mapping[str, Any]) -> None:
        """Stores plain data by key, now or later."""
        self._post(campaign, posting.state_posting(key, data))

    def lookup(
        self, kernel_digest: str, device: DeviceInfo, toolchain: Toolchain, variant_digest: str, contract: str = ""
    ) -> tuple[Evaluation, ...]:
        """See ``KnowledgeBase``; nothing while it is away."""
        return self._asked(lambda: self._base.lookup(kernel_digest, device, toolchain, variant_digest, contract))

    def priors(
        self, kernel: KernelRecord, device: DeviceInfo, toolchain: Toolchain, sizes: Sequence[ProblemSize], limit: int
    ) -> tuple[Prior, ...]:
        """See ``KnowledgeBase``; nothing while it is away."""
        return self._asked(lambda: self._base.priors(kernel, device, toolchain, sizes, limit))

    def training_rows(self, kernel: KernelRecord, device: DeviceInfo, limit: int) -> tuple[TrainingRow, ...]:
        """See ``KnowledgeBase``; nothing while it is away."""
        return self._asked(lambda: self._base.training_rows(kernel, device, limit))

    def outcomes(self, campaign: int) -> Sequence[StoredOutcome]:
        """See ``KnowledgeBase``: nobody can go on with a campaign without them."""
        return self._base.outcomes(campaign)

    def load_state(self, campaign: int, key: str) -> Mapping[str, Any] | None:
        """See ``KnowledgeBase``."""
        return self._base.load_state(campaign, key)

    def news(self) -> tuple[str, ...]:
        """Sentences for the user since the last call."""
        news, self._news = tuple(self._news), []
        return news

    def settle(self) -> tuple[str, ...]:
        """Waits a little for a base that is away; sentences for the user on what it could not be given."""
        if self._spool is None or self._deliver(self._spool, SETTLE_S):
            return ()
        return (f"{self._spool.waiting} results wait in {self._spool.path} ({self._why}); "
                f"`evo-tune kb replay {self._folder}` or the next run there brings them in",)  # fmt: skip

    def close(self) -> None:
        """Lets go of the spool, which stays if something waits in it, and closes the base."""
        if self._spool is not None:
            self._spool.close()
        self._base.close()

    def _post(self, campaign: int, item: Posting) -> None:
        if self._is_there():
            try:
                self._base.post(campaign, item)
                return
            except KnowledgeError as error:
                self._lost(error)
        assert self._spool is not None
        self._spool.append(item)

    def _asked(self, ask: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
        """The answer; nothing while the base is away."""
        if self._is_there():
            try:
                return ask()
            except KnowledgeError as error:
                self._lost(error)
        return ()

    def _is_there(self) -> bool:
        """True unless the base went away and has not come back; it is tried again when it is time for that."""
        if self._spool is None:
            return True
        return self._clock() >= self._next_try and self._deliver(self._spool, 0.0)

    def _lost(self, error: KnowledgeError) -> None:
        """Opens the spool, whatever the reason: a campaign of hours is worth more than its order.

        Raises:
            KnowledgeError: If no campaign has begun.
        """
        if self._head is None:
            raise error
        self._spool = Spool(spool_path(self._folder, self._head.token), self._head)
        self._pause_s, self._next_try = FIRST_PAUSE_S, self._clock() + FIRST_PAUSE_S
        self._why = error.message
        self._news.append(f"{self._why}: results wait in {self._spool.path}")

    def _deliver(self, spool: Spool, patience_s: float) -> bool:
        """True if the base has taken everything that waits; else when to try again."""
        began = self._clock()
        try:
            campaign = self._base.campaign_of(spool.head.token, patience_s)
            if campaign is None:
                raise KnowledgeError("the knowledge base does not know this campaign any more")
            number = deliver(self._base, spool, campaign, patience_s)
        except KnowledgeError as error:
            self._why = error.message
            self._pause_s = min(2.0 * self._pause_s, LONGEST_PAUSE_S)
            took = self._clock() - began
            self._next_try = self._clock() + max(self._pause_s, took / SHARE)
            return False
        self._spool = None
        self._news.append(f"the knowledge base is back and has the {number} results that waited")
        return True

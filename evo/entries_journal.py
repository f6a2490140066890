"""What a campaign of several entries remembers between its entries, so that an interrupted one can go on.

It lies in the output folder. What each entry found is in its own results and in the knowledge base.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evo.campaign_types import Budget, Campaign, CampaignError, EntriesCampaign
from evo.contract import contract
from evo.report.files import write_atomic

FILE = "entries.json"
BEST = "best.json"
FINISHED = "finished"
"""Why a run of entries ended, in ``BEST``, where nobody stopped it."""
_MAY_CHANGE = frozenset({
    "budget", "output", "device", "knowledge", "name", "population", "epsilon", "surrogate", "licence", "provenance",
})  # fmt: skip


@dataclass(frozen=True)
class Spent:
    """What an entry that has ended took."""

    evaluations: int
    seconds: float


@dataclass(frozen=True)
class Journal:
    """Where the campaign stands.

    Attributes:
        key: Digest of what a speed-up means in this campaign (see ``key_of``).
        times_ms: Milliseconds of each entry as it is, its calls included; empty until they are measured.
        weighing_s: Seconds that this took.
        ended: By entry, what it took.
        running: The entry that has begun and not ended; empty if none has.
        budget: Of that one.
    """

    key: str
    times_ms: Mapping[str, float] = field(default_factory=dict)
    weighing_s: float = 0.0
    ended: Mapping[str, Spent] = field(default_factory=dict)
    running: str = ""
    budget: Budget = field(default_factory=Budget)

    def left(self, whole: Budget) -> Budget:
        """Evaluations (one at least) and minutes (a second at least) of the whole budget that are not spent."""
        evaluations = whole.evaluations - sum(spent.evaluations for spent in self.ended.values())
        if whole.minutes is None:
            return replace(whole, evaluations=max(1, evaluations))
        seconds = whole.minutes * 60.0 - self.weighing_s - sum(spent.seconds for spent in self.ended.values())
        return replace(whole, evaluations=max(1, evaluations), minutes=max(1.0, seconds) / 60.0)

    def begun(self, name: str, budget: Budget) -> Journal:
        """After an entry began with this budget."""
        return replace(self, running=name, budget=budget)

    def done(self, name: str, spent: Spent) -> Journal:
        """After an entry ended."""
        return replace(self, running="", ended={**self.ended, name: spent})


def key_of(plan: EntriesCampaign) -> str:
    """Digest of entries, kernels, device, settings and references: other campaigns' journals are not gone on with."""
    parts = [[entry.name, entry.calls, entry.campaign.spec.source, _settings(entry.campaign), contract(entry.campaign)]
             for entry in plan.entries]  # fmt: skip
    text = json.dumps(
        [parts, plan.seed, [entry.campaign.device for entry in plan.entries]], sort_keys=True, default=str
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save(journal: Journal, plan: EntriesCampaign) -> None:
    """Writes the journal into the output folder.

    Raises:
        OSError: If that cannot be written.
    """
    budget = journal.budget
    data = {
        "key": journal.key,
        "times_ms": dict(journal.times_ms),
        "weighing_s": journal.weighing_s,
        "ended": {name: [spent.evaluations, spent.seconds] for name, spent in journal.ended.items()},
        "running": journal.running,
        "budget": [budget.evaluations, budget.minutes, budget.patience],
    }
    write_atomic(plan.output / FILE, json.dumps(data, indent=2) + "\n")


def load(plan: EntriesCampaign) -> Journal | None:
    """The journal of an interrupted run; None if there is none, or one that has ended with its figures written.

    Raises:
        CampaignError: If its campaign was another one: its speed-ups mean something else.
    """
    try:
        data: Mapping[str, Any] = json.loads((plan.output / FILE).read_text(encoding="utf-8"))
        evaluations, minutes, patience = data["budget"]
        journal = Journal(
            str(data["key"]), {str(name): float(ms) for name, ms in data["times_ms"].items()},
            float(data["weighing_s"]),
            {str(name): Spent(int(count), float(seconds)) for name, (count, seconds) in data["ended"].items()},
            str(data["running"]), Budget(evaluations, minutes, patience),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if len(journal.ended) == len(plan.entries) and _told(plan):
        return None
    if journal.key != key_of(plan):
        raise CampaignError(
            f"{plan.output / FILE}: the interrupted run had another device, other entries, kernels or settings; run "
            "without --resume to start anew (what was measured is reused), or undo the change"
        )
    return journal


def _told(plan: EntriesCampaign) -> bool:
    """True if the figures of the whole are written: a run may have been killed right before."""
    try:
        return bool(json.loads((plan.output / BEST).read_text(encoding="utf-8"))["stop"] == FINISHED)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _settings(campaign: Campaign) -> dict[str, Any]:
    return {name: value for name, value in campaign.settings.items() if name not in _MAY_CHANGE}

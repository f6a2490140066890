"""The ledger of a campaign: what was proposed, measured and found, for progress, reports and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from evaluator.result import Status
from evo.result import AgentTally, Counts, CreditPoint, HistoryPoint

WRONG = frozenset({Status.WRONG, Status.UNWRITTEN, Status.STRAY_WRITE, Status.UNSTABLE, Status.IMPOSSIBLE})
RECORD = 1.01  # a new leader is at least 1% faster: less is noise
GAIN = 1.02  # a gain over the parent is at least 2%


@dataclass(frozen=True)
class Finding:
    """One finished proposal, as the ledger books it."""

    agent: str
    variant: str
    status: Status
    speedup: float | None
    parent_speedup: float
    cached: bool = False
    predicted: float | None = None
    forced: bool = False


class Ledger:
    """Counters that only grow, the convergence history, and one tally an agent."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.best = 1.0
        self.since_record = 0
        self.history: list[HistoryPoint] = []
        self.credit: list[CreditPoint] = []
        self._tallies: dict[str, AgentTally] = {}

    @property
    def agents(self) -> tuple[AgentTally, ...]:
        """Tallies by agent, in order of first appearance."""
        return tuple(self._tallies.values())

    def proposed(self, agent: str) -> None:
        """A genome was proposed."""
        self.counts = replace(self.counts, proposals=self.counts.proposals + 1)
        self._tally(agent, "proposals")

    def numbered(self, proposals: int) -> None:
        """At least so many proposals were made (by an earlier run of this campaign)."""
        self.counts = replace(self.counts, proposals=max(self.counts.proposals, proposals))

    def rejected(self, agent: str) -> None:
        """It gave no variant."""
        self.counts = replace(self.counts, rejected=self.counts.rejected + 1)
        self._tally(agent, "rejected")

    def duplicate(self, agent: str) -> None:
        """It was there already."""
        self.counts = replace(self.counts, duplicates=self.counts.duplicates + 1)
        self._tally(agent, "duplicates")

    def pruned(self, number: int) -> None:
        """The surrogate discarded some."""
        self.counts = replace(self.counts, pruned=self.counts.pruned + number)

    def quarantined(self) -> None:
        """A result was thrown out."""
        self.counts = replace(self.counts, quarantined=self.counts.quarantined + 1)

    def finished(self, finding: Finding, elapsed_s: float) -> float:
        """Books an outcome and returns its reward: 1 for a new leader, 0.5 for a gain over the parent, else 0."""
        counts = self.counts
        fresh = 0 if finding.cached else 1
        self.counts = replace(
            counts,
            evaluations=counts.evaluations + fresh,
            cached=counts.cached + 1 - fresh,
            wrong=counts.wrong + (finding.status in WRONG),
            failed=counts.failed + (finding.status is not Status.OK and finding.status not in WRONG),
        )
        self._tally(finding.agent, "measured")
        self.since_record += fresh
        reward = 0.0
        if finding.speedup is not None:
            if finding.speedup > GAIN * finding.parent_speedup:
                self._tally(finding.agent, "gains")
                reward = 0.5
            if finding.speedup > RECORD * self.best:
                self._tally(finding.agent, "records")
                self.since_record = 0
                reward = 1.0
            self.best = max(self.best, finding.speedup)
        self.history.append(HistoryPoint(elapsed_s, self.counts.evaluations, finding.speedup, self.best, finding.agent,
                                         finding.status.value, finding.variant, finding.cached, finding.predicted,
                                         finding.forced))  # fmt: skip
        return reward

    def lowered(self, best: float) -> None:
        """The leader was thrown out: the best is this one again."""
        self.best = max(best, 1.0)

    def _tally(self, agent: str, field: str) -> None:
        tally = self._tallies.get(agent, AgentTally(agent, 0, 0, 0, 0, 0, 0))
        changes: dict[str, Any] = {field: getattr(tally, field) + 1}
        self._tallies[agent] = replace(tally, **changes)

    def to_json(self) -> dict[str, Any]:
        """Counters and tallies as plain data (the history comes back from the stored outcomes)."""
        return {
            "counts": asdict(self.counts),
            "since_record": self.since_record,
            "agents": [asdict(tally) for tally in self.agents],
            "credit": [[point.proposals, dict(point.shares)] for point in self.credit],
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Takes over what measuring cannot bring back: proposals, pruned, rejected, duplicates, credit points.

        Raises:
            ValueError: If the data are not a ledger's.
        """
        try:
            old = Counts(**data["counts"])
            self.counts = replace(self.counts, proposals=max(old.proposals, self.counts.proposals), pruned=old.pruned,
                                  rejected=old.rejected, duplicates=old.duplicates)  # fmt: skip
            self.since_record = int(data["since_record"])
            for item in data["agents"]:
                tally = AgentTally(**item)
                now = self._tallies.get(tally.agent, tally)
                self._tallies[tally.agent] = replace(
                    now, proposals=max(now.proposals, tally.proposals), rejected=tally.rejected,
                    duplicates=tally.duplicates)  # fmt: skip
            self.credit = [CreditPoint(int(n), tuple(shares.items())) for n, shares in data["credit"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"not a ledger: {data!r}") from error

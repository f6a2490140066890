"""Credit: what each agent's proposals were worth lately, and the shares that follow from it.

Probability matching on discounted success rates. With s the discounted sum of rewards and n that of proposals, the
agent's worth is w = (s + 1) / (n + 2). Both s and n add what is known over the whole campaign to what is known for the
bottleneck at hand, so that a bottleneck seen rarely leans on the rest. Shares are proportional to
affinity * w^SHARPNESS, above a floor. The discount forgets: an agent that has run dry falls back, and is tried again
when the others have run dry as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

DISCOUNT = 0.97
SHARPNESS = 5.0
FLOOR = 0.015
_ALL = "*"


@dataclass(frozen=True)
class Tally:
    """Discounted sum of rewards and number of proposals."""

    rewards: float = 0.0
    proposals: float = 0.0


@dataclass(frozen=True)
class Credit:
    """State of the policy: a tally for each (bottleneck, agent); ``*`` counts every bottleneck."""

    tallies: Mapping[tuple[str, str], Tally] = field(default_factory=dict)

    def updated(self, agent: str, bottleneck: str, reward: float, weight: float = 1.0) -> Credit:
        """The state after one proposal came back.

        Args:
            agent: Its author.
            bottleneck: Of the parent it was made for.
            reward: 0 (no gain) to 1 (a new leader).
            weight: How much of a trial it was (a duplicate costs less than a measurement), 0 to 1.
        """
        reward = min(max(reward, 0.0), 1.0)
        fade = DISCOUNT**weight
        tallies = {key: Tally(old.rewards * fade, old.proposals * fade) for key, old in self.tallies.items()}
        for key in ((_ALL, agent), (bottleneck, agent)):
            old = tallies.get(key, Tally())
            tallies[key] = Tally(old.rewards + weight * reward, old.proposals + weight)
        return replace(self, tallies=tallies)

    def worth(self, agent: str, bottleneck: str) -> float:
        """Expected reward of the agent's next proposal, 0..1."""
        over_all = self.tallies.get((_ALL, agent), Tally())
        here = self.tallies.get((bottleneck, agent), Tally())
        return (over_all.rewards + here.rewards + 1.0) / (over_all.proposals + here.proposals + 2.0)

    def shares(
        self, agents: Sequence[str], bottleneck: str, affinity: Mapping[str, float] | None = None
    ) -> dict[str, float]:
        """Probability of each agent to make the next proposal; sums to 1.

        Args:
            agents: Those that can be chosen.
            bottleneck: Of the parent.
            affinity: Prior weight by agent (1 where missing).
        """
        affinity = affinity or {}
        weights = {name: affinity.get(name, 1.0) * self.worth(name, bottleneck) ** SHARPNESS for name in agents}
        total = sum(weights.values())
        floor = min(FLOOR, 1.0 / max(len(agents), 1))
        free = 1.0 - floor * len(agents)
        return {name: floor + free * weight / total for name, weight in weights.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain data: ``{"agent|bottleneck": [rewards, proposals]}``."""
        return {f"{agent}|{where}": [t.rewards, t.proposals] for (where, agent), t in sorted(self.tallies.items())}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Credit:
        """The inverse of ``to_json``; raises ValueError on malformed data."""
        try:
            tallies = {}
            for key, (rewards, proposals) in data.items():
                agent, where = key.rsplit("|", 1)
                tallies[(where, agent)] = Tally(float(rewards), float(proposals))
            return Credit(tallies)
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"not a credit state: {data!r}") from error

"""Coordinator: reads the parent's bottleneck, asks the policy for an agent, and the agent for genomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evaluator.result import Bottleneck
from operators.base import Agent, AgentContext, Proposal
from operators.credit import Credit

VERIFIER = "verifier"

AFFINITY: Mapping[Bottleneck, Mapping[str, float]] = {
    Bottleneck.DRAM: {"memory_layout": 2.0, "computation": 0.7},
    Bottleneck.L2: {"memory_layout": 1.5, "computation": 1.5},
    Bottleneck.SHARED: {"computation": 1.5, "memory_layout": 1.5},
    Bottleneck.COMPUTE: {"computation": 2.0, "memory_layout": 0.7},
    Bottleneck.ISSUE: {"computation": 2.0},
    Bottleneck.LATENCY: {"parallelism": 1.5, "computation": 1.5},
    Bottleneck.DIVERGENCE: {"parallelism": 1.5},
    Bottleneck.ATOMICS: {"computation": 1.5, "parallelism": 1.5},
    Bottleneck.LAUNCH: {"parallelism": 2.0},
}
"""What each bottleneck makes likelier before anything is learnt (1 where missing). Credit soon outweighs it."""


@dataclass(frozen=True)
class Coordinator:
    """Chooses who proposes. The verifier is outside of the policy: it comes first whenever something is doubted."""

    agents: tuple[Agent, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Agents under the policy."""
        return tuple(agent.name for agent in self.agents if agent.name != VERIFIER)

    def verify(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """What the verifier wants measured again."""
        if not context.suspects:
            return ()
        return tuple(p for agent in self.agents if agent.name == VERIFIER for p in agent.propose(context, rng))

    def propose(self, context: AgentContext, credit: Credit, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """Proposals of one agent, drawn by its share; another one is drawn if it has nothing. Empty if nobody has."""
        left = {agent.name: agent for agent in self.agents if agent.name != VERIFIER}
        while left:
            shares = self.shares(context.parent.bottleneck, credit, tuple(left))
            name = list(shares)[int(rng.choice(len(shares), p=list(shares.values())))]
            proposals = left.pop(name).propose(context, rng)
            if proposals:
                return proposals
        return ()

    def shares(self, bottleneck: Bottleneck, credit: Credit, names: tuple[str, ...] | None = None) -> dict[str, float]:
        """Probability of each agent to be asked next; sums to 1."""
        return credit.shares(names or self.names, bottleneck.value, AFFINITY.get(bottleneck))

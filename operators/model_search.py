"""Model search: the configuration that a model of the whole space finds most promising."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from operators.base import AgentContext, Proposal


@dataclass(frozen=True)
class ModelSearch:
    """Asks the campaign's guide, where the space is a table of configurations and there is one."""

    name: str = "model_search"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""
        genome = context.guide() if context.guide is not None else None
        return () if genome is None else (Proposal(genome, self.name, (context.parent.variant,), "expected to gain"),)

"""Verifier: doubts results, and asks for another look at the ones that look too good or may be blamed wrongly.

A result is doubted when it
- sits above 95% of the roofline (measurement noise alone can lift a good one there),
- leaps to more than eight times the best so far, and no roofline tells that there is room for it,
- or when another variant crashed right after it in the same process and runs when it is tried alone: a stray write
  often kills a process only later, so that the next variant would be blamed.

Doubted variants are no parents and never best until a second, independent measurement agrees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from operators.base import AgentContext, Parent, Proposal

ROOFLINE = 0.95
ROOM = 0.5  # below this part of the roofline a leap is nothing strange
LEAP = 8.0
AGREEMENT = 1.5  # largest ratio between two measurements of one variant that still count as agreeing


@dataclass(frozen=True)
class Verifier:
    """Proposes every suspect once more, to be measured whatever is known about it."""

    name: str = "verifier"

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """See ``Agent``."""
        return tuple(
            Proposal(suspect.genome, self.name, (suspect.variant,), suspect.reason, fresh=True)
            for suspect in context.suspects
        )


def doubt(candidate: Parent, best: float) -> str:
    """Why this result needs a second look; empty if it does not.

    Args:
        candidate: The new measurement.
        best: Best speed-up before it (at least 1, the baseline's), or the one that an earlier campaign saw for it.
    """
    fractions = [e.profile.roofline_fraction for e in candidate.evaluations if e.profile is not None]
    if fractions and max(fractions) > ROOFLINE:
        return f"{max(fractions):.0%} of the roofline"
    room = bool(fractions) and 0.0 < max(fractions) < ROOM
    if candidate.speedup > LEAP * max(best, 1.0) and not room:
        return f"{candidate.speedup:.1f}x is a leap from {max(best, 1.0):.1f}x"
    return ""


def agree(first: float, second: float | None) -> bool:
    """True if the second speed-up of a variant confirms the first one."""
    return second is not None and second > 0.0 and abs(math.log(first / second)) <= math.log(AGREEMENT)

"""How several entries share a budget, by the time that each takes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evo.campaign_types import Budget
from genome.spec import ProblemSize

EVEN = 0.25
"""Part of the budget that is shared out evenly, whatever the times: a short kernel may be short of a good idea only."""


def call_ms(sizes: Sequence[ProblemSize], times_ms: Mapping[str, float]) -> float:
    """Milliseconds of a call: the mean over the tuned sizes by their weights.

    Args:
        sizes: Tuned sizes.
        times_ms: Milliseconds by size label.
    """
    total = sum(size.weight for size in sizes)
    return sum(size.weight * times_ms[size.label] for size in sizes) / total


def shares(times_ms: Mapping[str, float]) -> dict[str, float]:
    """Part of the budget of each entry: by its share of the time, but no less than an even share of ``EVEN``."""
    total = sum(times_ms.values())
    return {name: EVEN / len(times_ms) + (1.0 - EVEN) * ms / total for name, ms in times_ms.items()}


def next_budget(name: str, waiting: Sequence[str], share: Mapping[str, float], left: Budget) -> Budget:
    """What an entry gets of what is left, so that what earlier ones left over goes to those that wait.

    Args:
        name: The entry.
        waiting: All that have not run yet, this one included.
        share: See ``shares``.
        left: Evaluations and minutes that are left. The others keep at least one evaluation each.
    """
    part = share[name] / sum(share[other] for other in waiting)
    others = len(waiting) - 1
    evaluations = max(1, min(round(part * left.evaluations), left.evaluations - others))
    minutes = None if left.minutes is None else part * left.minutes
    return replace(left, evaluations=evaluations, minutes=minutes)

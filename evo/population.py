"""Individuals with a DEAP fitness, and a steady-state population of the best distinct ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from deap import base

from genome.variant import Variant
from operators.base import Parent


class SpeedupFitness(base.Fitness):  # type: ignore[misc]  # deap ships no types
    """One objective, the speed-up, to be maximised. A static class: nothing is created at run time."""

    weights = (1.0,)


@dataclass(frozen=True, eq=False)
class Individual:
    """A measured variant in the population. ``fitness`` is what DEAP's selection and hall of fame compare."""

    parent: Parent
    variant: Variant
    low: float
    high: float
    evaluation: int = 0
    fitness: SpeedupFitness = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fitness", SpeedupFitness((self.parent.speedup,)))

    @property
    def digest(self) -> str:
        """Digest of the variant."""
        return self.parent.variant

    @property
    def speedup(self) -> float:
        """Search estimate against the baseline."""
        return self.parent.speedup

    def __deepcopy__(self, memo: dict[int, object]) -> Individual:
        """Immutable, so the hall of fame may share it."""
        return self


class Population:
    """At most ``size`` distinct variants; a new one replaces the worst if it is better."""

    def __init__(self, size: int) -> None:
        self._size = max(2, size)
        self._members: dict[str, Individual] = {}

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Individual]:
        return iter(self._members.values())

    @property
    def members(self) -> list[Individual]:
        """In order of arrival."""
        return list(self._members.values())

    def add(self, individual: Individual) -> None:
        """Adds it, in place of an older measurement of the same variant or of the worst member."""
        self._members[individual.digest] = individual
        if len(self._members) > self._size:
            worst = min(self._members.values(), key=lambda member: member.speedup)
            del self._members[worst.digest]

    def remove(self, digest: str) -> None:
        """Takes a variant out, if it is there."""
        self._members.pop(digest, None)

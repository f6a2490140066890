"""A small archive of elites by behaviour (MAP-Elites), and a hall of fame of the best variants whatever their shape."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from deap import tools

from evo.population import Individual
from genome.variant import Variant


@dataclass(frozen=True, order=True)
class Behaviour:
    """The cell of a variant: powers of two of threads a block and of elements a thread, and where data are shared."""

    threads_log2: int
    instances_log2: int
    shared: bool

    def __str__(self) -> str:
        where = "shared memory" if self.shared else "no shared memory"
        return f"{2**self.threads_log2} threads a block, {2**self.instances_log2} elements a thread, {where}"


def behaviour(variant: Variant) -> Behaviour:
    """The cell of the variant's first launch (rounded down to powers of two)."""
    if not variant.launches:
        return Behaviour(0, 0, False)
    launch = variant.launches[0]
    threads = prod(launch.block)
    elements = prod(axis.tile for axis in launch.grid)
    return Behaviour(_log2(threads), _log2(elements // max(threads, 1)), launch.static_shared_bytes > 0)


def _log2(value: int) -> int:
    return max(int(value), 1).bit_length() - 1


class Archive:
    """The best individual of every behaviour, and the best ones of all."""

    def __init__(self, fame: int = 10) -> None:
        self._cells: dict[Behaviour, Individual] = {}
        self._all: dict[str, Individual] = {}
        self._fame = tools.HallOfFame(fame, similar=lambda a, b: a.digest == b.digest)

    def add(self, individual: Individual) -> None:
        """Considers a new measurement."""
        known = individual.digest in self._all
        self._all[individual.digest] = individual
        if known:
            self._rebuild()
        else:
            self._place(individual)

    def remove(self, digest: str) -> None:
        """Takes a variant out; the next best one moves up."""
        if self._all.pop(digest, None) is not None:
            self._rebuild()

    def get(self, digest: str) -> Individual | None:
        """The individual of that variant, or None."""
        return self._all.get(digest)

    @property
    def best(self) -> Individual | None:
        """The leader."""
        return self._fame[0] if len(self._fame) else None

    @property
    def top(self) -> tuple[Individual, ...]:
        """The hall of fame, best first."""
        return tuple(self._fame)

    @property
    def elites(self) -> tuple[tuple[Behaviour, Individual], ...]:
        """One individual a behaviour, best first."""
        return tuple(sorted(self._cells.items(), key=lambda cell: (-cell[1].speedup, cell[0])))

    def _place(self, individual: Individual) -> None:
        cell = behaviour(individual.variant)
        holder = self._cells.get(cell)
        if holder is None or individual.speedup > holder.speedup:
            self._cells[cell] = individual
        self._fame.update([individual])

    def _rebuild(self) -> None:
        self._cells.clear()
        self._fame.clear()
        for individual in self._all.values():
            self._place(individual)

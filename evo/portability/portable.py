"""The best single variant for all devices: NSGA-II over the efficiencies on each, then the one of best portability.

K. Deb, A. Pratap, S. Agarwal and T. Meyarivan, "A fast and elitist multiobjective genetic algorithm: NSGA-II", IEEE
Transactions on Evolutionary Computation 6(2), 2002, as DEAP has it. A device's efficiency falls as its time rises, so
the order is that of the times; a device that a variant does not run on counts as efficiency 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from deap import base, tools
from numpy.typing import NDArray

from evo.portability.case import Case
from evo.portability.efficiency import Floats, application_efficiency, portability_of_rows

POPULATION = 96
GENERATIONS = 80
IDLE = 12  # generations without a variant that was not seen before
MUTATION = 0.3  # chance that a child changes one parameter more


class Efficiencies(base.Fitness):  # type: ignore[misc]  # deap ships no types
    """An efficiency for each device, all of them to be as large as they can be."""

    weights: tuple[float, ...] = (1.0,)

    def __init__(self, values: tuple[float, ...]) -> None:
        self.weights = (1.0,) * len(values)
        super().__init__(values)


@dataclass(eq=False)
class Candidate:
    """A variant as NSGA-II carries it."""

    variant: int
    fitness: Efficiencies


@dataclass(frozen=True)
class Portable:
    """The best single variant.

    Attributes:
        variant: Its number.
        searched: The variant that NSGA-II found.
        looked_at: Variants that NSGA-II looked at.
        front: Variants of its last front, which no other one beats everywhere.
        exhaustive: True if all variants that there are were compared: ``variant`` is then the best for certain.
    """

    variant: int
    searched: int
    looked_at: int
    front: tuple[int, ...]
    exhaustive: bool


def most_portable(case: Case, seed: int) -> Portable:
    """The variant of largest performance portability, by application efficiency.

    Where the table is complete, all of it is compared as well: the search is then only a check of itself. Variants
    that nobody has tried on one of the measured devices do not take part, unless that is all there are.
    """
    efficiency = application_efficiency(case.times_ms[:, list(case.measured)])
    seen, front = nsga2(case, efficiency, np.random.default_rng([seed, len(case.times_ms)]))
    untold = {variant for variant, place in case.waiting if place in case.measured}
    looked = sorted(seen - untold) or sorted(seen)
    found = best_of(efficiency, np.array(looked))
    chosen = best_of(efficiency, np.arange(len(efficiency))) if case.complete else found
    return Portable(chosen, found, len(seen), tuple(sorted(front)), case.complete)


def best_of(efficiency: Floats, variants: NDArray[np.int64]) -> int:
    """Of these variants the one of largest portability; where none runs everywhere, the one that runs on most devices
    and is most efficient there. Ties go to the better worst case, then to the first.
    """
    rows = efficiency[variants]
    runs = (~np.isnan(rows)).sum(axis=1)
    filled = np.where(np.isnan(rows), np.inf, rows)  # adds nothing to the sum of 1 / e
    score = np.where(runs > 0, runs / np.maximum(np.sum(1.0 / filled, axis=1), 1e-300), 0.0)
    order = np.lexsort((variants, -np.min(filled, axis=1, initial=np.inf), -score, -runs))
    return int(variants[order[0]])


def nsga2(case: Case, efficiency: Floats, rng: np.random.Generator) -> tuple[set[int], list[int]]:
    """(variants looked at, last front). Champions are in the first generation, the others are drawn."""
    if not efficiency.shape[1]:
        return set(range(len(efficiency))), []
    values = np.nan_to_num(efficiency, nan=0.0)
    rows = {tuple(map(int, line)): number for number, line in enumerate(case.table)}
    count = min(POPULATION, len(values) - len(values) % 4) or len(values)
    champions = list(dict.fromkeys(v for v in case.champions if v is not None))
    drawn = [int(v) for v in rng.permutation(len(values)) if v not in champions]
    seen: set[int] = set()

    def candidate(variant: int) -> Candidate:
        seen.add(variant)
        return Candidate(variant, Efficiencies(tuple(map(float, values[variant]))))

    population = [candidate(variant) for variant in [*champions, *drawn][: max(count, len(champions))]]
    idle = 0
    for _ in range(GENERATIONS):
        if idle == IDLE or len(seen) == len(values):
            break
        before = len(seen)
        parents = [population[int(n)] for n in rng.integers(len(population), size=2 * len(population))]
        children = []
        for first, second in zip(parents[::2], parents[1::2], strict=True):
            child = _child(case, first.variant, second.variant, rows, rng)
            if child is not None and child not in seen:
                children.append(candidate(child))
        population = tools.selNSGA2(population + children, len(population))
        idle = idle + 1 if len(seen) == before else 0
    front = tools.sortNondominated(population, len(population), first_front_only=True)[0]
    return seen, [one.variant for one in front]


def _child(
    case: Case, first: int, second: int, rows: dict[tuple[int, ...], int], rng: np.random.Generator
) -> int | None:
    """Each value from either parent, and often one changed; None if that is no variant of the table."""
    mask = rng.random(len(case.names)) < 0.5
    genes = np.where(mask, case.table[first], case.table[second])
    if first == second or rng.random() < MUTATION:
        name = int(rng.integers(len(case.names)))
        genes[name] = int(rng.integers(len(case.domains[name])))
    return rows.get(tuple(map(int, genes)))


def portability(efficiency: Floats, variant: int) -> float:
    """Performance portability of one variant."""
    return float(portability_of_rows(efficiency[variant : variant + 1])[0])

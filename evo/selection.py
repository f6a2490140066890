"""Selection of parents: DEAP's tournament over the population, and a share from the archive's elites."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from deap import tools

from evo.population import Individual

TOURNAMENT = 3
ELITE_SHARE = 0.2  # parents that come from the archive, so that other shapes stay in play
LEADER_SHARE = 0.3  # main parents that are the leader itself: budgets are short


def select(
    population: Sequence[Individual],
    elites: Sequence[Individual],
    leader: Individual | None,
    count: int,
    rng: np.random.Generator,
) -> tuple[Individual, ...]:
    """Draws parents, the main one first.

    Raises:
        ValueError: If the population is empty.
    """
    if not population:
        raise ValueError("no parents to select from")
    with _seeded(rng):
        chosen: list[Individual] = list(
            tools.selTournament(list(population), count, tournsize=min(TOURNAMENT, len(population)))
        )
    draw = rng.random()
    if leader is not None and draw < LEADER_SHARE:
        chosen[0] = leader
    elif elites and draw < LEADER_SHARE + ELITE_SHARE:
        chosen[0] = elites[int(rng.integers(len(elites)))]
    return tuple(chosen)


@contextmanager
def _seeded(rng: np.random.Generator) -> Iterator[None]:
    """DEAP draws from the standard library's global generator: it is seeded from ours here and restored after."""
    state = random.getstate()
    random.seed(int(rng.integers(2**62)))
    try:
        yield
    finally:
        random.setstate(state)

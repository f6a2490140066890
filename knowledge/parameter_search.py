"""Which configuration of a parameter space to measure next: expected improvement under a Gaussian process.

The space is a table of all configurations, so that the next one is chosen among the neighbours of the best and a sample
of all others. Jones, Schonlau, Welch: Efficient Global Optimization of Expensive Black-Box Functions (1998), equation
15, on the logarithm of the time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from knowledge.gaussian_process import condition, first_guess, improve
from knowledge.parameter_features import parameter_columns

Array = NDArray[np.float64]

FIRST = 12
"""Measurements far from one another before the model is asked."""
SPREAD_AMONG = 64
SAMPLE = 1500
"""Configurations drawn from the whole space for each choice."""
PARENTS = 8
"""Best configurations whose neighbours (one parameter differs) are candidates."""
EVERY = 5
"""Measurements between two looks at the length scales, and steps of such a look."""
STEPS = 24
FIRST_STEPS = 72
GOOD_SHARE = 0.6
"""Times beyond this quantile are pulled in: how slow the slow ones are does not matter."""
PULL = 0.25
LEAST_RANGE = 0.1


class ParameterSearch:
    """Learns times of configurations and says which one to measure next.

    Args:
        values: The values of each parameter, as text.
        table: Index of each parameter's value, shape (configurations, parameters).
        rng: Source of all chance.
        history: Times of each configuration elsewhere (another device, another size), shape (configurations,) each;
            NaN where there is none.
    """

    def __init__(
        self,
        values: Sequence[Sequence[str]],
        table: NDArray[np.int16],
        rng: np.random.Generator,
        history: Sequence[Array] = (),
    ) -> None:
        self._history = history
        self._columns = parameter_columns(values, table)
        self._table = table
        self._counts = [len(texts) for texts in values]
        self._rows: Mapping[tuple[int, ...], int] = {tuple(map(int, line)): row for row, line in enumerate(table)}
        self._rng = rng
        self._guess = first_guess(self._columns.shape[1])
        self._looked = 0  # measurements at the last look at the length scales
        self._taken = np.zeros(len(table), dtype=bool)
        self._measured: list[int] = []
        self._logs: list[float] = []

    def tell(self, row: int, time: float | None) -> None:
        """Learns the time of a configuration, in any unit; None if it failed."""
        self._taken[row] = True
        self._measured.append(row)
        self._logs.append(math.nan if time is None else math.log(time))

    def take(self, row: int) -> None:
        """Leaves a configuration out from now on: it is being measured."""
        self._taken[row] = True

    def next(self) -> int | None:
        """The configuration to measure next; None if all are taken."""
        free = np.flatnonzero(~self._taken)
        if not len(free):
            return None
        if len(self._measured) < FIRST or np.isfinite(self._logs).sum() < 3:
            return self._far(free)
        targets = self._targets()
        inputs = self._columns[self._measured]
        if not self._looked or len(targets) >= self._looked + EVERY:
            steps = STEPS if self._looked else FIRST_STEPS
            self._guess = improve(self._guess, inputs, targets, self._rng, steps)
            self._looked = len(targets)
        candidates = self._candidates(free)
        mean, spread = condition(self._guess, inputs, targets).predict(self._columns[candidates])
        return int(candidates[np.argmax(expected_improvement(mean, spread, float(targets.min())))])

    def _far(self, free: NDArray[np.intp]) -> int:
        """One far from all that were measured, of a few."""
        if not self._measured:
            return int(self._rng.choice(free))
        some = self._rng.choice(free, min(SPREAD_AMONG, len(free)), replace=False)
        apart = self._columns[some][:, None, :] - self._columns[self._measured][None, :, :]
        return int(some[np.argmax((apart * apart).sum(2).min(1))])

    def _targets(self) -> Array:
        """Logarithms of times with mean 0 and deviation 1, the slow ones pulled in; a failure counts as the slowest."""
        logs = np.array(self._logs)
        least = float(np.nanmin(logs))
        cap = max(float(np.nanquantile(logs, GOOD_SHARE)), least + LEAST_RANGE)
        pulled = np.where(logs > cap, cap + PULL * (logs - cap), logs)
        pulled[np.isnan(pulled)] = np.nanmax(pulled)
        return np.asarray((pulled - pulled.mean()) / (pulled.std() + 1e-9))

    def _candidates(self, free: NDArray[np.intp]) -> NDArray[np.intp]:
        near = {row for parent in self._best() for row in self._neighbours(parent) if not self._taken[row]}
        drawn = self._rng.choice(free, min(SAMPLE, len(free)), replace=False)
        return np.unique(np.append(drawn, np.array(sorted(near), dtype=np.intp)))

    def _best(self) -> list[int]:
        order = np.argsort(np.nan_to_num(self._logs, nan=math.inf), kind="stable")
        return [self._measured[index] for index in order[:PARENTS]]

    def _neighbours(self, row: int) -> list[int]:
        own = tuple(map(int, self._table[row]))
        found = []
        for k, count in enumerate(self._counts):
            for value in range(count):
                other = self._rows.get((*own[:k], value, *own[k + 1 :]))
                if other is not None and value != own[k]:
                    found.append(other)
        return found


def expected_improvement(mean: Array, spread: Array, best: float) -> Array:
    """By how much a normal variable falls below ``best`` on average; each of shape (count,)."""
    distance = (best - mean) / spread
    density = np.exp(-0.5 * distance * distance) / math.sqrt(2.0 * math.pi)
    return np.asarray((best - mean) * ndtr(distance) + spread * density)

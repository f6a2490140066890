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

from knowledge.gaussian_process import Kernel, condition, improved
from knowledge.parameter_features import parameter_columns
from knowledge.trust import spearman

Array = NDArray[np.float64]

FIRST = 12
"""Measurements far from one another before the model is asked."""
RECALLED = 5
FIRST_AFTER_RECALL = 8
"""With a history: measurements of what was best there, and those after which the model is asked."""
FORGOTTEN = 50
"""Measurements after which the history is left aside: what it could teach is measured by then, and where this device
differs it would only hide the best."""
BELIEVED = 0.5
"""Rank correlation of the history with what was measured, from which on it stands in for measurements."""
SPREAD_AMONG = 64
SAMPLE = 1500
"""Configurations drawn from the whole space for each choice."""
PARENTS = 8
"""Best configurations whose neighbours (one parameter differs) are candidates."""
REACH = 512
"""Values of a parameter to either side, in the order of the table, that count as neighbours."""
EVERY = 5
"""Measurements between two looks at the length scales, and steps of such a look."""
STEPS = 24
FIRST_STEPS = 72
MOST = 250
"""Measurements that the model learns from: half of them the best, half the newest. Its cost grows with their cube."""
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
        table: NDArray[np.int32],
        rng: np.random.Generator,
        history: Sequence[Array] = (),
    ) -> None:
        history = [times for times in history if np.isfinite(times).any()]
        self._history = np.stack([_relative(times) for times in history], axis=1) if history else None
        self._columns = parameter_columns(values, table)
        self._table = table
        self._counts = [len(texts) for texts in values]
        self._rows: Mapping[tuple[int, ...], int] = {tuple(map(int, line)): row for row, line in enumerate(table)}
        self._rng = rng
        self._kernel = Kernel.typical(self._columns.shape[1], len(history))
        self._recalls = 0
        self._looked = 0  # measurements at the last look at the length scales
        self._taken = np.zeros(len(table), dtype=bool)
        self._told: set[int] = set()
        self._measured: list[int] = []
        self._logs: list[float] = []

    def tell(self, row: int, time: float | None) -> None:
        """Learns the time of a configuration, in any unit; None if it failed. The first that is told counts."""
        if row in self._told:
            return
        self._taken[row] = True
        self._told.add(row)
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
        count = len(self._measured)
        if self._history is not None and count >= FORGOTTEN:
            self._forget()
        if self._history is not None and count < RECALLED:
            return self._recalled(free)
        if count < self._first() or np.isfinite(self._logs).sum() < 3:
            return self._far(free)
        known = self._instructive()
        targets, deviation = _targets(np.array(self._logs)[known])
        inputs = self._inputs(np.array(self._measured)[known], deviation)
        if not self._looked or count >= self._looked + EVERY:
            steps = STEPS if self._looked else FIRST_STEPS
            self._kernel = improved(self._kernel, inputs, targets, self._rng, steps)
            self._looked = count
        candidates = self._candidates(free)
        mean, spread = condition(self._kernel, inputs, targets).predict(self._inputs(candidates, deviation))
        return int(candidates[np.argmax(expected_improvement(mean, spread, float(targets.min())))])

    def _first(self) -> int:
        """Measurements before the model is asked: few where the history has ranked them well so far."""
        if self._history is None or len(self._measured) < FIRST_AFTER_RECALL:
            return FIRST
        here = np.nan_to_num(self._logs, nan=math.inf)
        rank = spearman(self._history[self._measured].mean(axis=1).tolist(), here.tolist())
        return FIRST_AFTER_RECALL if rank is not None and rank >= BELIEVED else FIRST

    def _forget(self) -> None:
        """Goes on without the history. Length scales that were found beside it start a thorough look of their own."""
        logs = self._kernel.logs
        self._kernel = Kernel(np.append(logs[: self._columns.shape[1]], logs[-1]))
        self._history = None
        self._looked = 0

    def _recalled(self, free: NDArray[np.intp]) -> int:
        """What was best elsewhere: over all histories, then in each of them, in turn.

        Neighbours of one that was tried are passed over: where one disappoints, so will they.
        """
        assert self._history is not None
        turn = self._recalls % (self._history.shape[1] + 1)
        self._recalls += 1
        scores = self._history.mean(axis=1) if turn == 0 else self._history[:, turn - 1]
        if self._measured:
            differing = (self._table[free][:, None, :] != self._table[self._measured][None, :, :]).sum(2).min(1)
            free = free[differing > 1] if (differing > 1).any() else free
        return int(free[np.argmin(scores[free])])

    def _inputs(self, rows: Sequence[int] | NDArray[np.intp], deviation: float) -> Array:
        """Columns, then what was seen elsewhere, relative to what was measured here and in the targets' unit."""
        if self._history is None:
            return self._columns[rows]
        elsewhere = (self._history[rows] - self._history[self._measured].mean(axis=0)) / deviation
        return np.concatenate((self._columns[rows], elsewhere), axis=1)

    def _far(self, free: NDArray[np.intp]) -> int:
        """One far from all that were measured, of a few."""
        if not self._measured:
            return int(self._rng.choice(free))
        some = self._rng.choice(free, min(SPREAD_AMONG, len(free)), replace=False)
        apart = self._columns[some][:, None, :] - self._columns[self._measured][None, :, :]
        return int(some[np.argmax((apart * apart).sum(2).min(1))])

    def _instructive(self) -> NDArray[np.intp]:
        """Numbers of the measurements that the model learns from."""
        count = len(self._measured)
        if count <= MOST:
            return np.arange(count)
        return np.union1d(self._fastest()[: MOST // 2], np.arange(count - MOST // 2, count))

    def _candidates(self, free: NDArray[np.intp]) -> NDArray[np.intp]:
        parents = [self._measured[number] for number in self._fastest()[:PARENTS]]
        near = {row for parent in parents for row in self._neighbours(parent) if not self._taken[row]}
        drawn = self._rng.choice(free, min(SAMPLE, len(free)), replace=False)
        return np.unique(np.append(drawn, np.array(sorted(near), dtype=np.intp)))

    def _fastest(self) -> NDArray[np.intp]:
        """Numbers of the measurements, the fastest first and failures last."""
        return np.argsort(np.nan_to_num(self._logs, nan=math.inf), kind="stable")

    def _neighbours(self, row: int) -> list[int]:
        own = tuple(map(int, self._table[row]))
        found = []
        for k, count in enumerate(self._counts):
            for value in range(max(0, own[k] - REACH), min(count, own[k] + REACH + 1)):
                other = self._rows.get((*own[:k], value, *own[k + 1 :]))
                if other is not None and value != own[k]:
                    found.append(other)
        return found


def expected_improvement(mean: Array, spread: Array, best: float) -> Array:
    """By how much a normal variable falls below ``best`` on average; each of shape (count,)."""
    distance = (best - mean) / spread
    density = np.exp(-0.5 * distance * distance) / math.sqrt(2.0 * math.pi)
    return np.asarray((best - mean) * ndtr(distance) + spread * density)


def _targets(logs: Array) -> tuple[Array, float]:
    """Logarithms of times with mean 0 and deviation 1, and the deviation that they had.

    The slow ones are pulled in; a failure counts as the slowest.
    """
    pulled = _pulled(logs)
    deviation = max(float(pulled.std()), 1e-9)
    return (pulled - pulled.mean()) / deviation, deviation


def _pulled(logs: Array) -> Array:
    """Logarithms of times with those beyond a quantile pulled in, and the largest of them where there was a failure."""
    cap = max(float(np.nanquantile(logs, GOOD_SHARE)), float(np.nanmin(logs)) + LEAST_RANGE)
    pulled = np.where(logs > cap, cap + PULL * (logs - cap), logs)
    pulled[np.isnan(pulled)] = np.nanmax(pulled)
    return pulled


def _relative(times: Array) -> Array:
    """Logarithms of times over the shortest, pulled in like the targets."""
    logs = _pulled(np.log(times))
    return np.asarray(logs - logs.min())

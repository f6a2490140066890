"""The surrogate: a forest that predicts log2 speed-up and failure of a genome from everything measured so far.

Input columns: the fixed genome vector, one column for each gene parameter at each site that the rows hold, the vectors
of kernel, device and size, and, for the surrogate that is asked after compiling, what the compiler said. Columns that
do not vary are dropped. The spread between trees is the uncertainty. Models are fitted from rows and never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evaluator.result import Resources
from genome.genes import Genome
from knowledge.compiled_features import compiled_features
from knowledge.genome_features import gene_columns, genome_features
from knowledge.records import TrainingRow

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

Array = NDArray[np.float64]

TREES = 64
MOST_ROWS = 1500
"""Rows of one fit; experience of this kernel on this device is kept before that of others."""
FEWEST_ROWS = 4
"""Below that a prediction says that it does not know."""
BLIND_STD = 1.0
"""Uncertainty of a model that knows nothing, in log2: a factor of two either way."""
OTHERS = {(True, True): 1.0, (True, False): 0.5, (False, True): 0.25, (False, False): 0.1}
"""Weight of a row by (same kernel, same device)."""
FOREIGN_MASS = 16.0
"""A group of foreign rows weighs at most as much as this many rows of our own, or as all of them if there are more."""


@dataclass(frozen=True)
class _Fitted:
    """Models with the columns that they were fitted on."""

    genes: tuple[str, ...]
    varying: NDArray[np.intp]
    gain: ExtraTreesRegressor | None
    failure: ExtraTreesClassifier | None
    failure_rate: float


def get_ready() -> None:
    """Loads the library of the forests ahead of the first fit: a second that a thread can spend while others work."""
    from sklearn import ensemble

    del ensemble


class Surrogate:
    """Predicts for one kernel, device and size; the same rows and seed give the same predictions.

    Args:
        kernel_features, device_features, size_features: Of this campaign.
        seed: Of the forests.
        compiled: True for the surrogate that knows what the compiler said; it learns from such rows alone.
    """

    def __init__(
        self,
        kernel_features: Sequence[float],
        device_features: Sequence[float],
        size_features: Sequence[float],
        *,
        seed: int,
        compiled: bool = False,
    ) -> None:
        self._context = (tuple(kernel_features), tuple(device_features), tuple(size_features))
        self._seed = seed
        self._compiled = compiled
        self._fitted: _Fitted | None = None

    def fit(self, rows: Sequence[TrainingRow]) -> None:
        """Learns from scratch. Rows whose vectors have another length than this campaign's are left out."""
        lengths = tuple(len(part) for part in self._context)
        usable = [row for row in rows if tuple(len(part) for part in _vectors(row)) == lengths]
        if self._compiled:
            usable = [row for row in usable if row.resources is not None]
        usable = _limited(usable, np.random.default_rng(self._seed))
        if not usable:
            self._fitted = None
            return
        genes = tuple(sorted({name for row in usable for name in gene_columns(row.genome)}))
        told = [row.resources for row in usable] if self._compiled else None
        table = _table([row.genome for row in usable], [_vectors(row) for row in usable], genes, told)
        varying = np.flatnonzero(np.ptp(table, axis=0) > 0)
        inputs, weights = table[:, varying], _weights(usable)
        failed = np.array([row.failed for row in usable])
        gains = np.array([np.nan if row.log2_speedup is None else row.log2_speedup for row in usable])
        known = np.isfinite(gains) & ~failed
        self._fitted = _Fitted(
            genes, varying, self._gain(inputs[known], gains[known], weights[known]),
            self._failure(inputs, failed, weights), float(np.average(failed, weights=weights)),
        )  # fmt: skip

    def predict(
        self, genomes: Sequence[Genome], resources: Sequence[Resources] | None = None
    ) -> tuple[Array, Array, Array]:
        """Mean and standard deviation of log2 speed-up, and probability of failure; each of shape (len(genomes),).

        ``resources``, one a genome, are for the surrogate that is asked after compiling, and for no other. Before there
        is anything to learn from: mean 0, standard deviation ``BLIND_STD``.
        """
        count, fitted = len(genomes), self._fitted
        mean, std, failure = np.zeros(count), np.full(count, BLIND_STD), np.zeros(count)
        if fitted is None or not count:
            return mean, std, failure
        told = resources if self._compiled else None
        inputs = _table(genomes, [self._context] * count, fitted.genes, told)[:, fitted.varying]
        failure += fitted.failure_rate
        if fitted.gain is not None:
            trees = _leaves(fitted.gain, inputs)[:, :, 0]
            mean, std = trees.mean(axis=0), trees.std(axis=0)
        if fitted.failure is not None:
            classes = _leaves(fitted.failure, inputs)
            failure = (classes[:, :, 1] / classes.sum(axis=2)).mean(axis=0)
        return mean, std, failure

    def _gain(self, inputs: NDArray[np.float32], gains: Array, weights: Array) -> ExtraTreesRegressor | None:
        if len(gains) < FEWEST_ROWS or inputs.shape[1] == 0:
            return None
        from sklearn.ensemble import ExtraTreesRegressor  # see ``get_ready``

        forest = ExtraTreesRegressor(TREES, min_samples_leaf=1, max_features=0.6, n_jobs=1, random_state=self._seed)
        return forest.fit(inputs, gains, sample_weight=weights)

    def _failure(
        self, inputs: NDArray[np.float32], failed: NDArray[np.bool_], weights: Array
    ) -> ExtraTreesClassifier | None:
        if failed.all() or not failed.any() or len(failed) < FEWEST_ROWS or inputs.shape[1] == 0:
            return None
        from sklearn.ensemble import ExtraTreesClassifier  # see ``get_ready``

        forest = ExtraTreesClassifier(TREES, min_samples_leaf=2, n_jobs=1, random_state=self._seed)
        return forest.fit(inputs, failed, sample_weight=weights)


def _leaves(forest: ExtraTreesRegressor | ExtraTreesClassifier, inputs: NDArray[np.float32]) -> Array:
    """What each tree holds for each input, shape (trees, inputs, values): the mean, or the weight of each class.

    The same as the forest's own ``predict``, whose checks take twenty times as long for a handful of inputs.
    """
    return np.stack([tree.tree_.predict(inputs).reshape(len(inputs), -1) for tree in forest.estimators_])


def _vectors(row: TrainingRow) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    return row.kernel_features, row.device_features, row.size_features


def _table(
    genomes: Sequence[Genome],
    contexts: Sequence[tuple[tuple[float, ...], ...]],
    genes: tuple[str, ...],
    resources: Sequence[Resources | None] | None,
) -> NDArray[np.float32]:
    """One row a genome: genome vector, gene columns, kernel, device and size vectors, what the compiler said."""
    told = [() if said is None else compiled_features(said) for said in resources or [None] * len(genomes)]
    lines = []
    for genome, context, said in zip(genomes, contexts, told, strict=True):
        columns = gene_columns(genome)
        own = [columns.get(name, 0.0) for name in genes]
        lines.append([*genome_features(genome), *own, *(value for part in context for value in part), *said])
    return np.array(lines, dtype=np.float32)


def _weights(rows: Sequence[TrainingRow]) -> Array:
    """A weight a row: experience from elsewhere counts less, and fades as our own grows."""
    groups = [(row.same_kernel, row.same_device) for row in rows]
    own = max(FOREIGN_MASS, float(groups.count((True, True))))
    scale = {
        group: weight if group == (True, True) else weight * min(1.0, own / max(1, groups.count(group)))
        for group, weight in OTHERS.items()
    }
    return np.array([scale[group] for group in groups])


def _limited(rows: list[TrainingRow], rng: np.random.Generator) -> list[TrainingRow]:
    """At most ``MOST_ROWS``: groups in the order of their weights, a sample of the one that is too large."""
    left = MOST_ROWS
    kept: list[TrainingRow] = []
    for group in OTHERS:
        members = [index for index, row in enumerate(rows) if (row.same_kernel, row.same_device) == group]
        if len(members) > left:
            members = sorted(int(index) for index in rng.choice(members, size=left, replace=False))
        kept.extend(rows[index] for index in members)
        left -= len(members)
    return kept

"""A surrogate that is fitted every few outcomes, and judged by what it said before each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.result import Resources
from evo.parts import SurrogateModel
from genome.genes import Genome
from knowledge.records import TrainingRow
from knowledge.trust import FEWEST, Observation, SurrogateMetrics, metrics

KAPPA = 0.5  # optimism: standard deviations added to the mean
FAILURE = 2.0  # log2 points that a certain failure costs
ENOUGH = 8  # rows before the first fit
EVERY = 6  # outcomes between fits, which take a tenth of a second


@dataclass(frozen=True)
class Said:
    """A prediction: score (higher is better), mean and standard deviation of log2 speed-up."""

    score: float
    mean: float
    std: float


def asked(model: SurrogateModel, genomes: Sequence[Genome], resources: Sequence[Resources] | None = None) -> list[Said]:
    """What a model says of some genomes, and of what the compiler said of them."""
    mean, std, failure = model.predict(genomes, resources)
    scores = mean + KAPPA * std - FAILURE * failure
    return [Said(float(score), float(m), float(s)) for score, m, s in zip(scores, mean, std, strict=True)]


class Judged:
    """Rows, fits, and the pruning share that its predictions have earned.

    Args:
        model: What is judged; None never says anything.
        rows: What it learns from to begin with.
        inherited: The pruning share until this campaign has proof of its own.
        every: Outcomes between fits.
    """

    def __init__(
        self,
        model: SurrogateModel | None,
        rows: Sequence[TrainingRow],
        inherited: float = 0.0,
        every: int = EVERY,
    ) -> None:
        self._model = model
        self._every = every
        self._rows = list(rows)
        self._inherited = inherited
        self._new = 0
        self._seen: list[Observation] = []
        self._said: dict[str, tuple[Said, bool]] = {}
        self.fits = 0
        self.share = 0.0
        if len(self._rows) >= ENOUGH:
            self._fit()

    @property
    def rows(self) -> int:
        """How many there are to learn from."""
        return len(self._rows)

    @property
    def pool(self) -> int:
        """How many compete for one place."""
        return round(1.0 / (1.0 - self.share)) if self.fits else 1

    def ask(self, genomes: Sequence[Genome], resources: Sequence[Resources] | None = None) -> list[Said]:
        """Predictions; none before the first fit."""
        return asked(self._model, genomes, resources) if self._model is not None and self.fits else []

    def bind(self, digest: str, said: Said, unbiased: bool) -> None:
        """Keeps what was said of a variant until it is measured; ``unbiased``: whatever was said of it."""
        self._said[digest] = (said, unbiased)

    def learn(self, row: TrainingRow) -> None:
        """Adds a row without judging the model by it."""
        self._rows.append(row)
        self._new += 1

    def observe(self, digest: str, row: TrainingRow) -> bool:
        """Learns an outcome and judges what was said of it; True if the model was fitted again."""
        self.learn(row)
        if digest in self._said:
            said, unbiased = self._said.pop(digest)
            self._seen.append(Observation(said.score, row.log2_speedup, unbiased, said.mean, said.std))
        if self._new < self._every or len(self._rows) < ENOUGH or self._model is None:
            return False
        self._fit()
        return True

    def metrics(self) -> SurrogateMetrics:
        """How well it did in this campaign."""
        return metrics(self._seen)

    def _fit(self) -> None:
        if self._model is None:
            return
        self._model.fit(self._rows)
        self.fits += 1
        self._new = 0
        own = self.metrics()
        self.share = own.prune_share if own.unbiased >= FEWEST else self._inherited

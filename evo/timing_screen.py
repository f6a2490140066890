"""The second look of the surrogate: what has compiled is timed only if it promises enough, now that registers, spills,
occupancy, shared memory and the instruction mix are known.

It earns the right to discard as the first look does, by its recall of the best tenth among what was timed whatever it
said. Then a variant is discarded that scores below that share of those compiled lately; but of as many in a row as
compete for one place, one is timed, and so is an epsilon share of all, what the first look let pass untouched, and
what an earlier campaign has proven.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evaluator.result import Resources
from evo.judged import Judged
from evo.parts import SurrogateModel
from evo.result import SurrogateReport
from evo.state import Candidate
from knowledge.records import TrainingRow

LATELY = 32  # scores that a new one is compared with
FEWEST_LATELY = 8
EVERY = 9  # outcomes between fits: seldomer than before compiling, since the first look has chosen already


class TimingScreen:
    """Decides between compiler and device. Without a model everything passes."""

    def __init__(self, model: SurrogateModel | None, epsilon: float, history: Sequence[TrainingRow] = ()) -> None:
        self._judged = Judged(model, [row for row in history if row.resources is not None], every=EVERY)
        self._epsilon = epsilon
        self._lately: deque[float] = deque(maxlen=LATELY)
        self._in_a_row = self._discarded = self._forced = 0

    def compiled(self, candidate: Candidate, resources: Resources, rng: np.random.Generator) -> Candidate | None:
        """The candidate with what is known of it now; None if it is not worth the device's time."""
        known = replace(candidate, resources=None if resources == Resources() else resources)
        said = self._judged.ask([candidate.variant.genome], [resources]) if known.resources is not None else []
        if not said:
            return known
        score, certain = said[0].score, candidate.forced or candidate.proposal.expected > 0.0
        below = len(self._lately) >= FEWEST_LATELY and score < float(np.quantile(self._lately, self._judged.share))
        self._lately.append(score)
        pool = self._judged.pool
        forced = pool > 1 and not certain and bool(rng.random() < self._epsilon)
        self._forced += forced
        untouched = forced or certain or candidate.proposal.fresh
        if below and pool > 1 and not untouched and self._in_a_row < pool - 1:
            self._in_a_row += 1
            self._discarded += 1
            return None
        self._in_a_row = 0
        self._judged.bind(candidate.digest, said[0], untouched or pool == 1)
        return replace(known, promise=score)

    def observe(self, candidate: Candidate, row: TrainingRow) -> None:
        """Learns what came of a candidate that was timed."""
        if row.resources is not None:
            self._judged.observe(candidate.digest, row)

    def report(self, device_s: float = 0.0) -> SurrogateReport:
        """How well it did, with totals; ``device_s``: what a variant takes on the device."""
        now, judged = self._judged.metrics(), self._judged
        return SurrogateReport(
            judged.rows, judged.fits, now.rank_correlation, now.decile_recall, self._discarded, self._forced,
            now.calibration, self._discarded * device_s)  # fmt: skip

"""What each stage of the cascade cost and what it threw out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

OPENING = (
    "opening: inputs", "opening: baseline", "opening: reference", "opening: comparison", "opening: cascade",
    "opening: the rest",
)  # fmt: skip
"""Of the start, which the baseline alone goes through; "the rest" is for compilers and processes."""

STAGES = (
    *OPENING, "static limits", "compile", "load", "small sizes", "waiting", "quick timing", "correctness", "timing",
    "after timing", "bounds", "large sizes", "baseline again", "reference arrived",
)  # fmt: skip
"""In the order of the cascade; "waiting" is for the cores of a CPU device, "baseline again" watches for drift,
"bounds" is for what the objective has measured beside the time."""

DEVICE = ("load", "small sizes", "quick timing", "correctness", "timing", "after timing", "bounds", "large sizes")
"""Stages that keep the device from the next variant."""


@dataclass(frozen=True)
class StageCost:
    """One stage of the cascade over the life of an evaluator.

    Attributes:
        stage: One of ``STAGES``.
        entered: Variants that reached it.
        refused: Variants that ended there.
        seconds: Spent in it, of the process that did the work.
    """

    stage: str
    entered: int = 0
    refused: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Spent:
    """What one variant took: seconds by stage in the order they were entered, and the stage that refused it.

    ``kernel_s`` are those in which the device ran the variant's own kernels.
    """

    seconds: tuple[tuple[str, float], ...] = ()
    refused: str = ""
    kernel_s: float = 0.0


class Stopwatch:
    """Seconds by stage of one variant. Stages may be entered again; an inner stage's time is not the outer one's."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = 0.0
        self.last = ""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Counts what happens inside as this stage's. ``last`` stays at the innermost stage that an error left."""
        self._turn()
        self._open.append(name)
        self._seconds.setdefault(name, 0.0)
        try:
            yield
        except BaseException:
            self.last = self.last or name
            raise
        finally:
            self._turn()
            self._open.pop()

    def spent(self, kernel_s: float = 0.0) -> Spent:
        """What was counted."""
        return Spent(tuple(self._seconds.items()), self.last, kernel_s)

    def _turn(self) -> None:
        now = time.monotonic()
        if self._open:
            self._seconds[self._open[-1]] += now - self._since
        self._since = now


class Accounts:
    """Sums over all variants of an evaluator."""

    def __init__(self) -> None:
        self._costs = {stage: StageCost(stage) for stage in STAGES}
        self.kernel_s = 0.0

    def book(self, spent: Spent) -> None:
        """Adds one variant."""
        self.kernel_s += spent.kernel_s
        for stage, seconds in spent.seconds:
            self.add(stage, seconds, stage == spent.refused)

    def book_opening(self, spent: Spent, seconds: float) -> None:
        """Adds the start: what the device process tells of it, and ``seconds`` from its beginning to its end."""
        self.book(spent)
        self.add(OPENING[-1], seconds - sum(part for _, part in spent.seconds))

    def add(self, stage: str, seconds: float, refused: bool = False) -> None:
        """Adds one variant's pass through one stage."""
        cost = self._costs[stage]
        self._costs[stage] = replace(
            cost, entered=cost.entered + 1, refused=cost.refused + refused, seconds=cost.seconds + seconds
        )

    def costs(self) -> tuple[StageCost, ...]:
        """All stages, in the order of the cascade."""
        return tuple(self._costs.values())


def total_seconds(costs: Iterable[StageCost]) -> float:
    """Seconds of all stages."""
    return sum(cost.seconds for cost in costs)


def seconds_a_variant(costs: Iterable[StageCost]) -> float:
    """What a variant takes on the device in the mean; 0 where none has been there."""
    held = [cost for cost in costs if cost.stage in DEVICE]
    variants = max((cost.entered for cost in held), default=0)
    return total_seconds(held) / variants if variants else 0.0

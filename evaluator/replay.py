"""A recorded search space as a device: looks measurements up instead of making them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

from evaluator.accounts import StageCost
from evaluator.api import Comparison, Compiled, Event, Measured, SizeComparison
from evaluator.recording import Recording
from evaluator.result import DeviceInfo, Evaluation, Status, Timing, Toolchain
from evaluator.waiting import Say, silent
from genome.limits import DeviceLimits
from genome.spec import ProblemSize
from genome.variant import Target, Variant

RECORDED = "the times are those of the recording: nothing was run or verified here"
_VENDORS = {"nvidia": "NVIDIA", "geforce": "NVIDIA", "rtx": "NVIDIA", "amd": "AMD", "radeon": "AMD", "mi2": "AMD"}


class ReplayEvaluator:
    """Answers at once and in order, for variants whose options define the parameters of a recorded space.

    A configuration that failed in the recording fails here, and costs an evaluation like any other.

    Args:
        recording: The space.
        size: The one problem size that it was recorded at.
        name: How the user named it (``replay:FILE``).
    """

    def __init__(self, recording: Recording, size: ProblemSize, name: str) -> None:
        self._recording = recording
        self._size = size
        self._variants: dict[int, Variant] = {}
        self._events: deque[Event] = deque()
        vendor = next((v for word, v in _VENDORS.items() if word in recording.device.lower()), "")
        self.device = DeviceInfo(name, recording.device or "recorded", vendor, "recorded", "gpu", 0, 0)
        self.toolchain = Toolchain("recording", "", "")
        self.limits = DeviceLimits()
        self.target = Target.CUDA
        self.costs: tuple[StageCost, ...] = ()
        self.notes: tuple[str, ...] = ()

    def open(self, baseline: Variant, say: Say = silent) -> Measured:
        """The baseline's recorded time."""
        return Measured(0, (self._evaluation(baseline),))

    def settle(self, say: Say = silent, give_up: Callable[[], bool] = lambda: False) -> str:
        """Nothing is awaited."""
        return ""

    def compile(self, ticket: int, variant: Variant) -> None:
        """Takes the variant; what failed to compile in the recording fails when it is measured."""
        self._variants[ticket] = variant
        self._events.append(Compiled(ticket, Status.OK))

    def measure(self, ticket: int) -> None:
        """Looks the variant up."""
        self._events.append(Measured(ticket, (self._evaluation(self._variants.pop(ticket)),)))

    def discard(self, ticket: int) -> None:
        """Forgets a ticket."""
        self._variants.pop(ticket, None)
        self._events = deque(event for event in self._events if event.ticket != ticket)

    def events(self, timeout_s: float | None) -> list[Event]:
        """The next event, one at a time: what follows it is proposed knowing how it ended."""
        return [self._events.popleft()] if self._events else []

    def compare(
        self, baseline: Variant, champions: Sequence[Variant], processes: int, progress: Callable[[int, int], None]
    ) -> tuple[Comparison, ...]:
        """Ratios of recorded times, with no interval: there is one figure of each."""
        return tuple(self._comparison(baseline, champion) for champion in champions)

    def counted(self, variant: Variant, evaluation: Evaluation) -> Evaluation:
        """The evaluation as it is: a recording has no counters."""
        return evaluation

    def close(self) -> None:
        """Forgets what is under way."""
        self._variants.clear()
        self._events.clear()

    def _comparison(self, baseline: Variant, champion: Variant) -> Comparison:
        before, after = self._time_ms(baseline), self._time_ms(champion)
        if math.isnan(after):
            return Comparison(champion.digest(), (), 0.0, 0.0, 0.0, False, "failed in the recording")
        ratio = before / after
        row = SizeComparison(self._size.label, before, after, ratio, ratio, ratio)
        return Comparison(champion.digest(), (row,), ratio, ratio, ratio, True, gain=ratio > 1.0, note=RECORDED)

    def _evaluation(self, variant: Variant) -> Evaluation:
        row = self._row(variant)
        time = float(self._recording.times_ms[row])
        if math.isnan(time):
            failure = self._recording.failures[row]
            status = Status.COMPILE_ERROR if "ompil" in failure else Status.LAUNCH_ERROR
            return Evaluation(variant.digest(), self._size.label, status, f"in the recording: {failure}", stage="time")
        timing = Timing((time,), time, time, time)
        return Evaluation(variant.digest(), self._size.label, Status.OK, timing=timing, stage="time")

    def _time_ms(self, variant: Variant) -> float:
        return float(self._recording.times_ms[self._row(variant)])

    def _row(self, variant: Variant) -> int:
        defined = dict(option.removeprefix("-D").split("=", 1) for option in variant.options)
        recording = self._recording
        pairs = zip(recording.names, recording.values, strict=True)
        return recording.rows[tuple(values.index(defined[name]) for name, values in pairs)]

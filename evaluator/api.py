"""What the engine sees of an evaluator: compile and measure are separate, asynchronous, and never raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from evaluator.accounts import StageCost
from evaluator.result import DeviceInfo, Evaluation, Resources, Status, Toolchain
from evaluator.waiting import Say, silent
from genome.limits import DeviceLimits
from genome.variant import Target, Variant


@dataclass(frozen=True)
class Compiled:
    """A compilation ended. ``status`` is OK or why there is no binary."""

    ticket: int
    status: Status
    message: str = ""
    resources: Resources = field(default_factory=Resources)
    compile_s: float = 0.0


@dataclass(frozen=True)
class Measured:
    """A variant went through the cascade.

    Attributes:
        evaluations: One for each tuned size that was reached, in campaign order; the last one tells the failure.
        checks: One for each check size that was reached.
    """

    ticket: int
    evaluations: tuple[Evaluation, ...]
    checks: tuple[Evaluation, ...] = ()

    @property
    def failure(self) -> Evaluation | None:
        """The first evaluation that is not OK, or None."""
        return next((e for e in (*self.evaluations, *self.checks) if e.status is not Status.OK), None)


Event = Compiled | Measured


@dataclass(frozen=True)
class SizeComparison:
    """Champion against baseline at one size, medians over fresh processes, interval of the ratio by bootstrap.

    The ratio is that of what is optimised: of ``baseline_mj`` and ``best_mj`` (millijoules) where those are there.
    """

    size: str
    baseline_ms: float
    best_ms: float
    speedup: float
    low: float
    high: float
    baseline_mj: float | None = None
    best_mj: float | None = None


@dataclass(frozen=True)
class Coverage:
    """Check sizes at which the evolved kernel itself ran, and those at which its guard sent to the original one."""

    evolved: tuple[str, ...]
    fallback: tuple[str, ...]

    @property
    def enough(self) -> bool:
        """True if at least three sizes that were not tuned on have run the evolved kernel."""
        return len(self.evolved) >= 3


@dataclass(frozen=True)
class Comparison:
    """The final proof of one champion: interleaved with the baseline in fresh processes, verified on check sizes.

    Attributes:
        variant: Digest of the champion.
        sizes: One row for each tuned size.
        speedup, low, high: Weighted geometric mean over sizes and its 95% bootstrap interval over processes.
        verified: True if every tuned and check size matched the oracle, before and after timing.
        message: Why not, for a person; empty when verified.
        processes: Fresh processes that took part.
        checks: Evaluations at the check sizes; ``fallback`` tells where the baseline ran instead.
        gain: True if it is verified and faster than the baseline beyond its interval.
        note: Why a ratio above one is no gain, or what limits the proof; for a person.
    """

    variant: str
    sizes: tuple[SizeComparison, ...]
    speedup: float
    low: float
    high: float
    verified: bool
    message: str = ""
    processes: int = 0
    checks: tuple[Evaluation, ...] = ()
    gain: bool = False
    note: str = ""

    @property
    def looked_up(self) -> bool:
        """True if the times are those of a recording: nothing ran, and no interval is known."""
        return self.verified and bool(self.sizes) and not self.processes

    @property
    def coverage(self) -> Coverage:
        """Where the evolved kernel ran, and where not."""
        evolved = tuple(check.size for check in self.checks if not check.fallback)
        return Coverage(evolved, tuple(check.size for check in self.checks if check.fallback))


class Evaluator(Protocol):
    """One device with its compilers. Methods return at once except where stated; failures of variants are values."""

    @property
    def device(self) -> DeviceInfo:
        """The hardware."""

    @property
    def toolchain(self) -> Toolchain:
        """Driver and compiler."""

    @property
    def limits(self) -> DeviceLimits:
        """Launch limits of the device."""

    @property
    def target(self) -> Target:
        """The language it compiles."""

    def open(self, baseline: Variant, say: Say = silent) -> Measured:
        """Starts the processes, builds the oracle outputs, verifies and times the baseline at all sizes (blocks).

        Where the reference takes long at the tuned sizes, the baseline is the oracle there until its answer arrives.

        Args:
            baseline: The untransformed kernel.
            say: Hears what takes long.

        Raises:
            EvaluatorError: If the baseline itself cannot be compiled, launched, or does not match the reference.
        """

    def settle(self, say: Say = silent, give_up: Callable[[], bool] = lambda: False) -> str:
        """Waits for references that are still awaited (blocks); until then nothing is verified at the tuned sizes.

        Args:
            say: Hears what is awaited.
            give_up: Asked while waiting; True ends it.

        Returns:
            What limits a proof because a reference did not come in time; empty if nothing does.

        Raises:
            EvaluatorError: See ``events``.
        """

    def compile(self, ticket: int, variant: Variant) -> None:
        """Queues a compilation; a ``Compiled`` event follows."""

    def measure(self, ticket: int) -> None:
        """Queues a compiled ticket for the device; a ``Measured`` event follows."""

    def discard(self, ticket: int) -> None:
        """Forgets a compiled ticket that will not be measured."""

    def events(self, timeout_s: float | None) -> list[Event]:
        """Waits for at least one event (or the time-out), returns all that are there.

        Raises:
            EvaluatorError: If the reference's answer at a tuned size has arrived, and the baseline differs from it.
        """

    def compare(
        self, baseline: Variant, champions: Sequence[Variant], processes: int, progress: Callable[[int, int], None]
    ) -> tuple[Comparison, ...]:
        """Final proof of each champion in fresh processes, interleaved with the baseline (blocks); settles first."""

    def counted(self, variant: Variant, evaluation: Evaluation) -> Evaluation:
        """The evaluation with hardware counters in its profile, where a profiler may read them (blocks for seconds)."""

    @property
    def costs(self) -> tuple[StageCost, ...]:
        """What each stage of the cascade cost so far, and what it threw out."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about how strict the evaluation could be."""

    def close(self) -> None:
        """Ends every process. Idempotent."""


class EvaluatorError(Exception):
    """The device, the baseline or the reference is unusable: an error for the user, with how to mend it."""


class NotCompiled(EvaluatorError):
    """The device's compiler does not take the untransformed kernel as it is printed."""

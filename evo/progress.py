"""What a running campaign tells its audience: frozen snapshots handed to an observer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from evaluator.result import DeviceInfo, Toolchain
from genome.genes import Genome

if TYPE_CHECKING:
    from evo.result import CampaignResult


class CampaignPhase(StrEnum):
    """Where a campaign stands."""

    STARTING = "starting"  # baseline compiled, verified and timed
    SEARCHING = "searching"
    COMPARING = "comparing"  # finalists against the baseline in fresh processes
    EXPLAINING = "explaining"  # one gene of the winner left out at a time
    DONE = "done"


@dataclass(frozen=True)
class BestSoFar:
    """The leader of the search. ``low`` and ``high`` bound the speed-up inside one process: a search estimate."""

    speedup: float
    low: float
    high: float
    agent: str
    variant: str
    genome: Genome
    evaluation: int


@dataclass(frozen=True)
class CampaignStart:
    """What is known once the baseline ran.

    Attributes:
        kernel: Name of the kernel.
        device, toolchain: Where it runs.
        evaluations, minutes: Budget; None where there is no limit.
        baseline_ms: (size label, milliseconds) of the untransformed kernel.
        known: What the knowledge base knows about this kernel, one sentence; empty if nothing.
        resumed: Finished evaluations taken over from an interrupted run.
        agents: Names of the agents.
        remark: What kind of kernel it is, and where to look if no transform rewrites it; may be empty.
    """

    kernel: str
    device: DeviceInfo
    toolchain: Toolchain
    evaluations: int | None
    minutes: float | None
    baseline_ms: tuple[tuple[str, float], ...]
    known: str = ""
    resumed: int = 0
    agents: tuple[str, ...] = ()
    remark: str = ""


@dataclass(frozen=True)
class ProgressSnapshot:
    """Counters of a campaign at one moment.

    Attributes:
        phase: Where it stands.
        message: One line for a person ("register_tile: 12.3x, new best"); empty if there is nothing to say.
        proposals: Genomes proposed so far.
        evaluations: Fresh measurements so far (failures included; look-ups are not).
        limit: Budget of fresh measurements, or None.
        pruned: Variants that the surrogate discarded before compiling.
        rejected: Genomes that gave no variant.
        duplicates: Proposals that were there already.
        wrong: Variants that computed something else than the oracle, or touched memory they must not.
        failed: Variants that did not compile, crashed, timed out or were over a limit.
        cached: Variants whose timings were looked up.
        in_flight: Variants being compiled or measured.
        best: The leader, or None before the first success.
        elapsed_s: Seconds since the start.
        seconds_left: Estimate by whichever budget ends first; None without one.
        step, steps: Progress inside the comparing and explaining phases.
    """

    phase: CampaignPhase
    message: str = ""
    proposals: int = 0
    evaluations: int = 0
    limit: int | None = None
    pruned: int = 0
    rejected: int = 0
    duplicates: int = 0
    wrong: int = 0
    failed: int = 0
    cached: int = 0
    in_flight: int = 0
    best: BestSoFar | None = None
    elapsed_s: float = 0.0
    seconds_left: float | None = None
    step: int = 0
    steps: int = 0


class Observer(Protocol):
    """Whoever watches. Methods return quickly and do not raise."""

    def on_start(self, start: CampaignStart) -> None:
        """The baseline ran; the search begins."""

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """Something changed."""

    def on_finish(self, result: CampaignResult) -> None:
        """The campaign ended."""


class SilentObserver:
    """An observer for library use: says nothing."""

    def on_start(self, start: CampaignStart) -> None:
        """Ignores the start."""

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """Ignores the snapshot."""

    def on_finish(self, result: CampaignResult) -> None:
        """Ignores the result."""


StopRequest = Callable[[], bool]
"""Asked often; True ends the search cleanly with the best so far (``threading.Event().is_set`` is one)."""

"""What ``evo.tune`` returns and raises."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluator.api import SizeComparison
from evo.campaign_types import Campaign
from evo.report.summary import headline, launch_text
from evo.result import CampaignResult, StopReason
from genome.genes import Genome
from genome.variant import Scratch, Step


class TuneError(Exception):
    """What was given, or what it runs on, cannot be used. The text says what to mend."""


@dataclass(frozen=True)
class Tuned:
    """The result of a campaign.

    Attributes:
        kernel: Name of the kernel.
        device: Name of the device that it was tuned on.
        speedup: Weighted geometric mean over the tuned sizes, against the kernel as it was: the median over fresh
            processes, interleaved. 1.0 where nothing was faster.
        low, high: Its 95% bootstrap interval over these processes.
        verified: True if the winner matched the reference at every tuned and check size, in every process.
        improved: True if it is faster than the kernel as it was beyond the interval.
        source: The winner's complete source, in the language of the device it was tuned on (CUDA or OpenCL C).
        genome: The genes that make it.
        steps: What a call runs, in order: memsets and launches, with entry, block, grid (``axis.blocks(sizes)`` is the
            number of blocks along an axis), arguments and shared memory.
        scratch: Device buffers that the steps need beside the kernel's arguments.
        options: Compiler options.
        sizes: One row a tuned size: milliseconds before and after, speed-up with its interval.
        evaluations: Fresh measurements.
        stop: Why the search ended; ``interrupted`` after Ctrl-C (then nothing is proven yet).
        folder: The run's folder: ``report.html``, ``changes.md``, and ``best.cu``, which holds the source with a host
            launcher that does all this, its fallback included.
        notes: Remarks for a person.
        details: Everything else: history, credit of the agents, what each gene is worth.
    """

    kernel: str
    device: str
    speedup: float
    low: float
    high: float
    verified: bool
    improved: bool
    source: str
    genome: Genome
    steps: tuple[Step, ...]
    scratch: tuple[Scratch, ...]
    options: tuple[str, ...]
    sizes: tuple[SizeComparison, ...]
    evaluations: int
    stop: StopReason
    folder: Path
    notes: tuple[str, ...]
    details: CampaignResult

    def __str__(self) -> str:
        verdict = "verified" if self.verified else "not verified"
        return (
            f"{self.kernel} on {self.device}: {headline(self.details)}, {verdict}, {self.evaluations} evaluations; "
            f"{launch_text(self.details.best)}; {self.folder / 'report.html'}"
        )


def tuned(campaign: Campaign, result: CampaignResult) -> Tuned:
    """The result of a campaign for whoever called ``evo.tune``."""
    comparison, best = result.comparison, result.best
    return Tuned(
        result.kernel, result.device.name, comparison.speedup, comparison.low, comparison.high, comparison.verified,
        result.improved, best.source, best.genome, best.steps, best.scratch, best.options, comparison.sizes,
        result.counts.evaluations, result.stop, campaign.output, result.notes, result,
    )  # fmt: skip

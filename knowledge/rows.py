"""Frozen rows that queries give back. Plain data: nothing in them is executed."""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.result import Evaluation
from genome.genes import Genome
from knowledge.records import Lineage


@dataclass(frozen=True)
class StoredOutcome:
    """One recorded proposal of a campaign, as ``record`` got it; ``variant`` is the digest."""

    variant: str
    genome: Genome
    proposed: Genome
    evaluations: tuple[Evaluation, ...]
    checks: tuple[Evaluation, ...]
    lineage: Lineage
    speedup: float | None
    predicted: float | None
    forced: bool
    cached: bool


@dataclass(frozen=True)
class Proven:
    """The newest final comparison of a variant at a size: medians and interval over fresh processes."""

    baseline_ms: float
    best_ms: float
    speedup: float
    low: float
    high: float
    processes: int
    recorded: str


@dataclass(frozen=True)
class BestRow:
    """The best known variant of a kernel at one size on one device and toolchain.

    Attributes:
        best_ms, baseline_ms, speedup: As the search measured them: in one process, minutes apart.
        proven: As the final comparison measured them; None if this variant was never a finalist.
        distance: 0 for the kernel that was asked for; the distance of the feature vectors for a similar one.
        recorded: When it was measured, ISO 8601.
        size_distance: 0 for the size that was asked for (or where none was); see ``similarity.size_distance``.
    """

    kernel: str
    kernel_digest: str
    device: str
    architecture: str
    toolchain: str
    size: str
    best_ms: float
    baseline_ms: float
    speedup: float
    genome: Genome
    variant: str
    source: str
    target: str
    options: tuple[str, ...]
    agent: str
    campaign: str
    recorded: str
    distance: float = 0.0
    proven: Proven | None = None
    size_distance: float = 0.0


@dataclass(frozen=True)
class SimilarRow:
    """A kernel at a distance from another one; 0 for the same structure. ``best`` is its largest known speed-up."""

    kernel: str
    kernel_digest: str
    distance: float
    devices: int
    best: float | None


@dataclass(frozen=True)
class KernelStats:
    """What the base knows of one kernel name on one device."""

    kernel: str
    device: str
    campaigns: int
    evaluations: int
    failed: int
    best_speedup: float | None


@dataclass(frozen=True)
class Stats:
    """Size of the base and a line for each kernel and device."""

    counts: tuple[tuple[str, int], ...]
    bytes: int
    revision: str
    kernels: tuple[KernelStats, ...]

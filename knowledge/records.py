"""Frozen records that go into and come out of the knowledge base. The store maps them to tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluator.result import DeviceInfo, Evaluation, Resources, Toolchain
from genome.genes import Gene, Genome
from genome.variant import Variant


@dataclass(frozen=True)
class KernelRecord:
    """A kernel: its name, the digest of its alpha-normalised IR (names do not matter), source and feature vector.

    Attributes:
        sizes: Label and feature vector of each problem size of the campaign.
    """

    name: str
    digest: str
    source: str
    entry: str
    features: tuple[float, ...]
    feature_version: int
    sizes: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True)
class Lineage:
    """Where a proposal came from.

    Attributes:
        agent: Name of the agent.
        parents: Digests of the parents' variants.
        delta: Genes that the parent did not have.
        generation: Number of proposals before it.
    """

    agent: str
    parents: tuple[str, ...] = ()
    delta: tuple[Gene, ...] = ()
    generation: int = 0


@dataclass(frozen=True)
class Outcome:
    """One finished proposal, written in one transaction: variant, all its evaluations, lineage.

    Attributes:
        speedup: Weighted geometric mean over tuned sizes against the campaign's baseline; None if it failed.
        predicted: What the surrogate said (log2 of the speed-up), or None.
        forced: True if it passed by the epsilon share.
        cached: True if the timings were looked up and not measured.
    """

    variant: Variant
    evaluations: tuple[Evaluation, ...]
    checks: tuple[Evaluation, ...]
    lineage: Lineage
    speedup: float | None
    predicted: float | None = None
    forced: bool = False
    cached: bool = False


@dataclass(frozen=True)
class Prior:
    """A remembered optimum: the genome, where it was measured and what it gained there.

    Attributes:
        distance: 0 for the same kernel, device and size; grows with the difference of their features.
        why: One sentence for a person ("same kernel on this device at M=512").
        promise: log2 of the speed-up to expect here: the gain there, less with every step away from it
            (``knowledge.similarity.carried_over``); None where nothing is known of the steps.
        proven: True if ``speedup`` is that of a final comparison in fresh processes.
    """

    genome: Genome
    kernel: str
    kernel_digest: str
    device: str
    toolchain: str
    size: str
    best_ms: float
    baseline_ms: float
    speedup: float
    variant: str
    distance: float
    why: str
    agent: str = ""
    recorded: str = ""
    promise: float | None = None
    proven: bool = False


@dataclass(frozen=True)
class CampaignRecord:
    """A campaign as it starts.

    Attributes:
        settings: The validated YAML as plain data.
        contract: Digest of what counts as right (reference, tolerance, inputs, check sizes). Outcomes that were judged
            by another contract are not looked up.
    """

    name: str
    kernel: KernelRecord
    device: DeviceInfo
    toolchain: Toolchain
    seed: int
    version: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    contract: str = ""


@dataclass(frozen=True)
class TrainingRow:
    """One row for the surrogate: features of (genome, kernel, size, device) and what came out.

    ``resources`` are what the compiler said; None where it was not asked, or found nothing to run.
    """

    genome: Genome
    kernel_features: tuple[float, ...]
    device_features: tuple[float, ...]
    size_features: tuple[float, ...]
    log2_speedup: float | None
    failed: bool
    same_kernel: bool
    same_device: bool
    resources: Resources | None = None

"""The result of a campaign: everything that reports, launchers and the command line need, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from evaluator.accounts import StageCost
from evaluator.api import Comparison
from evaluator.result import DeviceInfo, Evaluation, Profile, Toolchain
from genome.genes import Gene
from genome.variant import Variant


class StopReason(StrEnum):
    """Why the search ended."""

    EVALUATIONS = "evaluations"  # budget of fresh measurements spent
    MINUTES = "minutes"  # time spent
    PATIENCE = "patience"  # no better variant for that many measurements
    EXHAUSTED = "exhausted"  # agents propose nothing new any more
    INTERRUPTED = "interrupted"  # the user stopped it


@dataclass(frozen=True)
class GeneShare:
    """What one gene of the winner is worth, by leaving it out.

    Attributes:
        gene: The gene.
        words: The gene in words.
        speedup_with: Speed-up of the winner in the same measurement.
        speedup_without: Speed-up when only this gene is left out; None if that variant could not be measured.
        factor: speedup_with / speedup_without; None likewise.
        share: Its part of the sum of the logarithms of all factors above 1, 0..1.
        note: Why there is no figure, or what else fell out with it (a gene that acts on what this one made).
    """

    gene: Gene
    words: str
    speedup_with: float
    speedup_without: float | None = None
    factor: float | None = None
    share: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class HistoryPoint:
    """One finished proposal, for the convergence plot.

    Attributes:
        elapsed_s: Seconds since the start of the campaign.
        evaluation: Fresh measurements up to and with this one.
        speedup: Search estimate; None if it failed.
        best: Best speed-up so far.
        agent: Who proposed it.
        status: Status of the outcome (``ok``, ``wrong``, ...).
        variant: Digest.
        cached: True if it was looked up.
        predicted: log2 of the speed-up that the surrogate expected, or None.
        forced: True if it passed by the epsilon share.
    """

    elapsed_s: float
    evaluation: int
    speedup: float | None
    best: float
    agent: str
    status: str
    variant: str
    cached: bool = False
    predicted: float | None = None
    forced: bool = False


@dataclass(frozen=True)
class CreditPoint:
    """Share of the policy's choices that each agent would get after this many proposals; sums to 1."""

    proposals: int
    shares: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class AgentTally:
    """What an agent did in a campaign."""

    agent: str
    proposals: int
    measured: int
    gains: int  # better than their parents
    records: int  # new leader
    rejected: int
    duplicates: int


@dataclass(frozen=True)
class ArchiveEntry:
    """An elite of the archive: another shape that is good in its own way."""

    variant: Variant
    speedup: float
    agent: str
    behaviour: str  # "threads 256, instances 32, shared memory"
    evaluations: tuple[Evaluation, ...] = ()


@dataclass(frozen=True)
class Quarantined:
    """A variant that looked good and was thrown out, and why."""

    variant: Variant
    speedup: float
    agent: str
    reason: str


@dataclass(frozen=True)
class Counts:
    """Totals of a campaign (see ``ProgressSnapshot`` for the words)."""

    proposals: int = 0
    evaluations: int = 0
    pruned: int = 0
    rejected: int = 0
    duplicates: int = 0
    wrong: int = 0
    failed: int = 0
    cached: int = 0
    quarantined: int = 0


@dataclass(frozen=True)
class SurrogateReport:
    """How well a surrogate predicted in this campaign. Figures are None until there are enough rows.

    Attributes:
        rows: Rows of the last fit (base and campaign).
        fits: Number of fits.
        rank_correlation: Spearman, predicted before measuring against measured.
        recall_best_decile: Share of the best tenth among the epsilon share that it would have kept.
        pruned: Variants it discarded.
        forced: Variants that passed by the epsilon share.
        calibration: Share of measured speed-ups within one predicted standard deviation; 0.68 is perfect.
        saved_s: Seconds that the discarded ones would have taken on the device, at the mean of those measured.
    """

    rows: int = 0
    fits: int = 0
    rank_correlation: float | None = None
    recall_best_decile: float | None = None
    pruned: int = 0
    forced: int = 0
    calibration: float | None = None
    saved_s: float = 0.0


@dataclass(frozen=True)
class CampaignResult:
    """What a campaign found.

    Attributes:
        kernel, device, toolchain, seed: What was tuned, where.
        baseline: The untransformed kernel as a variant.
        best: The winner; the baseline itself if nothing beat it beyond the interval (``improved`` tells).
        comparison: Final proof of ``best`` in fresh processes (``processes`` 0 and speed-up 1 for the baseline, or when
            the proof was cut short: then ``verified`` is False and ``message`` says so).
        explanation: One row a gene of the winner, in the winner's order.
        alternatives: Up to a few other elites, best first, the winner left out.
        baseline_evaluations, best_evaluations: One a tuned size, from the search.
        profile_before, profile_after: (size label, Profile) at the tuned sizes.
        history, credit, agents: For the plots.
        surrogate, timing_surrogate: What was said before compiling, and after it.
        notes: Sentences for the user (what the base knew, what was quarantined, what was cut short).
        campaign_id: In the knowledge base; None without one.
        costs: What each stage of the evaluation cost, and threw out.
        phases: (phase, wall seconds) of this run, an earlier interrupted part left out.
        text_only: True if the parsed form of the kernel was not trusted, so that no gene touched the body.
    """

    kernel: str
    device: DeviceInfo
    toolchain: Toolchain
    seed: int
    baseline: Variant
    best: Variant
    best_agent: str
    improved: bool
    comparison: Comparison
    stop: StopReason
    explanation: tuple[GeneShare, ...] = ()
    alternatives: tuple[ArchiveEntry, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    baseline_evaluations: tuple[Evaluation, ...] = ()
    best_evaluations: tuple[Evaluation, ...] = ()
    profile_before: tuple[tuple[str, Profile], ...] = ()
    profile_after: tuple[tuple[str, Profile], ...] = ()
    history: tuple[HistoryPoint, ...] = ()
    credit: tuple[CreditPoint, ...] = ()
    agents: tuple[AgentTally, ...] = ()
    surrogate: SurrogateReport = field(default_factory=SurrogateReport)
    timing_surrogate: SurrogateReport = field(default_factory=SurrogateReport)
    counts: Counts = field(default_factory=Counts)
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    campaign_id: int | None = None
    costs: tuple[StageCost, ...] = ()
    phases: tuple[tuple[str, float], ...] = ()
    elapsed_s: float = 0.0
    text_only: bool = False

"""What the engine needs of a knowledge base, as a narrow protocol, and the memory of a campaign that wants none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evaluator.api import Comparison
from evaluator.result import DeviceInfo, Evaluation, Toolchain
from genome.genes import Genome
from genome.spec import ProblemSize
from genome.variant import Rejection
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome, Prior, TrainingRow
from knowledge.trust import SurrogateMetrics


class Stored(Protocol):
    """A finished proposal as the base gives it back."""

    @property
    def genome(self) -> Genome:
        """As it was applied."""

    @property
    def proposed(self) -> Genome:
        """As it was proposed."""

    @property
    def variant(self) -> str:
        """Digest."""

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """At the tuned sizes that were reached."""

    @property
    def checks(self) -> tuple[Evaluation, ...]:
        """At the check sizes that were reached."""

    @property
    def lineage(self) -> Lineage:
        """Where it came from."""

    @property
    def speedup(self) -> float | None:
        """None if it failed."""

    @property
    def cached(self) -> bool:
        """True if the timings were looked up."""


class Memory(Protocol):
    """The experience database as a campaign uses it (``knowledge.spooled.SpooledBase``)."""

    def start_campaign(self, record: CampaignRecord, resume: bool) -> int:
        """Opens a campaign (or the last unfinished one like it) and returns its number."""

    def record(self, campaign: int, outcome: Outcome) -> None:
        """Stores a finished proposal in one transaction."""

    def prove(self, campaign: int, comparison: Comparison) -> None:
        """Stores the figures of a verified final comparison."""

    def reject(self, campaign: int, rejection: Rejection, lineage: Lineage) -> None:
        """Stores a genome that gave no variant."""

    def finish(self, campaign: int, summary: Mapping[str, Any]) -> None:
        """Closes the campaign."""

    def lookup(
        self, kernel_digest: str, device: DeviceInfo, toolchain: Toolchain, variant_digest: str, contract: str = ""
    ) -> tuple[Evaluation, ...]:
        """What was measured of this variant on this hardware and toolchain, and judged by this contract."""

    def outcomes(self, campaign: int) -> Sequence[Stored]:
        """Every finished proposal of a campaign, in order."""

    def priors(
        self, kernel: KernelRecord, device: DeviceInfo, toolchain: Toolchain, sizes: Sequence[ProblemSize], limit: int
    ) -> tuple[Prior, ...]:
        """Remembered optima, the most relevant first."""

    def training_rows(self, kernel: KernelRecord, device: DeviceInfo, limit: int) -> tuple[TrainingRow, ...]:
        """Experience for the surrogate."""

    def record_metrics(self, campaign: int, ordinal: int, metrics: SurrogateMetrics) -> None:
        """Stores how well the surrogate did up to a proposal."""

    def save_state(self, campaign: int, key: str, data: Mapping[str, Any]) -> None:
        """Stores plain data by key."""

    def load_state(self, campaign: int, key: str) -> Mapping[str, Any] | None:
        """What was stored by that key, or None."""

    def news(self) -> tuple[str, ...]:
        """Sentences for the user since the last call: that the base went away, or came back."""

    def settle(self) -> tuple[str, ...]:
        """At the end: waits a little for a base that is away; sentences on what it could not be given."""


@dataclass(frozen=True)
class NoMemory:
    """The memory of a campaign without a knowledge base: forgets everything, finds nothing."""

    empty: tuple[()] = field(default=())

    def start_campaign(self, record: CampaignRecord, resume: bool) -> int:
        """Every campaign is number 0."""
        return 0

    def record(self, campaign: int, outcome: Outcome) -> None:
        """Forgets it."""

    def prove(self, campaign: int, comparison: Comparison) -> None:
        """Forgets it."""

    def reject(self, campaign: int, rejection: Rejection, lineage: Lineage) -> None:
        """Forgets it."""

    def finish(self, campaign: int, summary: Mapping[str, Any]) -> None:
        """Nothing to close."""

    def lookup(
        self, kernel_digest: str, device: DeviceInfo, toolchain: Toolchain, variant_digest: str, contract: str = ""
    ) -> tuple[Evaluation, ...]:
        """Nothing is known."""
        return self.empty

    def outcomes(self, campaign: int) -> Sequence[Stored]:
        """Nothing was stored."""
        return self.empty

    def priors(
        self, kernel: KernelRecord, device: DeviceInfo, toolchain: Toolchain, sizes: Sequence[ProblemSize], limit: int
    ) -> tuple[Prior, ...]:
        """Nothing is remembered."""
        return self.empty

    def training_rows(self, kernel: KernelRecord, device: DeviceInfo, limit: int) -> tuple[TrainingRow, ...]:
        """No experience."""
        return self.empty

    def record_metrics(self, campaign: int, ordinal: int, metrics: SurrogateMetrics) -> None:
        """Forgets it."""

    def save_state(self, campaign: int, key: str, data: Mapping[str, Any]) -> None:
        """Forgets it."""

    def load_state(self, campaign: int, key: str) -> Mapping[str, Any] | None:
        """Nothing was stored."""
        return None

    def news(self) -> tuple[str, ...]:
        """Nothing happens to it."""
        return self.empty

    def settle(self) -> tuple[str, ...]:
        """Nothing waits."""
        return self.empty

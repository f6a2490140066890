"""What a campaign optimises, and the bounds that other measures must keep to meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from evaluator.result import Toolchain


class Kind(StrEnum):
    """What is measured of a call."""

    LATENCY = "latency"  # time of one call that is alone on the device
    THROUGHPUT = "throughput"  # calls a second while several are under way at once
    ENERGY = "energy"  # of a call, while calls follow one another


@dataclass(frozen=True)
class Objective:
    """What is optimised. Bounds hold at every tuned size, for variants only: the kernel as it is may break them.

    Attributes:
        kind: What is optimised.
        at_once: Calls that are under way together when throughput is measured, each with arrays of its own.
        latency_ms: Most milliseconds of a call that is alone; None for no bound.
        throughput: Least calls a second; None for no bound.
        energy_mj: Most millijoules of a call; None for no bound.
        meter: Measure the energy although nothing depends on it.
    """

    kind: Kind = Kind.LATENCY
    at_once: int = 4
    latency_ms: float | None = None
    throughput: float | None = None
    energy_mj: float | None = None
    meter: bool = False

    @property
    def timed_at_once(self) -> int:
        """Calls that are under way together in a timed run."""
        return self.at_once if self.kind is Kind.THROUGHPUT else 1

    @property
    def most_at_once(self) -> int:
        """Calls that are ever under way together."""
        return self.at_once if Kind.THROUGHPUT in (self.kind, *self.bounded) else 1

    @property
    def metered(self) -> bool:
        """True if energy has to be measured."""
        return self.meter or Kind.ENERGY in (self.kind, *self.bounded)

    @property
    def measures_more(self) -> bool:
        """True if something beside the time has to be measured or compared."""
        return self.metered or bool(self.bounded)

    @property
    def bounded(self) -> tuple[Kind, ...]:
        """Measures with a bound."""
        bounds = {Kind.LATENCY: self.latency_ms, Kind.THROUGHPUT: self.throughput, Kind.ENERGY: self.energy_mj}
        return tuple(kind for kind, bound in bounds.items() if bound is not None)

    @property
    def label(self) -> str:
        """How a timing of it differs from an ordinary one; empty for the latency of a call."""
        if self.kind is Kind.THROUGHPUT:
            return f"{self.at_once} calls at once"
        return "by energy" if self.kind is Kind.ENERGY else ""

    def keyed(self, toolchain: Toolchain) -> Toolchain:
        """The toolchain as timings of this objective are kept under: those of different ones stay apart."""
        return replace(toolchain, platform=f"{toolchain.platform}, {self.label}") if self.label else toolchain

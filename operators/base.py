"""What an agent is: a stateless author of genomes, called with parents, evidence and a random generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evaluator.result import Bottleneck, DeviceInfo, Evaluation, Profile
from genome.genes import Gene, Genome, ParamValue, Site
from genome.variant import Target
from knowledge.records import Prior


class NamedTransform(Protocol):
    """The one thing that agents read of a transform."""

    @property
    def name(self) -> str:
        """Name in genes."""


class MoveLike(Protocol):
    """A transform that may be applied at a site on top of a genome (``genome.moves.Move``).

    ``domain`` holds the values of each parameter that are worth proposing; ``current`` is the genome's own gene there.
    """

    @property
    def transform(self) -> NamedTransform:
        """The transform."""

    @property
    def site(self) -> Site:
        """Where."""

    @property
    def domain(self) -> Mapping[str, tuple[ParamValue, ...]]:
        """Values worth proposing, by parameter."""

    @property
    def current(self) -> Gene | None:
        """The gene of this transform and site that the genome already holds."""


class Moves(Protocol):
    """What applies on top of a genome; with ``only``, of the transforms of these names (which is much faster)."""

    def __call__(self, genome: Genome, only: frozenset[str] | None = None, /) -> tuple[MoveLike, ...]:
        """Moves in a fixed order."""


@dataclass(frozen=True)
class Parent:
    """A measured variant as agents see it.

    Attributes:
        genome: Genes as they were applied.
        variant: Digest.
        speedup: Against the baseline (weighted geometric mean over sizes).
        agent: Who proposed it.
        evaluations: One a tuned size.
        delta: Genes that its own parent did not have.
        gain: log2 of its speed-up over its own parent.
    """

    genome: Genome
    variant: str
    speedup: float
    agent: str = ""
    evaluations: tuple[Evaluation, ...] = ()
    delta: tuple[Gene, ...] = ()
    gain: float = 0.0

    @property
    def profile(self) -> Profile | None:
        """The profile at the size that takes longest, or None."""
        timed = [e for e in self.evaluations if e.profile is not None and e.timing is not None]
        return max(timed, key=lambda e: e.timing.median_ms if e.timing else 0.0).profile if timed else None

    @property
    def bottleneck(self) -> Bottleneck:
        """What limits it, at the size that takes longest."""
        profile = self.profile
        return profile.bottleneck if profile else Bottleneck.UNKNOWN


@dataclass(frozen=True)
class Suspect:
    """A measured genome whose result is doubted, and why."""

    genome: Genome
    variant: str
    reason: str


@dataclass(frozen=True)
class AgentContext:
    """What an agent may look at.

    Attributes:
        parents: Selected for this proposal; the first one is the main parent. Never empty.
        baseline: The untransformed kernel.
        elites: The best and the archive's elites, best first.
        priors: Remembered optima, best first.
        suspects: Results that wait for another look.
        kernel: Digest of the kernel, names left out.
        moves: What applies on top of a genome.
        proposed: True if this very genome was proposed before.
        wanted: How many genomes are asked for (more are ranked by the surrogate; fewer may come).
        remaining: Fresh measurements left, or None without a limit.
        guide: The most promising genome by a model of all configurations; None where they are no table.
        target: Language of the device.
        device: The hardware.
    """

    parents: tuple[Parent, ...]
    baseline: Parent
    moves: Moves
    proposed: Callable[[Genome], bool]
    target: Target
    device: DeviceInfo
    elites: tuple[Parent, ...] = ()
    priors: tuple[Prior, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    kernel: str = ""
    wanted: int = 1
    remaining: int | None = None
    guide: Callable[[], Genome | None] | None = None

    @property
    def parent(self) -> Parent:
        """The main parent."""
        return self.parents[0]


@dataclass(frozen=True)
class Proposal:
    """A genome to try.

    Attributes:
        genome: The genes; lowering trims what does not apply.
        agent: Name of the author.
        parents: Digests of the variants it came from.
        note: One phrase for a person.
        fresh: True if it must be measured whatever is known about it (champions, suspects).
        expected: Speed-up that an earlier campaign saw for it, elsewhere perhaps; 0 if none did.
    """

    genome: Genome
    agent: str
    parents: tuple[str, ...] = ()
    note: str = ""
    fresh: bool = False
    expected: float = 0.0


class Agent(Protocol):
    """An author of genomes. Implementations are frozen and keep no state: all they know is in the context."""

    @property
    def name(self) -> str:
        """Name in lineage, credit and reports."""

    def propose(self, context: AgentContext, rng: np.random.Generator) -> tuple[Proposal, ...]:
        """Genomes worth trying; empty if there is nothing to propose here. All chance comes from ``rng``."""

"""What the search knows at one moment: the one mutable object of a campaign."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from evaluator.result import Resources
from evo.archive import Archive
from evo.fitness import Fitness
from evo.ledger import Ledger
from evo.parts import Parts
from evo.population import Individual, Population
from evo.result import Quarantined
from evo.selection import select
from genome.genes import Genome
from genome.variant import Variant
from knowledge.records import Prior
from operators.base import AgentContext, Proposal, Suspect
from operators.credit import Credit


@dataclass(frozen=True)
class Candidate:
    """A proposal that gave a variant, on its way to the device.

    Attributes:
        proposal, variant: What is tried.
        bottleneck: Of the parent it was made for.
        parent: Its parent in the population (the baseline if it has none there).
        generation: Number of the proposal, from 1.
        predicted: log2 of the speed-up that the surrogate expects, or None.
        forced: True if it passed by the epsilon share.
        resources: What the compiler said; None before that, and where it says nothing.
        promise: Score by the surrogate that knows ``resources``, or None.
    """

    proposal: Proposal
    variant: Variant
    bottleneck: str
    parent: Individual
    generation: int
    predicted: float | None = None
    forced: bool = False
    resources: Resources | None = None
    promise: float | None = None

    @property
    def digest(self) -> str:
        """Digest of the variant."""
        return self.variant.digest()


@dataclass(frozen=True)
class Doubt:
    """A variant in quarantine. ``speedup`` is what it claims."""

    suspect: Suspect
    speedup: float
    individual: Individual


@dataclass
class SearchState:
    """Population, archive, credit, ledger, and the sets that keep work from being done twice."""

    rng: np.random.Generator
    fitness: Fitness
    baseline: Individual
    population: Population
    priors: tuple[Prior, ...] = ()
    archive: Archive = field(default_factory=Archive)
    ledger: Ledger = field(default_factory=Ledger)
    credit: Credit = field(default_factory=Credit)
    variants: set[str] = field(default_factory=set)  # digests that are measured or in flight
    genomes: set[str] = field(default_factory=set)  # digests of proposed genomes
    queue: deque[Proposal] = field(default_factory=deque)  # ahead of the agents: champions, openings, resumed work
    doubts: dict[str, Doubt] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)  # doubts that the verifier has been asked about
    crashed: dict[str, str] = field(default_factory=dict)  # crashed once -> what was measured before it
    quarantined: list[Quarantined] = field(default_factory=list)

    @property
    def leader(self) -> Individual:
        """The best so far, the baseline to begin with."""
        return self.archive.best or self.baseline


def context_of(state: SearchState, parts: Parts, wanted: int, remaining: int | None) -> AgentContext:
    """What the agents see now, with parents drawn by selection."""
    elites = [individual for _, individual in state.archive.elites]
    members = state.population.members or [state.baseline]
    chosen = select(members, elites, state.archive.best, 3, state.rng)
    view = {individual.digest: individual.parent for individual in (*state.archive.top, *elites)}
    open_doubts = [doubt.suspect for digest, doubt in state.doubts.items() if digest not in state.asked]
    return AgentContext(
        parents=tuple(individual.parent for individual in chosen),
        baseline=state.baseline.parent,
        moves=parts.moves,
        proposed=_proposed(state),
        target=parts.evaluator.target,
        device=parts.evaluator.device,
        elites=tuple(sorted(view.values(), key=lambda parent: (-parent.speedup, parent.variant))),
        priors=state.priors,
        suspects=tuple(open_doubts),
        kernel=parts.kernel.digest,
        wanted=wanted,
        remaining=remaining,
        guide=parts.guide.next if parts.guide is not None else None,
    )


def _proposed(state: SearchState) -> Callable[[Genome], bool]:
    return lambda genome: genome.digest() in state.genomes

"""The Transform protocol, and what a transform may look at beside the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from genome.genes import ParamValue, Site
from genome.ir.kernel import Kernel
from genome.ir.node import Node
from genome.limits import DeviceLimits
from genome.spec import Assumptions, KernelSpec
from genome.variant import Target

ALL_TARGETS = frozenset({Target.CUDA, Target.OPENCL})
MOST_PAD = 64
"""Elements that may be added to a row of a shared tile: as many as there are banks of two words."""


class Phase(IntEnum):
    """Fixed order in which genes run. Inside a phase the order of genes is part of the genome."""

    NORMALISE = 0  # rewrites of the user's own loops (promote an accumulator)
    MAPPING = 1  # digits of the parallel axes
    WARPS = 2  # the order of thread digits in the linear thread index
    GATHER = 3  # atomics of a block brought together
    JAM = 4  # instance loops distributed into the body
    LOOPS = 5  # strip-mining, unrolling
    STAGING = 6  # shared-memory tiles
    PIPELINE = 7  # copies of a tile started ahead of their use
    REGISTERS = 8  # values kept in privates
    VECTOR = 9  # wide accesses
    LAUNCH = 10  # qualifiers, options, macros, specialisation


@dataclass(frozen=True, eq=False)
class Context(Node):
    """What legality may depend on beside the kernel itself."""

    spec: KernelSpec
    target: Target
    limits: DeviceLimits

    @property
    def assumptions(self) -> Assumptions:
        """What the campaign grants."""
        return self.spec.assumptions


@dataclass(frozen=True)
class Refusal:
    """Why a gene does not apply, and which assumption of the campaign would grant it (empty if none would)."""

    reason: str
    grant: str = ""


Params = Mapping[str, ParamValue]


class Transform(Protocol):
    """A legal rewrite of a kernel. Implementations are stateless, and hashable: replays are remembered by them."""

    @property
    def name(self) -> str:
        """Name in genes."""

    @property
    def phase(self) -> Phase:
        """When it runs."""

    @property
    def targets(self) -> frozenset[Target]:
        """Languages it can be printed in."""

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """Where it could act in this kernel."""

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Values of each parameter that are worth proposing there, neutral ones left out."""

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """None if the rewrite is legal there, else why not."""

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """The rewritten kernel. Called only where ``check`` returned None."""

    def describe(self, site: Site, params: Params) -> str:
        """The gene in words, for ``changes.md``: "each thread computes 4 adjacent columns"."""

"""What lowering makes of a genome: a small program of memsets and launches, or a rejection."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from genome.genes import Gene, Genome
from genome.sizes import SizeExpr


class Target(StrEnum):
    """The language a variant is printed in."""

    CUDA = "cuda"
    OPENCL = "opencl"


@dataclass(frozen=True)
class GridAxis:
    """Blocks along one launch dimension: ceildiv(extent at the given sizes, tile)."""

    extent: SizeExpr
    tile: int = 1

    def blocks(self, sizes: Mapping[str, int]) -> int:
        """Number of blocks at these sizes (at least 1)."""
        return max(1, -(-self.extent.evaluate(sizes) // self.tile))


@dataclass(frozen=True)
class Launch:
    """One kernel launch. ``args`` names campaign arguments and scratch buffers in the order of the signature."""

    entry: str
    grid: tuple[GridAxis, GridAxis, GridAxis]
    block: tuple[int, int, int]
    args: tuple[str, ...]
    shared_bytes: SizeExpr = field(default_factory=lambda: SizeExpr("0"))
    static_shared_bytes: int = 0


@dataclass(frozen=True)
class Memset:
    """Fills an argument or scratch buffer with a byte value before the next step."""

    buffer: str
    value: int = 0


Step = Memset | Launch


@dataclass(frozen=True)
class Scratch:
    """A device buffer that the variant needs beside the arguments."""

    name: str
    dtype: str
    elements: SizeExpr


@dataclass(frozen=True)
class Guard:
    """When the variant is right. Outside of it the baseline runs.

    Attributes:
        conditions: Expressions of sizes that must all be true.
        alignments: (argument, bytes) that base pointers must be a multiple of.
    """

    conditions: tuple[SizeExpr, ...] = ()
    alignments: tuple[tuple[str, int], ...] = ()

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """True if every condition on sizes holds; alignment is the caller's to grant."""
        return all(condition.evaluate(sizes) for condition in self.conditions)


@dataclass(frozen=True)
class SkippedGene:
    """A proposed gene that did not apply, with the reason."""

    gene: Gene
    reason: str


@dataclass(frozen=True)
class Variant:
    """One printed form of the kernel.

    Attributes:
        kernel: Name of the KernelSpec.
        target: Language of ``source``.
        source: Complete text, prelude included.
        steps: What a call runs, in order; all of them are timed.
        scratch: Buffers that the steps need beside the arguments.
        guard: Condition under which the steps are right.
        options: Compile options, ``-D`` macros included.
        proposed: The genome as it was proposed.
        genome: The genome as it was applied (skipped genes left out).
        skipped: The genes that did not apply.
        unrolled: Estimated statements of a thread after unrolling.
    """

    kernel: str
    target: Target
    source: str
    steps: tuple[Step, ...]
    scratch: tuple[Scratch, ...] = ()
    guard: Guard = field(default_factory=Guard)
    options: tuple[str, ...] = ()
    proposed: Genome = field(default_factory=Genome)
    genome: Genome = field(default_factory=Genome)
    skipped: tuple[SkippedGene, ...] = ()
    unrolled: int = 0

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Launch))

    def digest(self) -> str:
        """First 16 hex digits of a SHA-256 over source, steps, scratch, guard, options and target (not the genome)."""
        parts = [self.target.value, self.source, repr(self.steps), repr(self.scratch), repr(self.guard),
                 list(self.options)]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Rejection:
    """A genome that gives no variant: limits, printing, or a restriction of the campaign.

    Attributes:
        genome: The proposed genome.
        reason: One sentence for a person.
        kind: ``limit``, ``restriction``, ``print`` or ``source``.
    """

    genome: Genome
    reason: str
    kind: str = "limit"

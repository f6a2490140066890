"""What ``evo-tune inspect`` found out about a kernel: plain records, ready to be printed, drawn or written as JSON.

Expressions are C text. Every ``line`` is one of the kernel's file, 0 where none is meant. The names of the fields are
the keys of the JSON (``docs/guide/inspect.md``): a field that changes its meaning makes another ``FORMAT``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from evo.inspection.facts import (
    AccessView,
    AliasView,
    ArgumentView,
    AxisView,
    BarrierView,
    BranchView,
    DependenceView,
    IdiomView,
    LoopView,
    OpaqueView,
    RaceView,
    ReuseView,
    WorkView,
)
from genome.genes import ParamValue

FORMAT = 1


class FindingKind(StrEnum):
    """What a finding is about, the most pressing first."""

    CORRECTNESS = "correctness"  # threads that surely race
    BLOCKED = "blocked"  # why little or nothing is offered
    GRANT = "grant"  # what an assumption would open
    MEMORY = "memory"  # how a warp touches memory
    ATOMIC = "atomic"  # threads that update the same elements
    REUSE = "reuse"  # elements that several threads or iterations read
    DOUBT = "doubt"  # a race, or a barrier that not all threads reach, which cannot be excluded
    OPAQUE = "opaque"  # text that is not looked into
    DIVERGENCE = "divergence"  # threads of a warp that part
    GOOD = "good"  # what is as it should be
    WORK = "work"  # bytes against operations
    OPTION = "option"  # what an assumption would open beside rewrites


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing, in a sentence or two.

    Attributes:
        kind: What it is about.
        text: Plain sentences.
        lines: Where it stands.
        suggests: What is offered for it, as ``transform@site``.
        grant: The assumption that would settle it, or empty.
    """

    kind: FindingKind
    text: str
    lines: tuple[int, ...] = ()
    suggests: tuple[str, ...] = ()
    grant: str = ""


@dataclass(frozen=True)
class KernelView:
    """Which kernel was looked at, and under what.

    Attributes:
        entry: Its name.
        path: Its file.
        campaign: The campaign file; empty for a bare kernel.
        line: Its first line.
        last_line: Its last line.
        target: ``cuda`` or ``opencl``.
        block: Threads along x, y, z.
        domain: Iterations along each axis; empty where the launch gives a grid.
        grid: Blocks along each axis, where the launch gives them.
        sizes: Labels of the sizes.
        assumed: What the campaign grants (``no_alias``, ``alignment 64``).
        geometry: Why no gene changes the launch geometry; empty where one may.
    """

    entry: str
    path: str
    campaign: str
    line: int
    last_line: int
    target: str
    block: tuple[int, ...]
    domain: tuple[str, ...]
    grid: tuple[str, ...]
    sizes: tuple[str, ...]
    assumed: tuple[str, ...]
    geometry: str = ""


@dataclass(frozen=True)
class SiteView:
    """A place that genes name, and its line."""

    label: str
    role: str
    line: int


@dataclass(frozen=True)
class Offer:
    """A transform that applies.

    Attributes:
        transform: Its name in genes.
        structural: True if it rewrites the body (not only launch, macros, qualifiers or options).
        what: What it does, at its first site with its first parameters.
        sites: Where.
        domain: Values of each parameter that pass its check on their own.
    """

    transform: str
    structural: bool
    what: str
    sites: tuple[SiteView, ...]
    domain: Mapping[str, tuple[ParamValue, ...]]


@dataclass(frozen=True)
class Later:
    """A transform that applies once others have run.

    Attributes:
        transform: Its name.
        sites: Where.
        after: Transforms that have to come first.
    """

    transform: str
    sites: tuple[SiteView, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class RefusedAt:
    """A transform, the label of the site at which it does not apply, and where that stands."""

    transform: str
    site: str
    line: int


@dataclass(frozen=True)
class Refusals:
    """One reason, and everything that it stands against.

    Attributes:
        reason: Why not.
        grant: The assumption that would lift it, or empty.
        moves: What it stands against.
        then: What stands in the way once the assumption is granted, or once another transform has run; empty where
            nothing does, or nothing helps.
    """

    reason: str
    grant: str
    moves: tuple[RefusedAt, ...]
    then: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grant:
    """An assumption that the campaign does not make, and what would apply if it did.

    Attributes:
        name: ``assume.no_alias``.
        how: As it stands in a campaign: ``assume: {no_alias: true}``.
        opens: ``transform@site`` that would apply at once.
        later: What would apply once other transforms have run.
    """

    name: str
    how: str
    opens: tuple[str, ...]
    later: tuple[Later, ...] = ()


@dataclass(frozen=True)
class Inspection:
    """Everything that the engine understood of one kernel, and what it would do with it.

    Attributes:
        missing: Headers of the user's own that were not found.
        unfilled: Variables of the file that a host fills and the kernel uses, and whose contents nobody gives.
        source: Text of the file (not part of the JSON).
    """

    kernel: KernelView
    guesses: tuple[str, ...]
    summary: tuple[str, ...]
    findings: tuple[Finding, ...]
    idioms: tuple[IdiomView, ...]
    arguments: tuple[ArgumentView, ...]
    accesses: tuple[AccessView, ...]
    reuse: tuple[ReuseView, ...]
    axes: tuple[AxisView, ...]
    loops: tuple[LoopView, ...]
    branches: tuple[BranchView, ...]
    barriers: tuple[BarrierView, ...]
    races: tuple[RaceView, ...]
    dependences: tuple[DependenceView, ...]
    aliases: tuple[AliasView, ...]
    work: WorkView
    opaque: tuple[OpaqueView, ...]
    offers: tuple[Offer, ...]
    later: tuple[Later, ...]
    refusals: tuple[Refusals, ...]
    grants: tuple[Grant, ...]
    missing: tuple[str, ...] = ()
    unfilled: tuple[str, ...] = ()
    source: str = field(repr=False, default="")

    def to_json(self) -> dict[str, Any]:
        """Plain data; see ``docs/guide/inspect.md`` for the keys."""
        data = asdict(self)
        del data["source"]
        return {"format": FORMAT, **data}

"""What ``evo-tune inspect`` found out about a kernel: plain records, ready to be printed, drawn or written as JSON.

Expressions are C text. Every ``line`` is one of the kernel's file, 0 where none is meant. The names of the fields are
the keys of the JSON (``docs/guide/inspect.md``): a field that changes its meaning makes another ``FORMAT``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from genome.analysis.proof import Proof
from genome.genes import ParamValue

FORMAT = 1


class FindingKind(StrEnum):
    """What a finding is about, the most pressing first."""

    CORRECTNESS = "correctness"  # a race, or a barrier that not all threads reach
    BLOCKED = "blocked"  # why little or nothing is offered
    GRANT = "grant"  # what an assumption would open
    MEMORY = "memory"  # how a warp touches memory
    ATOMIC = "atomic"  # threads that update the same elements
    REUSE = "reuse"  # elements that several threads or iterations read
    OPAQUE = "opaque"  # text that is not looked into
    DIVERGENCE = "divergence"  # threads of a warp that part
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
class IdiomView:
    """A recognised shape of computation."""

    name: str
    lines: tuple[int, ...]
    arrays: tuple[str, ...]
    proof: Proof


@dataclass(frozen=True)
class AccessView:
    """One access to an array.

    Attributes:
        array: Its name.
        line: Where the statement begins.
        mode: ``read``, ``write`` or ``atomic``.
        space: ``global``, ``shared``, ``private`` or ``file``.
        text: ``A[r * K + k]``.
        coalescing: ``broadcast``, ``contiguous``, ``strided``, ``indirect``, ``irregular``; empty for private arrays.
        stride: Elements between neighbouring threads; empty where it is not fixed.
        sectors: 32-byte sectors that one access of a full warp touches; None where that is not known.
        ideal_sectors: The same if the warp's elements were neighbours.
        loops: Site labels of the loops around it, outermost first.
        guards: Conditions around it, those that bound an axis left out.
        bytes_a_thread: Bytes that a thread moves by it.
        proof: What the index form rests on, or why there is none.
        coalescing_proof: The same for the class.
    """

    array: str
    line: int
    mode: str
    space: str
    text: str
    coalescing: str
    stride: str
    sectors: int | None
    ideal_sectors: int | None
    loops: tuple[str, ...]
    guards: tuple[str, ...]
    bytes_a_thread: str
    proof: Proof
    coalescing_proof: Proof | None


@dataclass(frozen=True)
class ReuseView:
    """How often accesses to the same elements of an array are made over a loop, or over the threads of a block."""

    array: str
    lines: tuple[int, ...]
    over: str
    accesses: str
    elements: str
    factor: float | None
    proof: Proof


@dataclass(frozen=True)
class ArgumentView:
    """One argument of the kernel.

    Attributes:
        name: In the signature.
        type: Element type for an array.
        array: True for a pointer.
        use: ``read``, ``written``, ``read and written``, ``updated atomically`` or ``not touched``; ``value`` for a
            scalar.
        extents: Shape as the campaign gives it.
        accesses: Of an array, in program order.
    """

    name: str
    type: str
    array: bool
    use: str
    extents: tuple[str, ...]
    accesses: tuple[AccessView, ...] = ()


@dataclass(frozen=True)
class AxisView:
    """A parallel axis: the variable that holds a global index.

    Attributes:
        name: The variable.
        dimension: ``x``, ``y`` or ``z``.
        line: Where it is declared.
        lower: Inclusive bound of the kernel's own guard, or empty.
        upper: Exclusive bound of the kernel's own guard, or empty.
        extent: Iterations along it in the campaign.
        threads: Threads of a block along it.
        index: The variable in terms of its digits.
    """

    name: str
    dimension: str
    line: int
    lower: str
    upper: str
    extent: str
    threads: int
    index: str


@dataclass(frozen=True)
class LoopView:
    """A loop.

    Attributes:
        site: Its label in genes.
        role: Its role in genes (``reduction[0]``).
        line: Where its ``for`` stands.
        trips: Number of iterations, or empty.
        trips_at: The same at each size where it is known.
        reductions: Scalars that it only adds to (or takes extremes of, ...).
        independent: Why its iterations may run in any order, those reductions aside, or why not.
        offers: Transforms that apply to it.
    """

    site: str
    role: str
    line: int
    trips: str
    trips_at: Mapping[str, int]
    reductions: tuple[str, ...]
    independent: Proof
    offers: tuple[str, ...] = ()


@dataclass(frozen=True)
class BranchView:
    """A condition, and the widest group of threads (``warp``, ``block``, ``grid``) that agrees on it."""

    line: int
    kind: str
    condition: str
    uniformity: str
    proof: Proof


@dataclass(frozen=True)
class BarrierView:
    """A barrier of the block, and why all its threads reach it."""

    line: int
    proof: Proof


@dataclass(frozen=True)
class RaceView:
    """Two accesses to a shared array with no barrier between."""

    array: str
    lines: tuple[int, int]
    hazard: str
    proof: Proof


@dataclass(frozen=True)
class DependenceView:
    """An order that must be kept between iterations of ``loop`` (or, where it is empty, between threads)."""

    name: str
    lines: tuple[int, int]
    hazard: str
    loop: str
    distance: int | None
    proof: Proof


@dataclass(frozen=True)
class AliasView:
    """Two arrays, and why they do not overlap, or might."""

    arrays: tuple[str, str]
    proof: Proof


@dataclass(frozen=True)
class WorkAt:
    """Work of one thread at one size, in numbers."""

    size: str
    bytes: float
    flops: float
    flops_a_byte: float


@dataclass(frozen=True)
class WorkView:
    """What one thread moves and computes as written, caches aside."""

    bytes_read: str
    bytes_written: str
    flops: str
    at: tuple[WorkAt, ...]
    proof: Proof


@dataclass(frozen=True)
class OpaqueView:
    """Text that is not looked into: nothing moves across it."""

    line: int
    text: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    barrier: bool
    why: str


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
    """A transform and the site at which it does not apply.

    Attributes:
        transform: Its name.
        site: Label of the site.
        line: Where that stands.
        even_then: Why it would not apply if the assumption were granted; empty if it would.
    """

    transform: str
    site: str
    line: int
    even_then: str = ""


@dataclass(frozen=True)
class Refusals:
    """One reason, and everything that it stands against."""

    reason: str
    grant: str
    moves: tuple[RefusedAt, ...]


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
    source: str = field(repr=False, default="")

    def to_json(self) -> dict[str, Any]:
        """Plain data; see ``docs/guide/inspect.md`` for the keys."""
        data = asdict(self)
        del data["source"]
        return {"format": FORMAT, **data}

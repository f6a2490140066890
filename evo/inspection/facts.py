"""Facts about a kernel as records of text and numbers. Field names are keys of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genome.analysis.proof import Proof


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
        use: ``read``, ``written``, ``read and written``, ``updated atomically`` or ``not touched``, and whether text
            that is not read uses it; ``value`` for a scalar.
        extents: Shape as the campaign gives it.
        accesses: Of an array, in program order.
        role: ``in``, ``out`` or ``inout``, as the campaign gives it or as it is guessed.
    """

    name: str
    type: str
    array: bool
    use: str
    extents: tuple[str, ...]
    accesses: tuple[AccessView, ...] = ()
    role: str = "in"


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
        trips: Number of iterations; empty where the bounds do not tell it.
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
    """What one thread moves and computes as written, caches aside; ``unseen`` says why some of it is not counted."""

    bytes_read: str
    bytes_written: str
    flops: str
    at: tuple[WorkAt, ...]
    proof: Proof
    unseen: str


@dataclass(frozen=True)
class OpaqueView:
    """Text that is not looked into: nothing moves across it; ``calls`` is the file's own function that it calls."""

    line: int
    text: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    barrier: bool
    why: str
    calls: str

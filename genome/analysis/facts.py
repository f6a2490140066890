"""What the engine knows about a kernel: plain records, each with its proof or its doubt.

``genome.analysis.analyse`` fills them. Expressions and polynomials are those of the IR; variables in them are scalar
parameters, axis variables, launch indices (``threadIdx.x``) and loop variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from genome.analysis.access import Access
from genome.analysis.count import Count
from genome.analysis.proof import Proof
from genome.analysis.uses import ArrayUse
from genome.ir.expr import Expr
from genome.ir.kernel import AtLeast
from genome.ir.stmt import LoopRole


class Uniformity(StrEnum):
    """Which threads agree on a value. Each class contains the ones before it."""

    GRID = "grid"
    BLOCK = "block"
    WARP = "warp"
    DIVERGENT = "divergent"


class BranchKind(StrEnum):
    """What a condition steers."""

    IF = "if"
    LOOP = "loop"  # the bounds of a loop
    GUARD = "guard"  # the bound of an axis


@dataclass(frozen=True)
class Branch:
    """A place where threads may part.

    Attributes:
        line: Where it stands.
        kind: If, loop bounds or the guard of an axis.
        condition: The condition; for a loop its upper bound.
        uniformity: The widest group of threads that is known to agree on it.
        proof: Why.
    """

    line: int
    kind: BranchKind
    condition: Expr
    uniformity: Uniformity
    proof: Proof


@dataclass(frozen=True)
class BarrierFact:
    """A block barrier; ``reached`` is the proof that all threads of a block come by equally often, or the doubt."""

    line: int
    reached: Proof


@dataclass(frozen=True)
class LoopFact:
    """A loop and what is known about the order of its iterations.

    Attributes:
        variable: Its variable, which is its site label.
        line: Where its ``for`` stands.
        role: What made it.
        trips: Number of iterations, where the bounds tell it; it may depend on axes and outer loops.
        independent: Why its iterations may run in any order (recognised reductions aside), or why not.
        reductions: Scalars that it only combines with new values.
    """

    variable: str
    line: int
    role: LoopRole
    trips: Count
    independent: Proof
    reductions: tuple[str, ...] = ()


class Hazard(StrEnum):
    """Order that must be kept between two accesses to one location."""

    FLOW = "flow"  # read after write
    ANTI = "anti"  # write after read
    OUTPUT = "output"  # write after write


@dataclass(frozen=True)
class Dependence:
    """An order between two accesses that a rewrite must keep.

    Attributes:
        name: Array or scalar.
        source_line: The access that comes first in program order.
        sink_line: The other one.
        hazard: Flow, anti or output.
        loop: The loop whose iterations it ties together; None where it ties threads together.
        distance: Iterations (or threads) between the two; None where it is not fixed.
        proof: Proven where the two certainly meet; doubted where that cannot be excluded, with the assumption that
            would exclude it.
    """

    name: str
    source_line: int
    sink_line: int
    hazard: Hazard
    loop: str | None
    distance: int | None
    proof: Proof


@dataclass(frozen=True)
class AliasFact:
    """Two pointer parameters, of which at least one is written; ``distinct`` says why they do not overlap, or not."""

    arrays: tuple[str, str]
    distinct: Proof


@dataclass(frozen=True)
class SharedRace:
    """Two accesses to a shared array by different threads with no barrier between, one of them a write.

    Attributes:
        array: The shared array.
        first_line: One access.
        second_line: The other; the same line for an access that races with itself.
        hazard: What the missing barrier leaves open.
        proof: Proven where two threads certainly meet, doubted where that cannot be excluded.
    """

    array: str
    first_line: int
    second_line: int
    hazard: Hazard
    proof: Proof


@dataclass(frozen=True)
class Reuse:
    """How often accesses of one shape touch the same elements.

    Attributes:
        array: The array.
        lines: Lines of the accesses of the group.
        over: Variable of a loop, or ``block`` for the threads of one block.
        accesses: Accesses made over it.
        elements: Elements touched by them; None where that is not known.
        proof: What the footprint rests on, or why there is none.
    """

    array: str
    lines: tuple[int, ...]
    over: str
    accesses: Count
    elements: Count | None
    proof: Proof


class IdiomName(StrEnum):
    """Shapes of computation that the engine recognises."""

    MAP = "map"
    ROW_REDUCTION = "row reduction"
    FULL_REDUCTION = "full reduction"
    CONTRACTION = "contraction"
    STENCIL = "stencil"
    PERMUTATION = "permutation"
    HISTOGRAM = "histogram"
    SCAN = "scan"
    ALL_PAIRS = "all pairs"


@dataclass(frozen=True)
class Idiom:
    """A recognised shape.

    Attributes:
        name: Which one; ``histogram`` stands for scatter-add as well.
        lines: Lines that it rests on.
        arrays: Arrays that it rests on, results first.
        proof: What was checked, and what was not.
    """

    name: IdiomName
    lines: tuple[int, ...]
    arrays: tuple[str, ...]
    proof: Proof


@dataclass(frozen=True)
class Work:
    """What one thread inside the axes' bounds moves and computes, as written (nothing is kept in a cache).

    Attributes:
        bytes_read: From global memory, atomics included.
        bytes_written: To global memory, atomics included.
        flops: Floating-point operations: ``+ - * /`` and calls count 1, a fused multiply-add 2.
        valid: Conditions under which the counts are exact (loops that run at least so often).
        proof: Proven where the counts are exact; doubted where they are an upper bound or a trip is unknown.
        unseen: Why something is not counted, so that there may be more; empty where nothing is left out.
    """

    bytes_read: Count
    bytes_written: Count
    flops: Count
    valid: tuple[AtLeast, ...]
    proof: Proof
    unseen: str = ""


@dataclass(frozen=True)
class OpaqueFact:
    """Text that the engine does not look into: first line, what it may read and write, and whether it may wait."""

    line: int
    text: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    barrier: bool


@dataclass(frozen=True)
class KernelFacts:
    """Everything that is known about one kernel.

    Attributes:
        entry: Its name.
        accesses: In program order; reads of a statement before its writes.
        loops: In program order.
        branches: In program order, guards of axes first.
        barriers: In program order.
        dependences: Between iterations and between threads.
        aliases: One for each pair of pointer parameters that matters.
        races: Of shared arrays.
        reuse: By array and loop, and by array over a block.
        idioms: What was recognised.
        work: Of one thread.
        opaque: Regions that are not looked into; facts about what they touch are doubted.
        uses: What happens to the array behind each pointer parameter.
    """

    entry: str
    accesses: tuple[Access, ...]
    loops: tuple[LoopFact, ...]
    branches: tuple[Branch, ...]
    barriers: tuple[BarrierFact, ...]
    dependences: tuple[Dependence, ...]
    aliases: tuple[AliasFact, ...]
    races: tuple[SharedRace, ...]
    reuse: tuple[Reuse, ...]
    idioms: tuple[Idiom, ...]
    work: Work
    opaque: tuple[OpaqueFact, ...]
    uses: tuple[ArrayUse, ...]

"""Records of array accesses: index forms, coalescing, and what stands around each access."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from genome.analysis.count import Count
from genome.analysis.proof import Proof
from genome.ir.expr import Expr
from genome.ir.poly import Poly


class VariableKind(StrEnum):
    """What an index runs over."""

    AXIS = "axis"  # a global index: blockIdx * blockDim + threadIdx
    THREAD = "thread"  # threadIdx.x
    BLOCK = "block"  # blockIdx.x
    LOOP = "loop"


@dataclass(frozen=True)
class AffineTerm:
    """``coefficient * variable``; the coefficient is free of variables (sizes and numbers only)."""

    variable: str
    kind: VariableKind
    coefficient: Poly


@dataclass(frozen=True)
class AffineForm:
    """``constant + sum of terms``: an index in elements. No two terms have the same variable, no coefficient is zero.

    Attributes:
        constant: What does not depend on a variable; sizes may occur in it.
        terms: In order of first use.
    """

    constant: Poly
    terms: tuple[AffineTerm, ...] = ()

    def coefficient(self, variable: str) -> Poly:
        """The coefficient of the variable; zero where it does not occur."""
        return next((term.coefficient for term in self.terms if term.variable == variable), Poly())


class AccessMode(StrEnum):
    """What is done to an element. ``a[i] += x`` is a read and a write."""

    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"


class MemorySpace(StrEnum):
    """Where an array lives."""

    GLOBAL = "global"  # behind a pointer parameter
    SHARED = "shared"
    PRIVATE = "private"  # local to a thread
    FILE = "file"  # __constant__ or __device__ array of the file
    UNKNOWN = "unknown"  # behind a pointer or reference that opaque text declares: it may be any array


class CoalescingClass(StrEnum):
    """What neighbouring threads of a warp touch in one execution of the access."""

    BROADCAST = "broadcast"  # the same element
    CONTIGUOUS = "contiguous"  # elements next to each other (stride 1 or -1)
    STRIDED = "strided"  # elements a fixed stride apart
    INDIRECT = "indirect"  # wherever a loaded value says
    IRREGULAR = "irregular"  # an expression of the thread index that is not affine


@dataclass(frozen=True)
class Coalescing:
    """How a warp's threads touch memory.

    Attributes:
        kind: The class.
        stride: Elements between neighbouring threads; None where it is not fixed.
        proof: Why.
    """

    kind: CoalescingClass
    stride: Poly | None
    proof: Proof


@dataclass(frozen=True)
class Guard:
    """A condition around a statement.

    Attributes:
        condition: As in the IR.
        holds: False inside its ``else``.
        line: Where it stands.
    """

    condition: Expr
    holds: bool
    line: int


@dataclass(frozen=True)
class Access:
    """One access to an array element in the text of the kernel.

    Attributes:
        array: Name of the array or pointer parameter.
        line: Where the statement begins.
        mode: Read, write or atomic.
        space: Where the array lives.
        element_bytes: Bytes of an element; 0 where the type is not known.
        subscripts: As in the IR.
        form: Index in elements of the array (row-major over declared dimensions); None where it is not affine.
        proof: What the form rests on, or why there is none.
        coalescing: How a warp touches it; None for private arrays.
        loops: Variables of the counted loops around it, outermost first.
        guards: Conditions around it, outermost first; those that bound an axis are left out.
        bytes_a_thread: Bytes that one thread moves by it, as if every guard held.
        statement: Position of its statement in ``flatten(kernel.prologue + kernel.body)``.
        uncounted: True inside a loop whose turns nothing counts: one iteration of ``loops`` may make it several times.
    """

    array: str
    line: int
    mode: AccessMode
    space: MemorySpace
    element_bytes: int
    subscripts: tuple[Expr, ...]
    form: AffineForm | None
    proof: Proof
    coalescing: Coalescing | None
    loops: tuple[str, ...]
    guards: tuple[Guard, ...]
    bytes_a_thread: Count
    statement: int
    uncounted: bool = False

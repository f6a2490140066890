"""What a run of the interpreter is given, and what it writes down."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from genome.ir.expr import Index
from genome.ir.stmt import Stmt
from tests.interpret.c_values import Number, Type

Point = tuple[int, int, int]
"""x, y, z."""
Iteration = tuple[tuple[str, int], ...]
"""Values of the enclosing loops' variables, outermost first; the turn of a loop that has none."""


class OutOfBounds(Exception):
    """An access outside its array."""


class Diverged(Exception):
    """Threads of a block wait at different barriers, or some never come by."""


@dataclass(frozen=True, slots=True)
class Access:
    """One access of one element.

    Attributes:
        array: Name that the kernel uses for it.
        memory: What lies behind the name; parameters that overlap share it.
        element: Position in ``memory``.
        kind: ``r``, ``w`` or ``a`` (atomic).
        block, thread: Who.
        phase: Barriers that the thread has passed.
        loops: The iteration.
        site: Position of the statement in ``flatten`` of prologue and body.
        node: The expression that names the element.
        order: Time.
    """

    array: str
    memory: str
    element: int
    kind: str
    block: Point
    thread: Point
    phase: int
    loops: Iteration
    site: int
    node: Index | None
    order: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Value of an If's condition, trip count of a Loop, or what was assigned to a watched local."""

    site: int
    name: str
    value: Number
    block: Point
    thread: Point
    phase: int
    loops: Iteration


class Pointer(NamedTuple):
    """An address: an element of an array."""

    memory: Memory
    element: int


@dataclass
class Memory:
    """An array with the type of its elements."""

    name: str
    kind: Type
    data: list[Number]
    seen: bool = True


@dataclass
class Trace:
    """What a run did.

    Attributes:
        statements: The kernel's statements by site.
        accesses, conditions, values: In the order of time.
        flops: Floating-point operations of each (block, thread); fused ones count as two.
        diverged: True if the threads of a block came to different barriers.
        arrays: Contents of the argument arrays after the run.
    """

    statements: tuple[Stmt, ...]
    accesses: list[Access] = field(default_factory=list)
    conditions: list[Outcome] = field(default_factory=list)
    values: list[Outcome] = field(default_factory=list)
    flops: Counter[tuple[Point, Point]] = field(default_factory=Counter)
    diverged: bool = False
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass
class Thread:
    """One thread's state; ``leaving`` while it is on its way out of a loop that a break ended."""

    trace: Trace
    block: Point
    index: Point
    env: dict[str, Any]
    names: Mapping[str, Memory | Pointer]
    rng: random.Random
    phase: int = 0
    loops: list[tuple[str, int]] = field(default_factory=list)
    leaving: bool = False

    def touch(self, array: str, at: Pointer, kind: str, site: int, node: Index | None) -> None:
        """Checks and records an access."""
        memory, element = at
        if not 0 <= element < len(memory.data):
            raise OutOfBounds(f"{array}[{element}] of {len(memory.data)}")
        if memory.seen:
            self.trace.accesses.append(
                Access(array, memory.name, element, kind, self.block, self.index, self.phase, tuple(self.loops), site,
                       node, len(self.trace.accesses))
            )  # fmt: skip

    def outcome(self, site: int, name: str, value: Number) -> Outcome:
        """The value as a record."""
        return Outcome(site, name, value, self.block, self.index, self.phase, tuple(self.loops))


@dataclass(frozen=True)
class Launch:
    """How to run a kernel.

    Attributes:
        grid, block: Blocks and threads along x, y, z.
        arrays: Contents of pointer parameters.
        scalars: Values of the others.
        overlap: (parameter, other parameter, offset): the first points into the other's array.
        seed: Of the order of threads and blocks.
        shuffled: Loops whose iterations run in a random order.
        watched: Locals whose values are recorded.
        dynamic: Elements of a shared array without a size.
    """

    grid: Sequence[int]
    block: Sequence[int]
    arrays: Mapping[str, np.ndarray]
    scalars: Mapping[str, Number] = field(default_factory=dict)
    overlap: Sequence[tuple[str, str, int]] = ()
    seed: int = 0
    shuffled: frozenset[str] = frozenset()
    watched: frozenset[str] = frozenset()
    dynamic: int = 64

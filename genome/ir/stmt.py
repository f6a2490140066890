"""Immutable statements of the loop IR, and the functions that walk them.

A body is a tuple of statements. Private and shared arrays keep their dimensions until printing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain

from genome.ir.expr import Binary, Const, Expr, Index, base_name, handed, integer, names
from genome.ir.node import Node, once


class LoopRole(StrEnum):
    """What made a loop."""

    SEQUENTIAL = "sequential"  # written by the user
    INSTANCE = "instance"  # digit of a parallel axis: its iterations were threads, hence independent
    TILE = "tile"  # outer part of a strip-mined loop
    STRIP = "strip"  # inner part of a strip-mined loop, constant trip
    REMAINDER = "remainder"  # what strip-mining left over
    COOPERATIVE = "cooperative"  # the block copies a tile together
    GRID = "grid"  # a block stands for several blocks of the grid
    EXCHANGE = "exchange"  # threads store what others computed
    COMBINE = "combine"  # adds up what the threads of a group hold


class Space(StrEnum):
    """Where a declared variable lives."""

    PRIVATE = "private"
    SHARED = "shared"


@dataclass(frozen=True, eq=False)
class Stmt(Node):
    """Base of all statements.

    Attributes:
        line: Where the user wrote it; 0 for what a transform made. Tells no two statements apart.
    """

    line: int = field(default=0, compare=False, repr=False, kw_only=True)

    @once
    def inside(self) -> Body:
        """The statements right inside of it: of a loop's body, of both branches."""
        match self:
            case Loop(body=body) | Repeat(body=body):
                return body
            case If(then=then, orelse=orelse):
                return then + orelse
        return ()

    @once
    def _below(self) -> tuple[Stmt, ...]:
        return tuple(flatten(self.inside))

    @once
    def _expressions(self) -> tuple[Expr, ...]:
        match self:
            case Assign(target=target, value=value):
                return (target, value)
            case Loop(lower=lower, upper=upper):
                return (lower, upper)
            case Decl(init=init):
                return () if init is None else (init,)
            case If(condition=condition):
                return (condition,)
            case VectorLoad(targets=targets, source=source):
                return (*targets, source)
            case VectorStore(target=target, values=values):
                return (target, *values)
            case ExprStmt(value=value):
                return (value,)
        return ()

    @once
    def _names_inside(self) -> frozenset[str]:
        return used_names(self.inside)

    @once
    def _writes(self) -> tuple[Expr, ...]:
        match self:
            case Assign(target=target):
                return (target,)
            case VectorLoad(targets=targets):
                return targets
            case VectorStore(target=target, values=values):
                return adjacent(target, len(values))
        return ()

    @once
    def _handed(self) -> tuple[Expr, ...]:
        return tuple([place for expr in self._expressions for place in handed(expr)])

    @once
    def _written(self) -> tuple[str, ...]:
        if isinstance(self, Opaque):
            own = self.writes
        else:
            own = tuple([base_name(target) for target in (*self._writes, *self._handed)])
        return tuple(dict.fromkeys(chain(own, *[stmt._written for stmt in self.inside])))


@dataclass(frozen=True, eq=False)
class Loop(Stmt):
    """``for (ctype var = lower; var < upper; var += step) body``.

    Attributes:
        step: A positive constant.
        unroll: None for no pragma, 0 for full unrolling, n for ``#pragma unroll n``.
        origin: For a part of a loop that lanes share, the loop's name: a lane has the same elements in all loops over
            it, and nobody else's.
    """

    var: str
    lower: Expr
    upper: Expr
    body: tuple[Stmt, ...]
    step: int = 1
    role: LoopRole = LoopRole.SEQUENTIAL
    unroll: int | None = None
    ctype: str = "int"
    origin: str = ""

    @once
    def trip(self) -> int | None:
        """Number of iterations when it is a constant, else None."""
        if isinstance(self.lower, Const) and isinstance(self.upper, Const):
            low, high = self.lower.value, self.upper.value
            if low is not None and high is not None:
                return max(0, -(-(high - low) // self.step))
        return None


@dataclass(frozen=True, eq=False)
class Decl(Stmt):
    """``[__shared__] ctype name[dims] = init;``."""

    name: str
    ctype: str
    dims: tuple[int, ...] = ()
    init: Expr | None = None
    space: Space = Space.PRIVATE
    const: bool = False


@dataclass(frozen=True, eq=False)
class Assign(Stmt):
    """``target op value;`` with op one of ``= += -= *= /= ...``; the target is a Var, an Index or a Member."""

    target: Expr
    value: Expr
    op: str = "="


@dataclass(frozen=True, eq=False)
class If(Stmt):
    """``if (condition) then else orelse``."""

    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True, eq=False)
class Repeat(Stmt):
    """``while (true) body``: a loop that ``Break`` alone ends, since nothing counts its turns.

    ``while (c) body`` is a Repeat of ``if (c) body else break;``. It turns at least once, and how often is not known.
    """

    body: tuple[Stmt, ...]

    @once
    def exits(self) -> tuple[Expr, ...]:
        """The conditions that decide whether it turns again: those around its breaks."""
        return tuple(dict.fromkeys(_deciding(self.body)))


@dataclass(frozen=True, eq=False)
class Break(Stmt):
    """``break;`` out of the innermost Repeat: always the last statement on its path through that body.

    So no statement of the body is skipped by it: what follows it in the source stands in the other branch.
    """


@dataclass(frozen=True, eq=False)
class Barrier(Stmt):
    """``__syncthreads()``."""


@dataclass(frozen=True, eq=False)
class VectorLoad(Stmt):
    """``targets[0..w-1] = source[0..w-1]`` as one wide access; ``source`` is the first of w adjacent elements."""

    targets: tuple[Expr, ...]
    source: Index


@dataclass(frozen=True, eq=False)
class VectorStore(Stmt):
    """``target[0..w-1] = values[0..w-1]`` as one wide access; ``target`` is the first of w adjacent elements."""

    target: Index
    values: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class ExprStmt(Stmt):
    """A call for its effect: ``atomicAdd(&h[i], 1);``."""

    value: Expr


@dataclass(frozen=True, eq=False)
class Opaque(Stmt):
    """Original text that the engine does not look into: it gates transforms, not parsing.

    Attributes:
        text: C source of one or more statements, printed as it is.
        reads: Names it reads, arrays included.
        writes: Names it writes, arrays included.
        barrier: True if it may hold a barrier or leave the kernel.
        declares: Names it declares at its own top level.
    """

    text: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    barrier: bool = False
    declares: tuple[str, ...] = ()


Body = tuple[Stmt, ...]


def flatten(body: Body) -> Iterator[Stmt]:
    """Every statement, parents first, in program order."""
    found: list[Stmt] = []
    for stmt in body:
        found.append(stmt)
        found += stmt._below
    return iter(found)


def _deciding(body: Body) -> Iterator[Expr]:
    """Conditions around the breaks that leave the body."""
    for stmt in body:
        if isinstance(stmt, If) and leaves(stmt.inside):
            yield stmt.condition
            yield from _deciding(stmt.inside)


def leaves(body: Body) -> bool:
    """True if a Break of the body itself, not of a loop inside of it, stands in it."""
    return any(isinstance(stmt, Break) or (isinstance(stmt, If) and leaves(stmt.inside)) for stmt in body)


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of the statement itself, not those of nested statements."""
    return stmt._expressions


def used_names(body: Body) -> frozenset[str]:
    """Every name that the statements declare or use, nested ones included."""
    found: set[str] = set()
    for stmt in body:
        for expr in stmt._expressions:
            found.update(names(expr))
        match stmt:
            case Loop(var=name):
                found.add(name)
                found |= stmt._names_inside
            case If() | Repeat():
                found |= stmt._names_inside
            case Decl(name=name):
                found.add(name)
            case Opaque(reads=reads, writes=writes, declares=declares):
                found.update(reads, writes, declares)
    return frozenset(found)


def writes(stmt: Stmt) -> tuple[Expr, ...]:
    """What the statement itself writes: Var, Index or Member targets."""
    return stmt._writes


def handed_places(stmt: Stmt) -> tuple[Expr, ...]:
    """Variables and elements whose address the statement itself gives to calls: they may be written, or not."""
    return stmt._handed


def written_names(body: Body) -> tuple[str, ...]:
    """Names of variables and arrays that the body writes or may write (opaque regions, calls), in order."""
    return tuple(dict.fromkeys(chain.from_iterable([stmt._written for stmt in body])))


def adjacent(first: Index, count: int) -> tuple[Index, ...]:
    """So many elements of an array from the first one on."""
    *outer, last = first.subscripts
    return tuple(Index(first.array, (*outer, _plus(last, lane))) for lane in range(count))


def _plus(expr: Expr, lane: int) -> Expr:
    return expr if lane == 0 else Binary("+", expr, integer(lane))

"""Statements of asynchronous copies from memory to shared arrays."""

from __future__ import annotations

from dataclasses import dataclass

from genome.ir.expr import Expr, Index
from genome.ir.node import once
from genome.ir.stmt import Assign, Stmt, adjacent


@dataclass(frozen=True, eq=False)
class AsyncCopy(Assign):
    """``width`` adjacent elements of a shared array become those of memory, at the latest when the thread has waited.

    Target and value are the first ones. An assignment to everyone who does not ask when it happens.
    """

    width: int = 1

    @property
    def array(self) -> str:
        """The shared array."""
        assert isinstance(self.target, Index)
        return self.target.array

    @once
    def _writes(self) -> tuple[Expr, ...]:
        assert isinstance(self.target, Index)
        return adjacent(self.target, self.width)


@dataclass(frozen=True, eq=False)
class AsyncCommit(Stmt):
    """The asynchronous copies since the last one become a group, which may be empty."""


@dataclass(frozen=True, eq=False)
class AsyncWait(Stmt):
    """The thread waits until no more than the latest ``pending`` of its groups of copies are under way."""

    pending: int = 0

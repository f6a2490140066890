"""Proofs and doubts: how far a fact about a kernel may be trusted, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """How far a statement about the kernel may be trusted."""

    PROVEN = "proven"  # follows from the source
    ASSUMED = "assumed"  # follows from the source and an assumption that the campaign grants
    DOUBTED = "doubted"  # could not be proven


@dataclass(frozen=True)
class Proof:
    """Why a fact holds, or why it is not known to hold.

    Attributes:
        standing: Proven, assumed or doubted.
        reason: One clause in plain words, without a full stop.
        line: The line of the user's file that decides; 0 where none does.
        grant: The campaign's name of the assumption that it rests on (assumed) or that would settle it (doubted), such
            as ``assume.no_alias``; empty where there is none.
    """

    standing: Standing
    reason: str
    line: int = 0
    grant: str = ""

    @property
    def holds(self) -> bool:
        """True unless it is doubted."""
        return self.standing is not Standing.DOUBTED


def proven(reason: str, line: int = 0) -> Proof:
    """A proof from the source alone."""
    return Proof(Standing.PROVEN, reason, line)


def assumed(reason: str, grant: str, line: int = 0) -> Proof:
    """A proof that rests on an assumption of the campaign."""
    return Proof(Standing.ASSUMED, reason, line, grant)


def doubted(reason: str, line: int = 0, grant: str = "") -> Proof:
    """A doubt, with the assumption that would settle it if there is one."""
    return Proof(Standing.DOUBTED, reason, line, grant)

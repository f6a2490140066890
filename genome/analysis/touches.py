"""Which pointer parameters a body reads and writes, atomics included, and where two bodies must be kept apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from genome.analysis.effects import reads_of
from genome.ir.expr import Call, Index, Unary, calls, names
from genome.ir.print_functions import ATOMICS, PURE
from genome.ir.stmt import Body, ExprStmt, Opaque, expressions, flatten, writes


@dataclass(frozen=True)
class Touches:
    """Arrays that are read, and arrays that are written (or may be)."""

    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()

    def __or__(self, other: Touches) -> Touches:
        return Touches(self.read | other.read, self.written | other.written)

    def conflicts(self, other: Touches, no_alias: bool) -> bool:
        """True if one writes what the other touches; with overlapping arrays any write meets any access."""
        if no_alias:
            return bool(self.written & (other.read | other.written) or self.read & other.written)
        busy, others = bool(self.read or self.written), bool(other.read or other.written)
        return bool(self.written and others) or (busy and bool(other.written))

    def exchanges(self, other: Touches, no_alias: bool) -> bool:
        """True if one writes what the other reads."""
        if no_alias:
            return bool(self.written & other.read or self.read & other.written)
        return bool(self.written and other.read) or bool(self.read and other.written)


def atomic_target(call: Call) -> str:
    """Name of the array that an atomic updates: of ``&h[i]``, or of the pointer ``h`` (``h + i``) itself."""
    return names(call.args[0])[0] if call.args and names(call.args[0]) else ""


def surely_written(body: Body) -> frozenset[str]:
    """Variables and arrays that plain statements and atomics write; what else unread text may write is left out."""
    found: set[str] = set()
    for stmt in flatten(body):
        found |= {name for target in writes(stmt) for name in names(target)[:1]}
        found |= {atomic_target(call) for expr in expressions(stmt) for call in calls(expr) if call.function in ATOMICS}
    return frozenset(found)


@lru_cache(maxsize=8192)
def touches(body: Body, pointers: frozenset[str]) -> Touches:
    """What a body does to the arrays behind pointer parameters.

    An atomic writes its target (nothing else may see the order of updates); a call of an unknown function writes all
    that it is given.
    """
    read: set[str] = set()
    written: set[str] = set()
    for stmt in flatten(body):
        mine = {access.array for access in reads_of(stmt)}
        written |= {target.array for target in writes(stmt) if isinstance(target, Index)}
        if isinstance(stmt, Opaque):
            mine |= set(stmt.reads)
            written |= set(stmt.writes)
        for node in (call for expr in expressions(stmt) for call in calls(expr)):
            if node.function in ATOMICS:
                written.add(atomic_target(node))
                if isinstance(stmt, ExprStmt) and stmt.value == node and atomic_target(node) not in _others(node):
                    mine.discard(atomic_target(node))
            elif node.function not in PURE:
                written |= set(names(node))
        read |= mine
    return Touches(frozenset(read) & pointers, frozenset(written) & pointers)


def _others(call: Call) -> set[str]:
    """Names that an atomic uses beside its target."""
    target = call.args[0].operand if isinstance(call.args[0], Unary) else call.args[0]
    inside = target.subscripts if isinstance(target, Index) else ()
    return {name for expr in (*inside, *call.args[1:]) for name in names(expr)}

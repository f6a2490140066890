"""Scalars that one iteration of a loop hands to the next, or writes over what the one before left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genome.analysis.facts import Dependence, Hazard
from genome.analysis.proof import Proof, doubted, proven
from genome.analysis.reductions import NotAReduction, carried_scalars, find_reductions
from genome.ir.expr import Index, Var, base_name, names
from genome.ir.stmt import (
    Assign,
    Body,
    Decl,
    If,
    Loop,
    Opaque,
    Repeat,
    Stmt,
    VectorLoad,
    expressions,
    flatten,
    handed_places,
    writes,
)


def scalar_dependences(loop: Loop, types: Mapping[str, str]) -> tuple[Dependence, ...]:
    """One fact for each scalar of a thread that the loop writes and does not declare.

    Args:
        loop: The loop.
        types: Canonical type of every name.
    """
    found = []
    for name in written_scalars(loop.body):
        seen = _Reach(name)
        seen.body(loop.body, False)
        first = next((stmt.line for stmt in flatten(loop.body) if name in _written(stmt)), loop.line)
        if seen.exposed is None:
            proof = proven(f"every iteration sets {name} again before it uses it", first)
            found.append(Dependence(name, first, first, Hazard.OUTPUT, loop.var, 1, proof))
        else:
            found.append(Dependence(name, first, seen.exposed, Hazard.FLOW, loop.var, 1, _carried(loop, name, types)))
    return tuple(found)


def written_scalars(body: Body) -> tuple[str, ...]:
    """Scalars that the body writes and does not declare, those in text that is not looked into included."""
    plain = carried_scalars(body)
    opaque = (name for stmt in flatten(body) if isinstance(stmt, Opaque) for name in stmt.writes)
    loaded = (t.name for s in flatten(body) if isinstance(s, VectorLoad) for t in s.targets if isinstance(t, Var))
    own = {stmt.name for stmt in flatten(body) if isinstance(stmt, Decl)}
    given = (name for stmt in flatten(body) for name in _given(stmt))
    return tuple(dict.fromkeys((*plain, *opaque, *(name for name in (*loaded, *given) if name not in own))))


def _carried(loop: Loop, name: str, types: Mapping[str, str]) -> Proof:
    try:
        (reduction,) = find_reductions(loop.body, (name,), types)
    except (NotAReduction, KeyError):
        text = any(isinstance(stmt, Opaque) and name in (*stmt.reads, *stmt.writes) for stmt in flatten(loop.body))
        if text:
            return doubted(f"{name} is used in text that is not looked into", loop.line)
        if any(stmt.inside and name in _within(stmt) for stmt in loop.body):
            return doubted(f"{name} may keep the value of the iteration before", loop.line)
        return proven(f"{name} is computed from its value in the iteration before", loop.line)
    return proven(f"{name} takes up a value in every iteration, in any order ({reduction.operator})", loop.line)


def _within(stmt: Stmt) -> set[str]:
    return {name for inner in flatten((stmt,)) for name in _written(inner)}


def _written(stmt: Stmt) -> set[str]:
    if isinstance(stmt, Opaque):
        return set(stmt.writes)
    return {target.name for target in writes(stmt) if isinstance(target, Var)} | _given(stmt)


def _given(stmt: Stmt) -> set[str]:
    """Scalars whose address a call gets."""
    return {base_name(place) for place in handed_places(stmt) if not isinstance(place, Index)}


@dataclass
class _Reach:
    """Whether a read of the scalar may see the value that the iteration began with; ``exposed`` is its line."""

    name: str
    exposed: int | None = None

    def body(self, body: Body, is_set: bool) -> bool:
        """Follows the body; returns whether the scalar is certainly set behind it."""
        for stmt in body:
            if not is_set and self.exposed is None and self._reads(stmt):
                self.exposed = stmt.line
            if isinstance(stmt, Loop):
                inside = self.body(stmt.body, is_set)
                is_set = is_set or (inside and bool(stmt.trip))
            elif isinstance(stmt, Repeat):
                is_set = self.body(stmt.body, is_set)  # it turns at least once, and breaks end its paths
            elif isinstance(stmt, If):
                branches = [self.body(part, is_set) for part in (stmt.then, stmt.orelse)]
                is_set = all(branches)
            elif self.name in _written(stmt) - _given(stmt) and not isinstance(stmt, Opaque):
                is_set = True
        return is_set

    def _reads(self, stmt: Stmt) -> bool:
        if isinstance(stmt, Opaque):
            return self.name in (*stmt.reads, *stmt.writes)
        if isinstance(stmt, Assign) and isinstance(stmt.target, Var):
            return self.name in names(stmt.value) or (stmt.op != "=" and stmt.target.name == self.name)
        if isinstance(stmt, VectorLoad):
            parts = (part for target in stmt.targets if isinstance(target, Index) for part in target.subscripts)
            return any(self.name in names(expr) for expr in (stmt.source, *parts))
        return any(self.name in names(expr) for expr in expressions(stmt))

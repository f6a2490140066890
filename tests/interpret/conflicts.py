"""What really conflicts in a run: pairs of accesses to one element whose order matters, as lines of the source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from genome.analysis.atomics import update_of
from genome.analysis.facts import Hazard
from tests.interpret.trace import Access, Trace


@dataclass(frozen=True)
class Conflict:
    """Two accesses of one element by name and lines; ``first`` is the one that the analysis calls the source."""

    array: str
    first: int
    second: int
    hazard: Hazard


def _hazard(first: Access, second: Access) -> Hazard:
    if first.kind == "r":
        return Hazard.ANTI
    return Hazard.FLOW if second.kind == "r" else Hazard.OUTPUT


def _matters(trace: Trace, first: Access, second: Access) -> bool:
    kinds = {first.kind, second.kind}
    if kinds == {"a"}:
        one, other = (update_of(trace.statements[access.site]) for access in (first, second))
        return one is None or other is None or one.kind != other.kind
    return kinds != {"r"}


def _conflict(trace: Trace, first: Access, second: Access) -> Conflict:
    lines = trace.statements[first.site].line, trace.statements[second.site].line
    return Conflict(first.array, *lines, _hazard(first, second))


def _in_order(trace: Trace, one: Access, other: Access) -> Conflict:
    """The pair in program order; within a statement reads come first."""
    first, second = sorted((one, other), key=lambda access: (access.site, access.kind != "r"))
    return _conflict(trace, first, second)


def shared_races(trace: Trace) -> set[Conflict]:
    """Accesses of shared arrays by different threads in one phase."""
    return {conflict for conflict, shared in _in_one_phase(trace) if shared}


def side_by_side(trace: Trace) -> set[Conflict]:
    """Accesses of any array by different threads of a block in one phase."""
    return {conflict for conflict, _ in _in_one_phase(trace)}


def _in_one_phase(trace: Trace) -> Iterable[tuple[Conflict, bool]]:
    groups: dict[object, list[Access]] = defaultdict(list)
    for access in trace.accesses:
        groups[access.memory, access.element, access.block, access.phase].append(access)
    for one, other in _pairs(groups.values()):
        if one.thread != other.thread and {one.kind, other.kind} not in ({"r"}, {"a"}):
            yield _in_order(trace, one, other), "@" in one.memory


def between_threads(trace: Trace) -> set[Conflict]:
    """Accesses of argument arrays by different threads of the launch, at whatever time."""
    groups: dict[object, list[Access]] = defaultdict(list)
    for access in trace.accesses:
        if "@" not in access.memory:
            groups[access.memory, access.element].append(access)
    return {_in_order(trace, one, other) for one, other in _pairs(groups.values())
            if (one.block, one.thread) != (other.block, other.thread) and _matters(trace, one, other)}  # fmt: skip


def between_iterations(trace: Trace, loop: str) -> Mapping[Conflict, set[int]]:
    """Accesses of one thread in different iterations of a loop, outer loops being the same: with their distances."""
    groups: dict[object, list[tuple[int, Access]]] = defaultdict(list)
    for access in trace.accesses:
        names = [name for name, _ in access.loops]
        if loop in names:
            at = names.index(loop)
            who = access.block, access.thread, access.loops[:at]
            groups[who, access.memory, access.element].append((access.loops[at][1], access))
    found: dict[Conflict, set[int]] = defaultdict(set)
    for group in groups.values():
        unique = {(turn, access.site, access.kind): access for turn, access in group}
        for (early, _, _), first in unique.items():
            for (late, _, _), second in unique.items():
                if early < late and _matters(trace, first, second):
                    found[_conflict(trace, first, second)].add(late - early)
    return found


def _pairs(groups: Iterable[list[Access]]) -> Iterable[tuple[Access, Access]]:
    for group in groups:
        unique = list({(access.block, access.thread, access.kind, access.site): access for access in group}.values())
        yield from ((one, other) for number, one in enumerate(unique) for other in unique[number:])

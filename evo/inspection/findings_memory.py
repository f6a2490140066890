"""What a person should know of how a kernel uses global memory: scattered accesses, atomics, elements read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from evo.inspection.facts import AccessView, ReuseView
from evo.inspection.record import Finding, FindingKind, Inspection
from evo.inspection.words import at_lines, figure, known_lines, listed, spaced

_WORTH = 1.5  # reads of an element from which on reuse is worth a word


def memory_findings(seen: Inspection) -> Iterator[Finding]:
    """Accesses of global memory that scatter, the most wasteful first, then those that are well placed."""
    groups: dict[tuple[str, str, str, int | None], list[AccessView]] = {}
    hidden = {region.line for region in seen.opaque}
    for access in seen.accesses:
        address = access.text == access.array  # no element, the pointer itself: `if (p != 0)`
        if access.space == "global" and access.mode != "atomic" and access.line not in hidden and not address:
            groups.setdefault((access.array, access.mode, access.stride, access.sectors), []).append(access)
    rated = [(_waste(group, seen), group) for group in groups.values()]
    for waste, group in sorted(rated, key=lambda item: -item[0]):
        if waste > 0:
            yield _scattered(group, seen)
    unknown = [group for group in groups.values() if group[0].coalescing in ("indirect", "irregular")]
    for group in unknown:
        first, proof = group[0], group[0].coalescing_proof
        why = f": {proof.reason}" if proof else ""
        text = f"Where neighbouring threads {first.mode} {first.array} is not known ({_places(group)}){why}."
        yield Finding(FindingKind.MEMORY, text, known_lines(access.line for access in group))
    fine = [group[0] for waste, group in rated if waste <= 0 and group not in unknown and group[0].coalescing]
    if fine:
        yield _well_placed(fine, alone=len(fine) == len(rated) and not hidden)


def _scattered(group: Sequence[AccessView], seen: Inspection) -> Finding:
    first = group[0]
    verb, noun = ("write", "store") if first.mode == "write" else ("read", "load")
    at = f" at {spaced(seen.kernel.sizes[0])}" if seen.kernel.sizes and not first.stride.lstrip("-").isdigit() else ""
    apart = f"{first.stride} apart" if first.coalescing == "strided" else "in several rows"
    text = (
        f"Neighbouring threads {verb} elements of {first.array} {apart} ({_places(group)}): each {noun} of a warp "
        f"touches {first.sectors} sectors of 32 bytes instead of {first.ideal_sectors}{at}."
    )
    wanted = ["cooperate"] if any(access.loops for access in group) else []
    wanted += ["transpose_tile", "axis_swap", "shared_tile"]
    return Finding(FindingKind.MEMORY, text, known_lines(a.line for a in group), _available(seen, wanted, first.array))


def _well_placed(fine: Sequence[AccessView], alone: bool) -> Finding:
    together = {access.array: None for access in fine if access.coalescing == "contiguous"}
    same = {access.array: None for access in fine if access.coalescing == "broadcast"}
    parts = [f"neighbouring threads touch neighbouring elements of {listed(together)}"] if together else []
    parts += [f"a warp touches one element of {listed(same)} at a time"] if same else []
    parts += ["strides stay inside a sector"] if not parts else []
    whole = "Global memory is accessed well" if alone else "The other accesses are good ones"
    return Finding(FindingKind.GOOD, f"{whole}: {' and '.join(parts)}.", known_lines(access.line for access in fine))


def _waste(group: Sequence[AccessView], seen: Inspection) -> float:
    """Sectors that a warp moves for nothing, over all iterations; 0 where they are too few to speak of."""
    total = 0.0
    for access in group:
        if access.sectors is not None and access.ideal_sectors is not None:
            spare = access.sectors - access.ideal_sectors
            total += spare * _executions(access.loops, seen) if spare >= max(2, access.ideal_sectors) else 0.0
    return total


def _executions(loops: Sequence[str], seen: Inspection) -> float:
    trips = {loop.site: next(iter(loop.trips_at.values()), 32) for loop in seen.loops}
    return float(prod(trips.get(name, 32) for name in loops))


def atomic_findings(seen: Inspection) -> Iterator[Finding]:
    """One for each array of global memory that atomics update."""
    groups: dict[str, list[AccessView]] = {}
    for access in seen.accesses:
        if access.mode == "atomic" and access.space == "global":
            groups.setdefault(access.array, []).append(access)
    for array, group in groups.items():
        same = all(access.coalescing == "broadcast" for access in group)
        text = (
            f"Every thread updates the same element of {array} with an atomic ({_places(group)}): they queue up for it."
            if same
            else f"Threads update {array} with atomics ({_places(group)}): those that meet at an element queue up."
        )
        suggests = _available(seen, ["cascade", "privatise"], array)
        yield Finding(FindingKind.ATOMIC, text, known_lines(access.line for access in group), suggests)


def reuse_findings(seen: Inspection) -> Iterator[Finding]:
    """Arrays that are read again as often and by the same ones stand together."""
    known = {access.array for access in seen.accesses if access.space == "global" and access.mode == "read"}
    groups: dict[tuple[str, str], list[ReuseView]] = {}
    for reuse in seen.reuse:
        if reuse.array not in known or reuse.factor is None or _few_threads(reuse, seen):
            continue
        if reuse.factor >= _WORTH * _own_reads(reuse, seen):
            times = f"{'' if reuse.proof.holds else 'about '}{figure(reuse.factor)} times"
            groups.setdefault((reuse.over, times), []).append(reuse)
    for (over, times), group in groups.items():
        arrays = list(dict.fromkeys(reuse.array for reuse in group))
        who = "The threads of a block read" if over == "block" else f"The loop over {over} reads"
        lines = known_lines(line for reuse in group for line in reuse.lines)
        text = f"{who} each element of {listed(arrays)} {times} ({at_lines(lines)})."
        wanted = ["shared_tile", "register_tile", "scalar_reads"] if over == "block" else ["shared_tile"]
        found = dict.fromkeys(name for array in arrays for name in _available(seen, wanted, array))
        yield Finding(FindingKind.REUSE, text, lines, tuple(found))


def _few_threads(reuse: ReuseView, seen: Inspection) -> bool:
    """True if a condition gives an access to a few threads, while the factor counts all of a block."""
    guards = (guard for a in seen.accesses if a.array == reuse.array and a.line in reuse.lines for guard in a.guards)
    return reuse.over == "block" and any("==" in guard and not guard.startswith("not ") for guard in guards)


def _own_reads(reuse: ReuseView, seen: Inspection) -> float:
    """How often a thread reads an element by itself: what a block adds to that is what its threads share."""
    if reuse.over != "block":
        return 1.0
    same = [view for view in seen.reuse if (view.array, view.lines) == (reuse.array, reuse.lines)]
    texts = [a.text for a in seen.accesses if a.array == reuse.array and a.mode == "read" and a.line in reuse.lines]
    over_loops = max((view.factor or 1.0 for view in same if view.over != "block"), default=1.0)
    return min(over_loops, reuse.factor or 1.0) * len(texts) / max(1, len(set(texts)))


def _places(group: Sequence[AccessView]) -> str:
    """Lines, and the access of the innermost loop."""
    deepest = max(group, key=lambda access: len(access.loops))
    return f"{at_lines(access.line for access in group)}, `{deepest.text}`"


def _available(seen: Inspection, wanted: Sequence[str], array: str) -> tuple[str, ...]:
    """Those of the wanted transforms that are offered for the array (or for the whole kernel), now or later."""
    found: dict[str, None] = {}
    arrays = {argument.name for argument in seen.arguments if argument.array}
    everything: list[tuple[str, str, str]] = []
    for offer in seen.offers:
        everything += [(offer.transform, site.label, "") for site in offer.sites]
    for item in seen.later:
        everything += [(item.transform, site.label, f" (after {listed(item.after)})") for site in item.sites]
    for grant in seen.grants:
        everything += [(*_parted(name), f" (with {grant.name})") for name in grant.opens]
        for item in grant.later:
            note = f" (with {grant.name}, after {listed(item.after)})"
            everything += [(item.transform, site.label, note) for site in item.sites]
    for name in wanted:
        for transform, label, note in everything:
            if transform == name and (label == array or label not in arrays):
                found.setdefault(f"{name}@{label}{note}")
    return tuple(found)


def _parted(name: str) -> tuple[str, str]:
    transform, _, label = name.partition("@")
    return transform, label

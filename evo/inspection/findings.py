"""What a person should know first about a kernel, in plain sentences, the most pressing on top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from evo.inspection.facts import AccessView, RaceView, ReuseView
from evo.inspection.order import orders
from evo.inspection.record import Finding, FindingKind, Inspection, Later
from evo.inspection.words import at_lines, byte_count, figure, listed, spaced
from genome.analysis.proof import Standing

_ORDER = list(FindingKind)
_QUALIFIERS = ("restrict", "fast_math", "launch_bounds")
_MANY = 3  # transforms that one reason stands against, from which on it is told by itself
_WORTH = 1.5  # reads of an element from which on reuse is worth a word
_BUSY = 8.0  # operations a byte below which no current GPU is limited by its arithmetic


def findings(seen: Inspection) -> tuple[Finding, ...]:
    """Findings of an inspection whose other parts are complete."""
    parts = (_correctness, _meetings, _blocked, _grants, _memory, _atomics, _reuse, _opaque, _divergence, _work)
    found = [finding for part in parts for finding in part(seen)]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.kind)))


def _correctness(seen: Inspection) -> Iterator[Finding]:
    unread = {region.line for region in seen.opaque}
    races: dict[tuple[str, bool], list[RaceView]] = {}
    for race in seen.races:
        if not unread.issuperset(race.lines):  # of unread text no more is known than that it is unread
            races.setdefault((race.array, race.proof.standing is Standing.PROVEN), []).append(race)
    for (array, sure), group in races.items():
        lines = _lines(line for race in group for line in race.lines)
        proof = group[0].proof
        if sure:
            text = f"Threads race on {array} ({at_lines(lines)}): {proof.reason}."
            yield Finding(FindingKind.CORRECTNESS, text, lines)
        else:
            text = f"Whether threads race on {array} ({at_lines(lines)}) is not known: {proof.reason}."
            yield Finding(FindingKind.DOUBT, text, lines, grant=proof.grant)
    for barrier in seen.barriers:
        if not barrier.proof.holds and barrier.line not in unread:
            text = f"Whether all threads of a block reach the barrier on line {barrier.line} is not known"
            yield Finding(
                FindingKind.DOUBT, f"{text}: {barrier.proof.reason}.", (barrier.line,), grant=barrier.proof.grant
            )


def _meetings(seen: Inspection) -> Iterator[Finding]:
    """Threads that certainly read what others write in global memory, in a kernel without a barrier."""
    arrays = {access.array for access in seen.accesses if access.space == "global"}
    for order in () if seen.barriers else orders(seen):
        if order.between == "threads" and order.sure and order.name in arrays and order.hazards != "output":
            launched = ", if the launch is as guessed" if seen.guesses else ""
            text = (
                f"Threads race on {order.name} ({at_lines(order.lines)}){launched}: {order.reason}, which one of them "
            )
            text += "writes, and nothing says which comes first."
            yield Finding(FindingKind.CORRECTNESS, text, _lines(order.lines))


def _blocked(seen: Inspection) -> Iterator[Finding]:
    if not any(offer.structural for offer in seen.offers):
        left = listed([*(offer.transform for offer in seen.offers), "macros of your own (`tunables:`)"], 8)
        final = next((group for group in seen.refusals if not group.grant), None)
        why = seen.kernel.geometry or (final.reason if final else "")
        text = f"Nothing that rewrites the body applies; what is left to tune: {left}."
        yield Finding(FindingKind.BLOCKED, text + (f" The main reason: {why}." if why else ""))
    elif seen.kernel.geometry:
        yield Finding(FindingKind.BLOCKED, f"The launch stays as it is: {seen.kernel.geometry}.")
    else:
        yield from _widely_refused(seen)
    for loop in seen.loops:
        if loop.offers or not any(offer.structural for offer in seen.offers):
            continue
        groups = [group for group in seen.refusals if any(at.site == loop.site for at in group.moves)]
        reasons = [group.reason + (f" (grant it with `{group.grant}`)" if group.grant else "") for group in groups]
        if reasons:
            text = f"Nothing is offered for the loop over {loop.site} (line {loop.line}): {'; '.join(reasons)}."
            yield Finding(FindingKind.BLOCKED, text, _lines((loop.line,)), grant=groups[0].grant)


def _widely_refused(seen: Inspection) -> Iterator[Finding]:
    """Reasons without a remedy that stand against many transforms."""
    for group in seen.refusals:
        names = list(dict.fromkeys(at.transform for at in group.moves))
        if not group.grant and len(names) >= _MANY:
            lines = _lines(at.line for at in group.moves)
            yield Finding(FindingKind.BLOCKED, f"None of {listed(names)} applies: {group.reason}.", lines)


def _grants(seen: Inspection) -> Iterator[Finding]:
    """One an assumption that opens more than a compile option."""
    for grant in seen.grants:
        reasons = [group for group in seen.refusals if group.grant == grant.name]
        opens = [*grant.opens, *(_after(item) for item in grant.later)]
        if not opens or grant.opens == ("fast_math@options",):
            continue
        lines = _lines(at.line for group in reasons for at in group.moves)
        why = listed((group.reason for group in reasons), 3)
        deep = grant.later or any(name.partition("@")[0] not in _QUALIFIERS for name in grant.opens)
        text = f"If it is true, grant `{grant.how}`: it opens {listed(opens, 8)}. Without it: {why}."
        yield Finding(FindingKind.GRANT if deep else FindingKind.OPTION, text, lines, grant=grant.name)


def _after(item: Later) -> str:
    return f"{item.transform} on {listed(site.label for site in item.sites)} (after {listed(item.after)})"


def _memory(seen: Inspection) -> Iterator[Finding]:
    groups: dict[tuple[str, str, str, int | None], list[AccessView]] = {}
    hidden = {region.line for region in seen.opaque}
    for access in seen.accesses:
        if access.space == "global" and access.mode != "atomic" and access.line not in hidden:
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
        yield Finding(FindingKind.MEMORY, text, _lines(access.line for access in group))
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
    return Finding(FindingKind.MEMORY, text, _lines(a.line for a in group), _available(seen, wanted, first.array))


def _well_placed(fine: Sequence[AccessView], alone: bool) -> Finding:
    together = {access.array: None for access in fine if access.coalescing == "contiguous"}
    same = {access.array: None for access in fine if access.coalescing == "broadcast"}
    parts = [f"neighbouring threads touch neighbouring elements of {listed(together)}"] if together else []
    parts += [f"a warp touches one element of {listed(same)} at a time"] if same else []
    parts += ["strides stay inside a sector"] if not parts else []
    whole = "Global memory is accessed well" if alone else "The other accesses are good ones"
    return Finding(FindingKind.GOOD, f"{whole}: {' and '.join(parts)}.", _lines(access.line for access in fine))


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


def _atomics(seen: Inspection) -> Iterator[Finding]:
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
        yield Finding(FindingKind.ATOMIC, text, _lines(access.line for access in group), suggests)


def _reuse(seen: Inspection) -> Iterator[Finding]:
    """Arrays that are read again as often and by the same ones stand together."""
    known = {access.array for access in seen.accesses if access.space == "global" and access.mode == "read"}
    groups: dict[tuple[str, str], list[ReuseView]] = {}
    for reuse in seen.reuse:
        if reuse.array in known and reuse.factor is not None and reuse.factor >= _WORTH * _own_reads(reuse, seen):
            times = f"{'' if reuse.proof.holds else 'about '}{figure(reuse.factor)} times"
            groups.setdefault((reuse.over, times), []).append(reuse)
    for (over, times), group in groups.items():
        arrays = list(dict.fromkeys(reuse.array for reuse in group))
        who = "The threads of a block read" if over == "block" else f"The loop over {over} reads"
        lines = _lines(line for reuse in group for line in reuse.lines)
        text = f"{who} each element of {listed(arrays)} {times} ({at_lines(lines)})."
        wanted = ["shared_tile", "register_tile", "scalar_reads"] if over == "block" else ["shared_tile"]
        found = dict.fromkeys(name for array in arrays for name in _available(seen, wanted, array))
        yield Finding(FindingKind.REUSE, text, lines, tuple(found))


def _own_reads(reuse: ReuseView, seen: Inspection) -> float:
    """How often a thread reads an element by itself: what a block adds to that is what its threads share."""
    if reuse.over != "block":
        return 1.0
    same = [view for view in seen.reuse if (view.array, view.lines) == (reuse.array, reuse.lines)]
    texts = [a.text for a in seen.accesses if a.array == reuse.array and a.mode == "read" and a.line in reuse.lines]
    over_loops = max((view.factor or 1.0 for view in same if view.over != "block"), default=1.0)
    return min(over_loops, reuse.factor or 1.0) * len(texts) / max(1, len(set(texts)))


def _opaque(seen: Inspection) -> Iterator[Finding]:
    groups: dict[str, list[int]] = {}
    for region in seen.opaque:
        groups.setdefault(region.why, []).append(region.line)
    for why, lines in groups.items():
        place = at_lines(lines).capitalize() or "A part"
        text = f"{place} {'is' if len(set(lines)) == 1 else 'are'} not looked into ({why}): nothing moves across, and "
        yield Finding(FindingKind.OPAQUE, text + "the arrays used there are left alone.", _lines(lines))


def _divergence(seen: Inspection) -> Iterator[Finding]:
    """Branches on which a warp may part in one finding, loops in another; guards of the axes are everywhere."""
    for kind, what in (("loop", "run different numbers of iterations"), ("if", "part")):
        found = [b for b in seen.branches if b.kind == kind and b.uniformity == "divergent"]
        if found:
            lines = _lines(branch.line for branch in found)
            conditions = listed(f"`{branch.condition}`" for branch in found)
            text = f"Threads of a warp may {what} at {conditions} ({at_lines(lines)}): {found[0].proof.reason}."
            yield Finding(FindingKind.DIVERGENCE, text, lines)


def _work(seen: Inspection) -> Iterator[Finding]:
    work = seen.work
    if not work.at or not work.at[0].bytes:
        return
    at = work.at[0]
    plural = "" if at.flops == 1 else "s"
    done = f"{figure(at.flops)} floating-point operation{plural}" if at.flops else "no floating-point arithmetic"
    ratio = f", {at.flops_a_byte:.2g} a byte" if at.flops else ""
    if work.unseen:
        text = (
            f"Of what is counted, a thread moves {byte_count(at.bytes)} and does {done} at {spaced(at.size)}{ratio}; "
        )
        yield Finding(FindingKind.WORK, text + f"there may be more: {work.unseen}.")
        return
    verdict = "memory traffic decides" if at.flops_a_byte < _BUSY else "arithmetic may decide"
    bound = "" if work.proof.holds else f" The figures are a bound: {work.proof.reason}."
    text = (
        f"As written, a thread moves {byte_count(at.bytes)} and does {done} at {spaced(at.size)}{ratio}; a GPU does "
        f"tens of operations in the time of a byte, so {verdict}.{bound}"
    )
    yield Finding(FindingKind.WORK, text)


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


def _lines(lines: Iterator[int] | Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({line for line in lines if line}))

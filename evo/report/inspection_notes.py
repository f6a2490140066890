"""The remarks beside the source: line by line, what is seen there and what could be done there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evo.inspection.facts import LoopView
from evo.inspection.order import carried
from evo.inspection.record import Inspection
from evo.inspection.words import agreement, listed, warp, wasteful
from genome.analysis.proof import Standing


@dataclass(frozen=True)
class Note:
    """A remark; ``tone`` is ``good``, ``warn`` or empty."""

    text: str
    tone: str = ""


Notes = Mapping[int, list[Note]]


def sees_notes(seen: Inspection) -> Notes:
    """What the engine understood, by line."""
    notes: dict[int, list[Note]] = {}

    def add(line: int, text: str, tone: str = "") -> None:
        notes.setdefault(line, []).append(Note(text, tone))

    for axis in seen.axes:
        add(axis.line, f"{axis.name}: one a thread, along {axis.dimension}, {axis.extent} of them")
    for idiom in seen.idioms:
        for line in idiom.lines[:1]:
            add(line, f"{'' if idiom.proof.holds else 'perhaps '}{idiom.name}")
    for branch in seen.branches:
        if branch.kind != "loop" or branch.uniformity == "divergent":
            parts = branch.uniformity == "divergent"
            who = "may differ within a warp" if parts else f"the same for {agreement(branch.uniformity)}"
            add(branch.line, f"{branch.condition}: {who}")
    for loop in seen.loops:
        add(loop.line, _loop(loop, seen))
    for access in seen.accesses:
        if access.space in ("global", "shared") and access.coalescing:
            add(access.line, f"{access.mode} {access.array}: {warp(access)}", "warn" if wasteful(access) else "")
    unread = {region.line for region in seen.opaque}
    for barrier in seen.barriers:
        if barrier.line not in unread:
            tone = "" if barrier.proof.holds else "warn"
            add(barrier.line, "barrier: " + ("all of the block" if barrier.proof.holds else barrier.proof.reason), tone)
    for race in seen.races:
        if unread.issuperset(race.lines):
            continue
        sure = race.proof.standing is Standing.PROVEN
        add(max(race.lines), f"{race.array}: threads {'race' if sure else 'may race, which is not known'}", "warn")
    for region in seen.opaque:
        add(region.line, f"not looked into: {region.why}", "warn")
    return notes


def can_notes(seen: Inspection) -> Notes:
    """What applies, what would, and what does not, by line."""
    notes: dict[int, list[Note]] = {}
    for offer in seen.offers:
        for site in offer.sites:
            if offer.structural and site.line:
                notes.setdefault(site.line, []).append(Note(f"{offer.transform} {site.label}", "good"))
    for item in seen.later:
        for site in item.sites:
            if site.line:
                text = f"{item.transform} {site.label}, after {listed(item.after)}"
                notes.setdefault(site.line, []).append(Note(text, "good"))
    for group in seen.refusals:
        grant = f" ({group.grant})" if group.grant else ""
        for line in dict.fromkeys(at.line for at in group.moves if at.line):
            here = [at for at in group.moves if at.line == line]
            what = f"no {', '.join(dict.fromkeys(at.transform for at in here))} {listed(at.site for at in here)}"
            note = Note(f"{what}: {group.reason}{grant}", "warn" if group.grant else "")
            notes.setdefault(line, []).append(note)
    return notes


def _loop(loop: LoopView, seen: Inspection) -> str:
    trips = f"{loop.site}: {loop.trips} times" if loop.trips else loop.site
    if not loop.independent.holds:
        return f"{trips}, {'' if carried(loop, seen) else 'perhaps '}in this order"
    return f"{trips}, in any order" + (f" but for {listed(loop.reductions)}" if loop.reductions else "")

"""What a kernel is, and how much can be done to it, in two or three sentences."""

from __future__ import annotations

from collections.abc import Sequence

from evo.inspection.facts import IdiomView
from evo.inspection.record import Inspection
from evo.inspection.words import at_lines, listed, plural

_NOUNS = {"all pairs": "a sum over all pairs"}


def summary(seen: Inspection) -> tuple[str, ...]:
    """What the kernel is, and how much can be done: two or three sentences."""
    said = [_mapping(seen)]
    if seen.idioms:
        said.append(f"It is {listed(_shapes(seen.idioms))}.")
    deep = [offer.transform for offer in seen.offers if offer.structural]
    later = list(dict.fromkeys(item.transform for item in seen.later))
    more = f"; {listed(later, 8)} {'follows' if len(later) == 1 else 'follow'} after others" if later else ""
    if deep:
        said.append(f"{plural(len(set(deep)), 'transform')} can rewrite it: {listed(deep, 8)}{more}.")
    return tuple(said)


def _shapes(idioms: Sequence[IdiomView]) -> list[str]:
    """Each shape once: ``a contraction (line 8: C from A and B)``."""
    groups: dict[tuple[str, bool], list[IdiomView]] = {}
    for idiom in idioms:
        groups.setdefault((idiom.name, idiom.proof.holds), []).append(idiom)
    said = []
    for (name, sure), group in groups.items():
        results = list(dict.fromkeys(idiom.arrays[0] for idiom in group if idiom.arrays))
        sources = [name for idiom in group for name in idiom.arrays[1:] if name not in results]
        flow = f"{listed(results)} from {listed(sources)}" if sources else listed(results)
        doubt = "" if sure else f"; not sure: {group[0].proof.reason}"
        said.append(f"{_NOUNS.get(name, f'a {name}')} ({at_lines(n for i in group for n in i.lines)}: {flow}{doubt})")
    return said


def _mapping(seen: Inspection) -> str:
    kernel = seen.kernel
    block = "x".join(map(str, (size for size in kernel.block if size > 1))) or "1"
    if not seen.axes:
        return f"Which thread does what was not understood as an index map; a block has {block} threads."
    names = ", ".join(axis.name for axis in seen.axes)
    point = f"({names})" if len(seen.axes) > 1 else names
    guess = " (a guess)" if seen.guesses else ""
    ends = (axis.upper or f"{axis.extent}{guess}" for axis in seen.axes)
    along = listed(f"{axis.name} up to {end} along {axis.dimension}" for axis, end in zip(seen.axes, ends, strict=True))
    outermost = [loop for loop in seen.loops if loop.line and not _inside(loop.site, seen)]
    outer = [f"{loop.site} ({loop.trips} times)" if loop.trips else loop.site for loop in outermost]
    walks = f" It walks the loop{'s' if len(outer) > 1 else ''} over {listed(outer)}." if outer else ""
    return f"One thread handles one {point}: {along}.{walks} A block has {block} threads."


def _inside(site: str, seen: Inspection) -> bool:
    """True if some access shows the loop inside another one."""
    return any(site in access.loops[1:] for access in seen.accesses)

"""What a person should know first about a kernel, in plain sentences, the most pressing on top."""

from __future__ import annotations

from collections.abc import Iterator

from evo.inspection.facts import OpaqueView, RaceView
from evo.inspection.findings_memory import atomic_findings, memory_findings, reuse_findings
from evo.inspection.order import looped, orders
from evo.inspection.record import Finding, FindingKind, Inspection, Later
from evo.inspection.words import at_lines, byte_count, figure, known_lines, listed, spaced
from genome.analysis.proof import Standing

_ORDER = list(FindingKind)
_QUALIFIERS = ("restrict", "fast_math", "launch_bounds")
_MANY = 3  # transforms that one reason stands against, from which on it is told by itself
_BUSY = 8.0  # operations a byte below which no current GPU is limited by its arithmetic


def findings(seen: Inspection) -> tuple[Finding, ...]:
    """Findings of an inspection whose other parts are complete."""
    parts = (
        _unwritten,
        _correctness,
        _meetings,
        _unfilled,
        _not_found,
        _blocked,
        _grants,
        memory_findings,
        atomic_findings,
        reuse_findings,
        _opaque,
        _divergence,
        _work,
    )
    found = [finding for part in parts for finding in part(seen)]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.kind)))


def _unwritten(seen: Inspection) -> Iterator[Finding]:
    """Outputs that no statement writes; those of a bare kernel are guesses, unless it writes nothing at all."""
    arrays = [argument for argument in seen.arguments if argument.array]
    never = [argument for argument in arrays if argument.use in ("read", "not touched")]
    if seen.guesses:
        if arrays and len(never) == len(arrays):
            names = listed(argument.name for argument in never)
            text = f"The kernel writes none of its arrays ({names}): it has no result."
            yield Finding(FindingKind.CORRECTNESS, text, (seen.kernel.line,))
        return
    for argument in never:
        if argument.role != "in":
            text = f"{argument.name} is an output of the campaign (`role: {argument.role}`), and no statement of the "
            text += "kernel writes it: it is an input, or the kernel lacks a store."
            yield Finding(FindingKind.CORRECTNESS, text, (seen.kernel.line,))


def _correctness(seen: Inspection) -> Iterator[Finding]:
    unread = {region.line for region in seen.opaque}
    races: dict[tuple[str, bool], list[RaceView]] = {}
    for race in seen.races:
        if not unread.issuperset(race.lines):  # of unread text no more is known than that it is unread
            races.setdefault((race.array, race.proof.standing is Standing.PROVEN), []).append(race)
    for (array, sure), group in races.items():
        lines = known_lines(line for race in group for line in race.lines)
        proof = group[0].proof
        if sure:
            text = f"Threads race on {array} ({at_lines(lines)}): {proof.reason}."
            yield Finding(FindingKind.CORRECTNESS, text, lines)
        else:
            text = f"Whether threads race on {array} ({at_lines(lines)}) is not known: {proof.reason}."
            yield Finding(FindingKind.DOUBT, text, lines, grant=proof.grant)
    unreached: dict[tuple[str, str], list[int]] = {}
    for barrier in seen.barriers:
        if not barrier.proof.holds and barrier.line not in unread:
            unreached.setdefault((barrier.proof.reason, barrier.proof.grant), []).append(barrier.line)
    for (reason, grant), at in unreached.items():
        which = f"the barrier{'s' if len(set(at)) > 1 else ''} on {at_lines(at)}"
        text = f"Whether all threads of a block reach {which} is not known: {reason}."
        yield Finding(FindingKind.DOUBT, text, known_lines(at), grant=grant)


def _meetings(seen: Inspection) -> Iterator[Finding]:
    """Threads that certainly read what others write in global memory, in a kernel without a barrier."""
    arrays = {access.array for access in seen.accesses if access.space == "global"}
    for order in () if seen.barriers else orders(seen):
        if order.between == "threads" and order.sure and order.name in arrays and order.hazards != "output":
            launched = ", if the launch is as guessed" if seen.guesses else ""
            text = f"Threads race on {order.name} ({at_lines(order.lines)}){launched}: {order.reason}, which one of "
            text += "them writes, and nothing says which comes first."
            yield Finding(FindingKind.CORRECTNESS, text, known_lines(order.lines))


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
            yield Finding(FindingKind.BLOCKED, text, known_lines((loop.line,)), grant=groups[0].grant)


def _widely_refused(seen: Inspection) -> Iterator[Finding]:
    """Reasons without a remedy that stand against many transforms."""
    for group in seen.refusals:
        names = list(dict.fromkeys(at.transform for at in group.moves))
        if not group.grant and len(names) >= _MANY:
            lines = known_lines(at.line for at in group.moves)
            yield Finding(FindingKind.BLOCKED, f"None of {listed(names)} applies: {group.reason}.", lines)


def _grants(seen: Inspection) -> Iterator[Finding]:
    """One an assumption that opens more than a compile option."""
    for grant in seen.grants:
        reasons = [group for group in seen.refusals if group.grant == grant.name]
        opens = [*grant.opens, *(_after(item) for item in grant.later)]
        if not opens or grant.opens == ("fast_math@options",):
            continue
        lines = known_lines(at.line for group in reasons for at in group.moves)
        why = listed((group.reason for group in reasons), 3)
        deep = grant.later or any(name.partition("@")[0] not in _QUALIFIERS for name in grant.opens)
        text = f"If it is true, grant `{grant.how}`: it opens {listed(opens, 8)}. Without it: {why}."
        yield Finding(FindingKind.GRANT if deep else FindingKind.OPTION, text, lines, grant=grant.name)


def _after(item: Later) -> str:
    return f"{item.transform} on {listed(site.label for site in item.sites)} (after {listed(item.after)})"


def _opaque(seen: Inspection) -> Iterator[Finding]:
    groups: dict[str, list[OpaqueView]] = {}
    for region in seen.opaque:
        groups.setdefault("calls" if region.calls else region.why, []).append(region)
    for why, group in groups.items():
        calls = listed((region.calls for region in group if region.calls), 8)
        reason = f"functions of the file: {calls}" if why == "calls" else why
        lines = known_lines(region.line for region in group)
        place = at_lines(lines).capitalize() or "A part"
        text = f"{place} {'is' if len(lines) < 2 else 'are'} not looked into ({reason}): nothing moves across, and "
        yield Finding(FindingKind.OPAQUE, text + "the arrays used there are left alone.", lines)


def _unfilled(seen: Inspection) -> Iterator[Finding]:
    if seen.unfilled:
        one = len(seen.unfilled) == 1
        text = f"{listed(seen.unfilled)} {'has' if one else 'have'} no initialiser in the file: your host fills "
        text += f"{'it' if one else 'them'}, and a campaign has to say with what (`constants:`). "
        yield Finding(FindingKind.BLOCKED, text + "Until then there are zeros on CUDA, and an error on OpenCL.")


def _not_found(seen: Inspection) -> Iterator[Finding]:
    """Headers that were not found are worth a word where some text could not be read."""
    if seen.missing and (seen.opaque or seen.work.unseen):
        how = "`kernel: {include: [folder]}`" if seen.kernel.campaign else "`-I folder`"
        text = f"Not found: {listed(seen.missing)}. Text that uses what is defined there cannot be read. Name the "
        yield Finding(FindingKind.BLOCKED, text + f"folder with {how}.")


def _divergence(seen: Inspection) -> Iterator[Finding]:
    """Branches on which a warp may part in one finding, loops in another; guards of the axes are everywhere."""
    for kind, what in (("loop", "run different numbers of iterations of"), ("if", "part at")):
        found = [b for b in seen.branches if b.kind == kind and b.uniformity == "divergent"]
        if found:
            lines = known_lines(branch.line for branch in found)
            ends = "the loop that ends by " if kind == "loop" else ""
            places = listed(looped(branch, seen) or f"{ends}`{branch.condition}`" for branch in found)
            text = f"Threads of a warp may {what} {places} ({at_lines(lines)}): {found[0].proof.reason}."
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

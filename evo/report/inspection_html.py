"""An inspection as one self-contained page: what matters, the source with remarks on both sides, then the parts."""

from __future__ import annotations

from collections.abc import Sequence

from evo.inspection.facts import OpaqueView
from evo.inspection.record import Finding, FindingKind, Inspection
from evo.inspection.words import listed, together
from evo.report.inspection_notes import Note, can_notes, sees_notes
from evo.report.inspection_parts import (
    arguments_part,
    control_part,
    later_part,
    loops_part,
    offers_part,
    opaque_part,
    order_part,
    refusals_part,
    threads_part,
)
from evo.report.inspection_style import CSS
from evo.report.markup import bullets, code, section, text


def inspection_html(seen: Inspection) -> str:
    """The whole page."""
    body = [
        _header(seen),
        f'<section class="lead">{"".join(f"<p>{text(sentence)}</p>" for sentence in seen.summary)}</section>',
        section("What to know first", _findings(seen.findings)),
        section("What was guessed, since there is no campaign", bullets([_inline(said) for said in seen.guesses])),
        _source(seen),
        section("Arguments and how a warp touches them", arguments_part(seen)),
        section("Which thread does what", threads_part(seen)),
        section("Loops", loops_part(seen)),
        section("Conditions and barriers", control_part(seen)),
        section("Order that must be kept", order_part(seen)),
        section("What applies", offers_part(seen)),
        section("What applies after another one", later_part(seen)),
        section("What does not apply, and why", refusals_part(seen)),
        section("What is not looked into", opaque_part(seen)),
    ]
    title = f"{seen.kernel.entry}: what evo-tune sees"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{CSS}</style></head>\n'
        "<body><main>\n" + "\n".join(part for part in body if part) + "\n</main></body></html>\n"
    )


def _header(seen: Inspection) -> str:
    kernel = seen.kernel
    where = f"{kernel.path}, lines {kernel.line} to {kernel.last_line}, for {kernel.target}"
    where += f"; campaign {kernel.campaign}" if kernel.campaign else "; no campaign"
    granted = f"The campaign grants {listed(kernel.assumed)}." if kernel.assumed else "Nothing is granted."
    return (
        f'<header><h1>{text(kernel.entry)} <span>{text(where)}</span></h1><p class="muted">{text(granted)}</p></header>'
    )


def _findings(found: Sequence[Finding]) -> str:
    return f'<ol class="findings">{"".join(map(_finding, found))}</ol>' if found else ""


def _finding(finding: Finding) -> str:
    chips = [f'<a class="chip" href="#L{line}">line {line}</a>' for line in finding.lines]
    chips += [f'<span class="chip good">{text(name)}</span>' for name in together(finding.suggests)]
    if finding.grant and finding.kind not in (FindingKind.GRANT, FindingKind.OPTION):
        chips.append(f'<span class="chip warn">{text(finding.grant)}</span>')
    below = f'<div class="chips">{"".join(chips)}</div>' if chips else ""
    return f'<li class="{finding.kind.value}"><div><p>{_inline(finding.text)}</p>{below}</div></li>'


def _inline(sentence: str) -> str:
    """The sentence with what stands between back quotes as code."""
    parts = sentence.split("`")
    return "".join(code(part) if number % 2 else text(part) for number, part in enumerate(parts))


def _source(seen: Inspection) -> str:
    sees, can = sees_notes(seen), can_notes(seen)
    lines = seen.source.splitlines()[seen.kernel.line - 1 : seen.kernel.last_line]
    hidden = _hidden(seen.opaque)
    rows = [
        _row(number, line, sees.get(number, ()), can.get(number, ()), number in hidden)
        for number, line in enumerate(lines, start=seen.kernel.line)
    ]
    caption = (
        '<p class="note">Grey is what the engine sees on a line, green what it offers there, red what costs time or '
        "would take an assumption.</p>"
    )
    return f'<section class="source"><h2>Source</h2>{caption}{"".join(rows)}</section>' if rows else ""


def _hidden(regions: Sequence[OpaqueView]) -> set[int]:
    """Lines of text that is not looked into; a call leaves the rest of its line readable."""
    found: set[int] = set()
    for region in regions:
        if region.text.rstrip().endswith((";", "}")):
            found.update(range(region.line, region.line + region.text.count("\n") + 1))
    return found


def _row(number: int, line: str, sees: Sequence[Note], can: Sequence[Note], hidden: bool) -> str:
    css = ' class="hidden"' if hidden else ""
    noted = " noted" if sees or can else ""
    return (
        f'<div class="row{noted}" id="L{number}">{_notes("sees", sees)}'
        f'<div class="line"><a href="#L{number}">{number}</a><code{css}>{text(line) or " "}</code></div>'
        f"{_notes('can', can)}</div>\n"
    )


def _notes(side: str, notes: Sequence[Note]) -> str:
    inner = "".join(f'<span class="{note.tone}">{text(note.text)}</span>' for note in dict.fromkeys(notes))
    return f'<div class="notes {side}">{inner}</div>'

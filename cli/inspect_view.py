"""How an inspection reads in a terminal: what matters first, then the parts one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from evo.inspection.order import carried, looped, orders
from evo.inspection.record import Finding, Inspection, Offer
from evo.inspection.words import agreement, listed, together, warp

_WIDE = 100  # columns of a page that is not read in a terminal


def show(seen: Inspection, console: Console | None = None) -> None:
    """Prints the whole inspection."""
    console = console or Console(highlight=False)
    if console.is_terminal:
        for part in _parts(seen):
            console.print(part, highlight=False)
        return
    console.width = max(console.width, _WIDE)
    with console.capture() as page:
        for part in _parts(seen):
            console.print(part, highlight=False)
    click.echo("\n".join(line.rstrip() for line in page.get().splitlines()))


def _parts(seen: Inspection) -> Iterator[RenderableType]:
    kernel = seen.kernel
    where = f"{kernel.path}, lines {kernel.line} to {kernel.last_line}, for {kernel.target}"
    yield Text.assemble((kernel.entry, "bold"), f"  {where}")
    if kernel.assumed:
        yield Text(f"The campaign grants {listed(kernel.assumed)}.", style="dim")
    yield Group("", *(Text(sentence) for sentence in seen.summary))
    yield from _section("What to know first", _findings(seen.findings))
    yield from _section("What was guessed, since there is no campaign", [f"- {escape(said)}" for said in seen.guesses])
    yield from _section("Arguments", _arguments(seen))
    yield from _section("Which thread does what", _axes(seen))
    yield from _section("Loops", _loops(seen))
    yield from _section("Conditions and barriers", _control(seen))
    yield from _section("Order that must be kept", _order(seen))
    yield from _section("What applies", _offers(seen.offers))
    yield from _section("What applies after another one", _later(seen))
    yield from _section("What does not apply, and why", _refusals(seen))
    yield from _section("What is not looked into", _opaque(seen))


def _section(title: str, lines: Sequence[RenderableType]) -> Iterator[RenderableType]:
    if lines:
        yield Text(f"\n{title}", style="bold cyan")
        yield Group(*lines)


def _findings(found: Sequence[Finding]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for number, finding in enumerate(found, start=1):
        body: list[RenderableType] = [Text(finding.text)]
        if finding.suggests:
            body.append(Text(f"offered for it: {'; '.join(together(finding.suggests))}", style="green"))
        row = Table.grid(padding=(0, 1))
        row.add_column(width=3, justify="right", style="bold")
        row.add_column(ratio=1)
        row.add_row(str(number), Group(*body))
        lines.append(row)
    return lines


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def _arguments(seen: Inspection) -> list[RenderableType]:
    table = _table("name", "type", "use", "line", "element", "a warp touches")
    for argument in seen.arguments:
        name = f"{argument.name}[{', '.join(argument.extents)}]" if argument.extents else argument.name
        rows = argument.accesses or (None,)
        for number, access in enumerate(rows):
            head = (name, argument.type, argument.use) if number == 0 else ("", "", "")
            tail = (str(access.line), f"{access.mode} {access.text}", warp(access)) if access else ("", "", "")
            table.add_row(*map(escape, (*head, *tail)))
    return [table] if seen.arguments else []


def _axes(seen: Inspection) -> list[RenderableType]:
    if not seen.axes:
        return [Text(f"No index map: {seen.kernel.geometry}.")] if seen.kernel.geometry else []
    table = _table("axis", "line", "is", "iterations", "guard")
    for axis in seen.axes:
        guard = [f"{axis.name} >= {axis.lower}"] * bool(axis.lower) + [f"{axis.name} < {axis.upper}"] * bool(axis.upper)
        table.add_row(*map(escape, (axis.name, str(axis.line), axis.index, axis.extent, " and ".join(guard) or "none")))
    return [table]


def _loops(seen: Inspection) -> list[RenderableType]:
    table = _table("site", "role", "line", "iterations", "in any order?", "offered")
    for loop in seen.loops:
        order = f"but for {listed(loop.reductions)}" if loop.reductions else "yes"
        if not loop.independent.holds:
            sure = carried(loop, seen)
            order = f"no: {sure}" if sure else f"perhaps not: {loop.independent.reason}"
        cells = (
            loop.site,
            loop.role,
            str(loop.line),
            loop.trips or "not known",
            order,
            listed(loop.offers) if loop.offers else "-",
        )
        table.add_row(*map(escape, cells))
    return [table] if seen.loops else []


def _control(seen: Inspection) -> list[RenderableType]:
    table = _table("line", "what", "threads that agree", "why")
    for branch in seen.branches:
        what = looped(branch, seen) or f"{branch.kind} {branch.condition}"
        table.add_row(*map(escape, (str(branch.line), what, agreement(branch.uniformity), branch.proof.reason)))
    for barrier in seen.barriers:
        reached = "those of a block reach it" if barrier.proof.holds else "not surely all of a block reach it"
        table.add_row(*map(escape, (str(barrier.line), "barrier", reached, barrier.proof.reason)))
    return [table] if table.row_count else []


def _order(seen: Inspection) -> list[RenderableType]:
    table = _table("between", "of", "lines", "order", "why")
    for order in orders(seen):
        why = order.reason if order.sure else f"perhaps: {order.reason}"
        lines = ", ".join(map(str, order.lines))
        table.add_row(*map(escape, (order.between, order.name, lines, order.hazards, why)))
    return [table] if table.row_count else []


def _offers(offers: Sequence[Offer]) -> list[RenderableType]:
    table = _table("transform", "where", "values", "does, for example")
    for offer in offers:
        where = listed(site.label for site in offer.sites)
        values = "; ".join(f"{name} {', '.join(map(str, given))}" for name, given in offer.domain.items())
        table.add_row(*map(escape, (offer.transform, where, values or "-", offer.what)))
    return [table] if offers else []


def _later(seen: Inspection) -> list[RenderableType]:
    return [
        escape(f"- {item.transform} on {listed(site.label for site in item.sites)}, after {listed(item.after)}")
        for item in seen.later
    ]


def _refusals(seen: Inspection) -> list[RenderableType]:
    """What an assumption would lift, assumption by assumption, then the rest."""
    hows = {grant.name: grant.how for grant in seen.grants}
    lines: list[RenderableType] = []
    for name in dict.fromkeys(group.grant for group in seen.refusals):
        if name:
            lines.append(Text(f"Unless the campaign grants {hows.get(name, name)}:", style="green"))
        elif len(lines):
            lines.append(Text("Whatever it grants:", style="green"))
        for group in (group for group in seen.refusals if group.grant == name):
            places = [f"{at.transform}@{at.site}" + (f" (line {at.line})" if at.line else "") for at in group.moves]
            more = "".join(f"; {then}" for then in group.then)
            lines.append(Text.assemble("- ", group.reason, (f": not {listed(places, 8)}{more}", "dim")))
    return lines


def _opaque(seen: Inspection) -> list[RenderableType]:
    table = _table("line", "why", "text")
    for region in seen.opaque:
        text = region.text.splitlines()[0] + (" ..." if "\n" in region.text else "")
        table.add_row(*map(escape, (str(region.line or ""), region.why, text)))
    return [table] if seen.opaque else []

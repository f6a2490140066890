"""The tables of the inspection page."""

from __future__ import annotations

from evo.inspection.order import carried, looped, orders
from evo.inspection.record import Inspection
from evo.inspection.words import agreement, listed, warp
from evo.report.markup import bullets, code, table, text


def arguments_part(seen: Inspection) -> str:
    """Every argument; arrays with their accesses."""
    rows = []
    for argument in seen.arguments:
        name = f"{argument.name}[{', '.join(argument.extents)}]" if argument.extents else argument.name
        ways = [
            f"{_link(access.line)} {text(access.mode)} {code(access.text)} {text(warp(access))}"
            for access in argument.accesses
        ]
        rows.append([code(name), text(argument.type), text(argument.use), "<br>".join(ways) or "-"])
    return table(("argument", "type", "use", "accesses"), rows)


def threads_part(seen: Inspection) -> str:
    """Axes and their digits."""
    if not seen.axes:
        return f"<p>No index map: {text(seen.kernel.geometry)}.</p>" if seen.kernel.geometry else ""
    rows = []
    for axis in seen.axes:
        guard = [f"{axis.name} >= {axis.lower}"] * bool(axis.lower) + [f"{axis.name} < {axis.upper}"] * bool(axis.upper)
        rows.append([
            code(axis.name), _link(axis.line), code(axis.index), code(axis.extent),
            code(" and ".join(guard)) if guard else "none",
        ])  # fmt: skip
    return table(("axis", "line", "is", "iterations", "the kernel's own guard"), rows)


def loops_part(seen: Inspection) -> str:
    """Loops by site label."""
    rows = []
    for loop in seen.loops:
        order = "in any order"
        if not loop.independent.holds:
            sure = carried(loop, seen)
            order = f"in this order: {sure}" if sure else f"perhaps in this order: {loop.independent.reason}"
        order += f", but for {listed(loop.reductions)}" if loop.reductions and loop.independent.holds else ""
        offers = ", ".join(map(code, loop.offers)) or "nothing"
        rows.append(
            [
                code(loop.site),
                code(loop.role),
                _link(loop.line),
                code(loop.trips) if loop.trips else "not known",
                text(order),
                offers,
            ]
        )
    return table(("site", "role", "line", "iterations", "they may run", "offered"), rows)


def control_part(seen: Inspection) -> str:
    """Branches and barriers."""
    rows = [
        [_link(branch.line), text(looped(branch, seen)) or f"{text(branch.kind)} {code(branch.condition)}",
         text(agreement(branch.uniformity)),
         text(branch.proof.reason)]
        for branch in seen.branches
    ]  # fmt: skip
    rows += [
        [
            _link(barrier.line),
            "barrier",
            "those of a block" if barrier.proof.holds else "not known",
            text(barrier.proof.reason),
        ]
        for barrier in seen.barriers
    ]
    return table(("line", "what", "threads that agree", "why"), rows)


def order_part(seen: Inspection) -> str:
    """Dependences, those of a loop and a name together."""
    rows = [
        [text(order.between), code(order.name), " ".join(map(_link, order.lines)), text(order.hazards),
         text(order.reason if order.sure else f"perhaps: {order.reason}")]
        for order in orders(seen)
    ]  # fmt: skip
    return table(("between", "of", "lines", "order", "why"), rows)


def offers_part(seen: Inspection) -> str:
    """Transforms with their sites and parameter domains."""
    rows = []
    for offer in seen.offers:
        values = [f"{code(name)} {text(', '.join(map(str, given)))}" for name, given in offer.domain.items()]
        sites = ", ".join(code(site.label) for site in offer.sites)
        rows.append([code(offer.transform), sites, "<br>".join(values) or "-", text(offer.what)])
    return table(("transform", "where", "values", "does, for example"), rows)


def later_part(seen: Inspection) -> str:
    """What other transforms lead to."""
    return bullets([
        f"{code(item.transform)} on {', '.join(code(site.label) for site in item.sites)}, "
        f"after {', '.join(map(code, item.after))}"
        for item in seen.later
    ])  # fmt: skip


def refusals_part(seen: Inspection) -> str:
    """What an assumption would lift, assumption by assumption, then the rest."""
    hows = {grant.name: grant.how for grant in seen.grants}
    parts = []
    for name in dict.fromkeys(group.grant for group in seen.refusals):
        lines = []
        for group in (group for group in seen.refusals if group.grant == name):
            places = ", ".join(
                code(f"{at.transform}@{at.site}") + (f" ({_link(at.line)})" if at.line else "") for at in group.moves
            )
            more = "".join(f"; {text(then)}" for then in group.then)
            lines.append(f'{text(group.reason)} <span class="muted">so not {places}{more}</span>')
        title = f"Unless the campaign grants {code(hows.get(name, name))}:" if name else "Whatever it grants:"
        parts.append(f'<p class="note">{title}</p>{bullets(lines)}')
    return "".join(parts)


def opaque_part(seen: Inspection) -> str:
    """Regions and calls."""
    rows = [
        [_link(region.line), text(region.why), f"<pre><code>{text(region.text)}</code></pre>"] for region in seen.opaque
    ]
    return table(("line", "why", "text"), rows)


def _link(line: int) -> str:
    return f'<a class="chip" href="#L{line}">line {line}</a>' if line else ""

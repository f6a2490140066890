"""Which transforms apply to a kernel and where, which do after another one, and what an assumption would open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evo.inspection.explore import Explored, Question, explore, gene_of, is_structural, named
from evo.inspection.record import Grant, Later, Offer, Refusals, RefusedAt
from evo.inspection.words import listed
from genome.genes import Genome
from genome.moves import Move, RefusedMove, line_of
from genome.spec import Assumptions, KernelSpec, Steering

FORBIDDEN = "the campaign forbids it (transforms.forbid, transforms.focus)"
_SITE = "\0"  # stands for the name of a site in a reason


@dataclass(frozen=True)
class Possibilities:
    """The answer, in the order in which it is read: offers, then what they lead to, then what is in the way."""

    offers: tuple[Offer, ...]
    later: tuple[Later, ...]
    refusals: tuple[Refusals, ...]
    grants: tuple[Grant, ...]


def possibilities(question: Question) -> Possibilities:
    """Everything that could be done to the untouched kernel, and what could not, with the reasons."""
    here = explore(question, depth=2)
    granted = _granted(question, here)
    refused = [*here.refused, *_forbidden(question, here)]
    left = [item for item in refused if named(item) not in here.awaited]
    grants = [_grant(name, here, there) for name, there in granted.items()]
    return Possibilities(
        _offers(question, here.found),
        here.later,
        _grouped(left, here, granted),
        tuple(sorted(grants, key=lambda grant: -len(grant.opens) - sum(len(item.sites) for item in grant.later))),
    )


def _forbidden(question: Question, here: Explored) -> tuple[RefusedMove, ...]:
    """What would apply but for the campaign's own steering."""
    steering = question.spec.steering
    if not steering.forbid and not steering.focus:
        return ()
    free = replace(question, spec=replace(question.spec, steering=Steering(pin=steering.pin)))
    have = {named(move) for move in here.found}
    return tuple(
        RefusedMove(move.transform, move.site, FORBIDDEN, line=line_of(question.spec, question.kernel, move.site))
        for move in free.survey(Genome())[0]
        if named(move) not in have
    )


def _offers(question: Question, found: Sequence[Move]) -> tuple[Offer, ...]:
    """One a transform and domain: sites that take the same parameters stand together."""
    groups: dict[tuple[str, str], list[Move]] = {}
    for move in found:
        groups.setdefault((move.transform.name, repr(sorted(move.domain.items()))), []).append(move)
    made = []
    for group in groups.values():
        first = group[0]
        what = first.transform.describe(first.site, gene_of(first).values)
        sites = question.sites(group)
        made.append(Offer(first.transform.name, is_structural(first.transform), what, sites, dict(first.domain)))
    return tuple(sorted(made, key=lambda offer: not offer.structural))


def _granted(question: Question, here: Explored) -> dict[str, Explored | None]:
    """What applies under each assumption that a refusal asks for; None where a yes is not enough."""
    found: dict[str, Explored | None] = {}
    for name in dict.fromkeys(item.grant for item in here.refused if item.grant):
        deep = any(is_structural(item.transform) for item in here.refused if item.grant == name)
        spec = _granting(question.spec, name)
        found[name] = None if spec is None else explore(replace(question, spec=spec), depth=int(deep))
    return found


def _granting(spec: KernelSpec, name: str) -> KernelSpec | None:
    """The spec with the assumption granted; None for one that takes more than a yes."""
    field = name.removeprefix("assume.")
    if not isinstance(getattr(spec.assumptions, field, None), bool):
        return None
    given: dict[str, Any] = {field: True}
    return replace(spec, assumptions=replace(spec.assumptions, **given))


def how_to_grant(name: str) -> str:
    """``assume.no_alias`` as it stands in a campaign."""
    field = name.removeprefix("assume.")
    return f"assume: {{{field}: true}}" if isinstance(getattr(Assumptions(), field, None), bool) else name


def _grant(name: str, here: Explored, there: Explored | None) -> Grant:
    """The assumption with what it would really open, found by granting it."""
    if there is None:
        return Grant(name, how_to_grant(name), ())
    have = {named(move) for move in here.found}
    opens = tuple(named(move) for move in there.found if named(move) not in have)
    later: list[Later] = []
    for item in there.later:
        sites = tuple(site for site in item.sites if f"{item.transform}@{site.label}" not in here.awaited)
        later += [replace(item, sites=sites)] if sites else []
    return Grant(name, how_to_grant(name), opens, tuple(later))


def _grouped(
    refused: Iterable[RefusedMove], here: Explored, granted: Mapping[str, Explored | None]
) -> tuple[Refusals, ...]:
    """Reasons that differ by the name of the site alone stand together: first those that an assumption would lift,
    then those that stand against most.
    """
    groups: dict[tuple[str, str], list[RefusedMove]] = {}
    for item in refused:
        groups.setdefault((_shape(item.reason, item.site.label), item.grant), []).append(item)
    made = []
    for (shape, grant), items in groups.items():
        labels = [item.site.label for item in items]
        thens: dict[str, list[str]] = {}
        for item in items:
            then = _then(item, granted.get(grant)) if grant else here.then.get(named(item), "")
            thens.setdefault(_shape(then, item.site.label), []).append(item.site.label)
        made.append(Refusals(
            shape.replace(_SITE, listed(labels)), grant,
            tuple(RefusedAt(item.transform.name, item.site.label, item.line) for item in items),
            tuple(then.replace(_SITE, listed(own)) for then, own in thens.items() if then),
        ))  # fmt: skip
    return tuple(sorted(made, key=lambda group: (not group.grant, -len(group.moves))))


def _shape(reason: str, label: str) -> str:
    return re.sub(rf"\b{re.escape(label)}\b", _SITE, reason)


def _then(item: RefusedMove, there: Explored | None) -> str:
    """Why the move would not apply if its assumption were granted; empty if it would."""
    if there is None or named(item) in there.awaited:
        return ""
    reason = next((other.reason for other in there.refused if named(other) == named(item)), "")
    return f"granted: {reason}" if reason else ""

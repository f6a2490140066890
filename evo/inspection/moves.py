"""Which transforms apply to a kernel and where, which do after another one, and what an assumption would open."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evo.inspection.record import Grant, Later, Offer, Refusals, RefusedAt, SiteView
from evo.inspection.words import listed
from genome.genes import Gene, Genome
from genome.ir.kernel import Kernel
from genome.limits import DeviceLimits
from genome.moves import Move, RefusedMove, line_of, moves, survey
from genome.spec import Assumptions, KernelSpec, Steering
from genome.transforms.base import Phase, Transform
from genome.variant import Target

_SITE = "\0"  # stands for the name of a site in a reason
FORBIDDEN = "the campaign forbids it (transforms.forbid, transforms.focus)"

_SHALLOW = frozenset({"macro", "block_shape", "specialise", "grid_stride"})  # the body stays the user's own


@dataclass(frozen=True)
class Question:
    """Whose moves are asked for; ``kernel`` is the kernel as the user wrote it, for the lines of sites."""

    spec: KernelSpec
    kernel: Kernel
    transforms: Sequence[Transform]
    target: Target
    limits: DeviceLimits

    def moves(self, genome: Genome, only: Collection[str] | None = None) -> tuple[Move, ...]:
        """What applies on top of the genome."""
        return moves(self.spec, genome, self.transforms, self.target, self.limits, only)

    def sites(self, places: Iterable[Move | RefusedMove]) -> tuple[SiteView, ...]:
        """The places with their lines; where some are names of the user's, those that are not are left out."""
        views = [SiteView(p.site.label, p.site.role, line_of(self.spec, self.kernel, p.site)) for p in places]
        return tuple([view for view in views if view.line] or views)


@dataclass(frozen=True)
class Possibilities:
    """The answer, in the order in which it is read: offers, then what they lead to, then what is in the way."""

    offers: tuple[Offer, ...]
    later: tuple[Later, ...]
    refusals: tuple[Refusals, ...]
    grants: tuple[Grant, ...]

    @property
    def structural(self) -> bool:
        """True if a transform that rewrites the body applies."""
        return any(offer.structural for offer in self.offers)


def is_structural(transform: Transform) -> bool:
    """True if it rewrites the body, beyond launch shape, macros, fixed sizes, qualifiers and options."""
    return transform.phase is not Phase.LAUNCH and transform.name not in _SHALLOW


def named(move: Move | RefusedMove) -> str:
    """``unroll@k``."""
    return f"{move.transform.name}@{move.site.label}"


def possibilities(question: Question) -> Possibilities:
    """Everything that could be done to the untouched kernel, and what could not, with the reasons."""
    here = _explore(question, depth=2)
    granted = _granted(question, here)
    refused = [*here.refused, *_forbidden(question, here)]
    left = [item for item in refused if named(item) not in here.awaited]
    grants = tuple(_grant(name, here, there) for name, there in granted.items())
    return Possibilities(
        _offers(question, here.found),
        here.later,
        _grouped(left, granted),
        tuple(sorted(grants, key=lambda grant: -len(grant.opens) - sum(len(item.sites) for item in grant.later))),
    )


@dataclass(frozen=True)
class _Explored:
    """What applies to the untouched kernel, what does not, and what would after one or two others."""

    found: tuple[Move, ...]
    refused: tuple[RefusedMove, ...]
    later: tuple[Later, ...]

    @property
    def awaited(self) -> set[str]:
        return {f"{item.transform}@{site.label}" for item in self.later for site in item.sites}


def _explore(question: Question, depth: int) -> _Explored:
    """What applies, and what would after up to ``depth`` transforms, each run wherever it applies."""
    found, refused = survey(question.spec, Genome(), question.transforms, question.target, question.limits)
    here = {named(move) for move in found}
    known = {move.transform.name for move in found} | {item.transform.name for item in refused}
    waiting = {named(item) for item in refused}
    asked = {t.name for t in question.transforms} - known | {item.transform.name for item in refused}
    seen: dict[str, tuple[Move, tuple[str, ...]]] = {}

    def run(groups: Mapping[str, Sequence[Move]]) -> list[Move]:
        """What is new once these have run."""
        genome = Genome(tuple(_gene(move) for group in groups.values() for move in group))
        after = question.moves(genome, asked)
        fresh = [move for move in after if named(move) not in here and named(move) not in seen]
        fresh = [move for move in fresh if named(move) in waiting or move.transform.name not in known]
        seen.update((named(move), (move, tuple(groups))) for move in fresh)
        return fresh

    paths: list[Mapping[str, Sequence[Move]]] = [{}]
    layer: Mapping[int, Sequence[Move]] = {0: found}
    for _ in range(depth):
        longer: list[Mapping[str, Sequence[Move]]] = []
        for number, path in enumerate(paths):
            for name, group in _by_name(layer[number]).items():
                if is_structural(group[0].transform):
                    longer.append({**path, name: group})
        paths, layer = longer, {number: run(path) for number, path in enumerate(longer)}
    places: dict[tuple[str, tuple[str, ...]], list[Move]] = {}
    for move, after in seen.values():
        places.setdefault((move.transform.name, after), []).append(move)
    later = tuple(Later(name, question.sites(group), after) for (name, after), group in places.items())
    return _Explored(found, refused, later)


def _by_name(found: Iterable[Move]) -> dict[str, list[Move]]:
    groups: dict[str, list[Move]] = {}
    for move in found:
        groups.setdefault(move.transform.name, []).append(move)
    return groups


def _gene(move: Move) -> Gene:
    """The move with the second value of each domain: the first one is often the least that it can do."""
    return Gene.of(move.transform.name, move.site, **{name: values[:2][-1] for name, values in move.domain.items()})


def _forbidden(question: Question, here: _Explored) -> tuple[RefusedMove, ...]:
    """What would apply but for the campaign's own steering."""
    steering = question.spec.steering
    if not steering.forbid and not steering.focus:
        return ()
    free = replace(question, spec=replace(question.spec, steering=Steering(pin=steering.pin)))
    have = {named(move) for move in here.found}
    return tuple(
        RefusedMove(move.transform, move.site, FORBIDDEN, line=line_of(question.spec, question.kernel, move.site))
        for move in free.moves(Genome())
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
        what = first.transform.describe(first.site, _gene(first).values)
        sites = question.sites(group)
        made.append(Offer(first.transform.name, is_structural(first.transform), what, sites, dict(first.domain)))
    return tuple(sorted(made, key=lambda offer: not offer.structural))


def _granted(question: Question, here: _Explored) -> dict[str, _Explored | None]:
    """What applies under each assumption that a refusal asks for; None where a yes is not enough."""
    found: dict[str, _Explored | None] = {}
    for name in dict.fromkeys(item.grant for item in here.refused if item.grant):
        deep = any(is_structural(item.transform) for item in here.refused if item.grant == name)
        spec = _granting(question.spec, name)
        found[name] = None if spec is None else _explore(replace(question, spec=spec), depth=int(deep))
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


def _grant(name: str, here: _Explored, there: _Explored | None) -> Grant:
    """The assumption with what it would really open, found by granting it."""
    if there is None:
        return Grant(name, how_to_grant(name), ())
    have = {named(move) for move in here.found}
    opens = tuple(named(move) for move in there.found if named(move) not in have)
    later = []
    for item in there.later:
        sites = tuple(site for site in item.sites if f"{item.transform}@{site.label}" not in here.awaited)
        later += [replace(item, sites=sites)] if sites else []
    return Grant(name, how_to_grant(name), opens, tuple(later))


def _grouped(refused: Iterable[RefusedMove], granted: Mapping[str, _Explored | None]) -> tuple[Refusals, ...]:
    """Reasons that differ by the name of the site alone stand together: first those that an assumption would lift,
    then those that stand against most.
    """
    groups: dict[tuple[str, str], list[tuple[str, RefusedAt]]] = {}
    for item in refused:
        there = granted.get(item.grant)
        reasons = {named(other): other.reason for other in there.refused} if there is not None else {}
        then = "" if there is None or named(item) in there.awaited else reasons.get(named(item), "")
        place = RefusedAt(item.transform.name, item.site.label, item.line, then)
        shape = re.sub(rf"\b{re.escape(item.site.label)}\b", _SITE, item.reason)
        groups.setdefault((shape, item.grant), []).append((item.site.label, place))
    made = (
        Refusals(shape.replace(_SITE, listed(name for name, _ in places)), grant, tuple(place for _, place in places))
        for (shape, grant), places in groups.items()
    )
    return tuple(sorted(made, key=lambda group: (not group.grant, -len(group.moves))))

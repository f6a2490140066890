"""Checks of what a person steers: vetoes and focus name sites that can be there, and pins apply as they stand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from evo.campaign_yaml import Document, FieldPath
from evo.nearest import nearest
from genome.genes import Gene, Genome, ParamValue, Site
from genome.ir.kernel import Kernel
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import survey
from genome.replay import replay, with_pins
from genome.source.lines import extent
from genome.spec import KernelSpec, Steering
from genome.steering import allowed, line_range, stands_at
from genome.transforms.base import Context, Transform
from genome.transforms.sites import find_site
from genome.variant import Rejection, Target

_STEPS = 3  # genes on top of one another that may be needed before a site appears (k_inner needs strip)


def check_steering(spec: KernelSpec, document: Document, device: str, transforms: Sequence[Transform]) -> None:
    """Vetoes, focus and pins name transforms and sites that can be there, and do not contradict one another.

    Args:
        spec: The kernel with its steering.
        document: For lines.
        device: ``auto``, ``opencl:0``, ``cuda:0``: a gene has to apply on one of the devices that this can mean.
        transforms: All that there are.

    Raises:
        CampaignError: At the first that does not.
    """
    if not (spec.steering.forbid or spec.steering.focus or spec.steering.pin):
        return
    limits = spec.limits or DeviceLimits()
    wanted = [target for target in Target if target.value == device.partition(":")[0]] or list(Target)
    contexts = [Context(spec, target, limits) for target in wanted]
    by_name = {transform.name: transform for transform in transforms}
    _check_entries(spec, document, by_name, contexts)
    _check_pins(spec, document, by_name, contexts)
    if spec.steering.focus:
        _check_focus(spec, document, by_name, contexts)


def _check_entries(
    spec: KernelSpec, document: Document, by_name: dict[str, Transform], contexts: Sequence[Context]
) -> None:
    for field, entries in (("forbid", spec.steering.forbid), ("focus", spec.steering.focus)):
        for number, text in enumerate(entries):
            where: FieldPath = ("transforms", field, number)
            name, at, place = text.partition("@")
            if not (name or at) or (at and not place.strip()):
                raise document.error(where, f"expected `transform`, `transform@site` or `@site`, got '{text}'")
            if name and name not in by_name:
                raise document.error(where, f"unknown transform '{name}'; {nearest(name, sorted(by_name))}")
            _check_lines(spec, place, where, document)
            if place:
                _check_place(spec, name, place, where, document, by_name, contexts)


def _check_lines(spec: KernelSpec, place: str, where: FieldPath, document: Document) -> None:
    """A line range lies in the kernel."""
    lines = line_range(place)
    if lines is None:
        return
    if lines[0] > lines[1]:
        raise document.error(where, f"expected the first line before the last, got '{place}'")
    first, last = extent(spec)
    if lines[1] < first or lines[0] > last:
        raise document.error(where, f"kernel '{spec.entry}' stands on lines {first}-{last} of {spec.path}, not {place}")


def _check_place(
    spec: KernelSpec, name: str, place: str, where: FieldPath, document: Document, by_name: dict[str, Transform],
    contexts: Sequence[Context],
) -> None:  # fmt: skip
    """Some transform (the named one) has the site, or has it once other genes are there."""
    seen: dict[str, None] = {}
    for transform, site in _reachable(spec, tuple(by_name.values()), contexts):
        if name in ("", transform):
            if stands_at(spec, place, site):
                return
            seen.setdefault(site.label)
    if line_range(place) is not None:
        who = name or "a transform"
        raise document.error(where, f"nothing that {who} could change stands on {place} of {spec.path}")
    missing = f"{name} has no site '{place}'" if name else f"no transform has a site '{place}'"
    raise document.error(where, f"{missing} in this kernel; {_choice(place, list(seen))}")


def _choice(name: str, known: Sequence[str]) -> str:
    """The nearest and all of them."""
    every = f"possible: {', '.join(known)}" if known else "it has none here"
    hint = nearest(name, known)
    return f"{hint} ({every})" if hint.startswith("did") else every


def _reachable(
    spec: KernelSpec, transforms: Sequence[Transform], contexts: Sequence[Context]
) -> Iterator[tuple[str, Site]]:
    """(transform, site) of the kernel as it is, then those that appear after one gene, two, three."""
    free = replace(spec, steering=Steering())
    seen: set[tuple[str, Site]] = set()
    layer = list(dict.fromkeys([Genome(), with_pins(spec, Genome())]))
    for _ in range(_STEPS + 1):
        deeper: list[Genome] = []
        for genome in layer:
            for context in contexts:
                new = [item for item in _sites(free, genome, transforms, context) if item not in seen]
                seen.update(new)
                yield from new
                if new:
                    moves, _ = survey(free, genome, transforms, context.target, context.limits)
                    genes = (Gene.of(m.transform.name, m.site, **{n: v[0] for n, v in m.domain.items()}) for m in moves)
                    deeper += [genome.with_gene(gene) for gene in genes]
        layer = list(dict.fromkeys(deeper))


def _sites(
    spec: KernelSpec, genome: Genome, transforms: Sequence[Transform], context: Context
) -> list[tuple[str, Site]]:
    kernels = dict(replay(spec, genome, transforms, replace(context, spec=spec)).before)
    return [(t.name, s) for t in transforms if context.target in t.targets for s in t.sites(kernels[t.phase])]


def _check_pins(
    spec: KernelSpec, document: Document, by_name: dict[str, Transform], contexts: Sequence[Context]
) -> None:
    """Each pin applies on top of those that run before it, and all of them together give a variant."""
    pins = [Gene.from_json(json.loads(text)) for text in spec.steering.pin]
    where: FieldPath = ("transforms", "pin")
    for number, gene in enumerate(pins):
        if gene.transform not in by_name:
            hint = nearest(gene.transform, sorted(by_name))
            raise document.error((*where, number, "transform"), f"unknown transform '{gene.transform}'; {hint}")
        if gene.key in [other.key for other in pins[:number]]:
            raise document.error((*where, number), f"{_named(gene)} is pinned twice; keep one of them")
    order = sorted(range(len(pins)), key=lambda number: (by_name[pins[number].transform].phase, number))
    for position, number in enumerate(order):
        earlier = tuple(spec.steering.pin[other] for other in order[:position])
        found = [_pin_problem(spec, pins[number], earlier, by_name, context) for context in contexts]
        first = next((problem for problem in found if problem is not None), None)
        if first is not None and None not in found:
            raise document.error((*where, number, *first[0]), first[1])
    together = [lower(spec, Genome(), tuple(by_name.values()), context.target, context.limits) for context in contexts]
    refused = [result for result in together if isinstance(result, Rejection)]
    if pins and len(refused) == len(together):
        raise document.error(where, f"together they give no kernel that could run: {refused[0].reason}")


def _named(gene: Gene) -> str:
    return f"{gene.transform}@{gene.site.label}"


def _pin_problem(
    spec: KernelSpec, gene: Gene, earlier: tuple[str, ...], by_name: dict[str, Transform], context: Context
) -> tuple[FieldPath, str] | None:
    """Which part of the pin is wrong on top of the earlier ones, and why; None if it applies."""
    transform = by_name[gene.transform]
    if context.target not in transform.targets:
        return (), f"{transform.name} cannot be printed for {context.target.value}; remove it"
    kernel, plain = (_kernel(spec, pins, transform, by_name, context) for pins in (earlier, ()))
    sites = transform.sites(kernel)
    site = find_site(sites, gene.site)
    if site is None:
        known = [found.label for found in sites]
        return ("site",), _no_site(spec, gene, known, by_name, context)
    if not allowed(replace(spec, steering=Steering(forbid=spec.steering.forbid)), gene.transform, site):
        return (), f"{_named(gene)} is forbidden too (transforms.forbid); remove one of them"
    domain = _domains(transform, (plain, kernel), context) | dict(transform.domain(kernel, site, context))
    for name in gene.values:
        if name not in domain:
            return ("params", name), f"unknown parameter; {nearest(name, domain) if domain else 'it takes none'}"
    for name, values in domain.items():
        if name not in gene.values:
            return ("params",), f"`{name}:` is missing; possible: {', '.join(map(str, values))}"
        if not _is_like(gene.values[name], values):
            return ("params", name), f"expected a number like {', '.join(map(str, values))}, got {gene.values[name]!r}"
    refusal = transform.check(kernel, site, gene.values, context)
    if refusal is None:
        return None
    grant = f"; grant it with `{refusal.grant}: true`" if refusal.grant else ""
    return (), f"{_named(gene)} does not apply: {refusal.reason}{grant or _worth(domain)}"


def _no_site(
    spec: KernelSpec, gene: Gene, known: Sequence[str], by_name: dict[str, Transform], context: Context
) -> str:
    """Why a pin finds no site: it may need another gene first."""
    label = gene.site.label
    for transform, site in _reachable(spec, tuple(by_name.values()), [context]):
        if transform == gene.transform and label in (site.label, site.role):
            if label == site.role and label != site.label:
                return f"'{label}' is a role; write `site: {{label: {site.label}, role: '{label}'}}`"
            return f"'{label}' is there only once other genes are; pin those too, in front of it"
    return f"{gene.transform} has no site '{label}' here; {_choice(label, known)}"


def _kernel(
    spec: KernelSpec, pins: tuple[str, ...], transform: Transform, by_name: dict[str, Transform], context: Context
) -> Kernel:
    """What the transform sees once these pins have run."""
    held = replace(spec, steering=Steering(pin=pins))
    return dict(replay(held, Genome(), tuple(by_name.values()), context).before)[transform.phase]


def _domains(transform: Transform, kernels: Sequence[Kernel], context: Context) -> dict[str, Any]:
    """Parameters of the transform at any of its sites: where nothing is worth proposing there may be none."""
    found: dict[str, Any] = {}
    for kernel in kernels:
        for site in transform.sites(kernel):
            found |= dict(transform.domain(kernel, site, context))
    return found


def _is_like(value: ParamValue, values: Sequence[ParamValue]) -> bool:
    """A number where numbers are offered (a switch where 0 and 1 are); the transform's own check does the rest."""
    if not values or isinstance(values[0], str):
        return True
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return False
    return value <= 1 or not set(values) <= {0, 1}


def _worth(domain: dict[str, Any]) -> str:
    texts = [f"{name} {', '.join(map(str, values))}" for name, values in domain.items() if values]
    return f"; worth trying: {'; '.join(texts)}" if texts else ""


def _check_focus(
    spec: KernelSpec, document: Document, by_name: dict[str, Transform], contexts: Sequence[Context]
) -> None:
    """Something is left that applies."""
    reasons: list[str] = []
    for context in contexts:
        moves, refused = survey(spec, Genome(), tuple(by_name.values()), context.target, context.limits)
        if moves:
            return
        for item in refused:
            grant = f" (grant it with `{item.grant}: true`)" if item.grant else ""
            reasons.append(f"{item.transform.name}@{item.site.label}: {item.reason}{grant}")
    why = next(iter(reasons), "")
    raise document.error(("transforms", "focus"), f"leaves nothing that applies{'; ' + why if why else ''}; widen it")

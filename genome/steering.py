"""A person's veto over genes: what a campaign forbids, or narrows the search to."""

from __future__ import annotations

import re
from collections.abc import Iterable

from genome.genes import Site
from genome.source.lines import lines_of
from genome.spec import KernelSpec

_LINES = re.compile(r"^(\d+)(?:-(\d+))?$")


def allowed(spec: KernelSpec, transform: str, site: Site) -> bool:
    """True if ``forbid`` and ``focus`` leave this transform at this site (named by label, role or source lines)."""
    steering = spec.steering
    if _named(spec, steering.forbid, transform, site):
        return False
    return not steering.focus or _named(spec, steering.focus, transform, site)


def line_range(place: str) -> tuple[int, int] | None:
    """First and last line that a site like ``12`` or ``10-14`` names; None for a label or role."""
    match = _LINES.match(place.strip())
    return (int(match.group(1)), int(match.group(2) or match.group(1))) if match else None


def _named(spec: KernelSpec, entries: Iterable[str], transform: str, site: Site) -> bool:
    for entry in entries:
        name, _, place = entry.partition("@")
        if name in ("", transform) and (not place or stands_at(spec, place, site)):
            return True
    return False


def stands_at(spec: KernelSpec, place: str, site: Site) -> bool:
    """True if the place (a label, a role, ``12`` or ``10-14``) names the site."""
    lines = line_range(place)
    if lines is None:
        return place in (site.label, site.role)
    return any(lines[0] <= line <= lines[1] for line in lines_of(spec, site.label))

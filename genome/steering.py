"""A person's veto over genes: what a campaign forbids, or narrows the search to."""

from __future__ import annotations

from genome.genes import Site
from genome.spec import Steering


def allowed(steering: Steering, transform: str, site: Site) -> bool:
    """True if ``forbid`` and ``focus`` leave this transform at this site (named by its label or its role)."""
    keys = {transform, f"{transform}@{site.label}", f"@{site.label}", f"@{site.role}", f"{transform}@{site.role}"}
    if keys & set(steering.forbid):
        return False
    return not steering.focus or bool(keys & set(steering.focus))

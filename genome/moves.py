"""What can still be done to a genome: every applicable (transform, site, parameters), as the agents see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genome.genes import Gene, Genome, ParamValue, Site
from genome.limits import DeviceLimits
from genome.replay import replay
from genome.spec import KernelSpec
from genome.steering import allowed
from genome.transforms.base import Context, Transform
from genome.transforms.sites import find_site
from genome.variant import Target


@dataclass(frozen=True)
class Move:
    """A transform that applies at a site on top of a genome.

    Attributes:
        transform: The transform.
        site: Where.
        domain: Values of each parameter for which its check passes on their own; empty for no parameters.
        current: The gene of the genome that already sits there, or None.
    """

    transform: Transform
    site: Site
    domain: Mapping[str, tuple[ParamValue, ...]]
    current: Gene | None = None


@dataclass(frozen=True)
class RefusedMove:
    """A transform that does not apply at a site, with the reason and what would grant it."""

    transform: Transform
    site: Site
    reason: str
    grant: str = ""


def moves(
    spec: KernelSpec, genome: Genome, transforms: Sequence[Transform], target: Target, limits: DeviceLimits
) -> tuple[Move, ...]:
    """Every move on top of the genome, in a fixed order.

    Raises:
        SourceError: If the kernel cannot be parsed.
    """
    found, _ = survey(spec, genome, transforms, target, limits)
    return found


def survey(
    spec: KernelSpec, genome: Genome, transforms: Sequence[Transform], target: Target, limits: DeviceLimits
) -> tuple[tuple[Move, ...], tuple[RefusedMove, ...]]:
    """Moves that apply on top of the genome, and those that do not with their reasons."""
    context = Context(spec, target, limits)
    kernels = dict(replay(spec, genome, transforms, context).before)
    found: list[Move] = []
    refused: list[RefusedMove] = []
    for transform in transforms:
        if target not in transform.targets:
            continue
        kernel = kernels[transform.phase]
        for site in transform.sites(kernel):
            if not allowed(spec, transform.name, site):
                continue
            own = (gene for gene in genome.genes if gene.transform == transform.name)
            current = next((gene for gene in own if find_site((site,), gene.site) is not None), None)
            domain = transform.domain(kernel, site, context)
            passing: dict[str, tuple[ParamValue, ...]] = {}
            reason = ""
            for name, values in domain.items():
                others = {other: choices[0] for other, choices in domain.items() if other != name and choices}
                good = []
                for value in values:
                    refusal = transform.check(kernel, site, {**others, name: value}, context)
                    if refusal is None:
                        good.append(value)
                    else:
                        reason, grant = refusal.reason, refusal.grant
                passing[name] = tuple(good)
            if not domain:
                refusal = transform.check(kernel, site, {}, context)
                if refusal is not None:
                    refused.append(RefusedMove(transform, site, refusal.reason, refusal.grant))
                    continue
            if all(passing.values()):
                found.append(Move(transform, site, passing, current))
            elif reason:
                refused.append(RefusedMove(transform, site, reason, grant))
    return tuple(found), tuple(refused)

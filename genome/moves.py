"""What can still be done to a genome: every applicable (transform, site, parameters), as the agents see it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from genome.analysis.effects import reads_of
from genome.analysis.wide import APART, wide_arrays
from genome.genes import Gene, Genome, ParamValue, Site
from genome.ir.expr import Index, names
from genome.ir.kernel import Kernel
from genome.ir.stmt import Loop, expressions, flatten, writes
from genome.limits import DeviceLimits
from genome.replay import replay
from genome.source.frontend import SourceError
from genome.source.lines import lines_of
from genome.spec import KernelSpec
from genome.steering import allowed
from genome.transforms.base import Context, Phase, Refusal, Transform
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
    """A transform that does not apply at a site.

    Attributes:
        transform: The transform.
        site: Where.
        reason: Why not.
        grant: What the campaign would have to grant; empty where nothing would help.
        line: Where the site stands in the file; 0 where it is no part of the user's text.
    """

    transform: Transform
    site: Site
    reason: str
    grant: str = ""
    line: int = 0


def moves(
    spec: KernelSpec,
    genome: Genome,
    transforms: Sequence[Transform],
    target: Target,
    limits: DeviceLimits,
    only: Collection[str] | None = None,
) -> tuple[Move, ...]:
    """Every move on top of the genome, in a fixed order; with ``only``, those of the transforms of these names.

    Raises:
        SourceError: If the kernel cannot be parsed.
    """
    context = Context(spec, target, limits)
    kernels = dict(replay(spec, genome, transforms, context).before)
    return tuple(
        outcome
        for transform, site in _places(spec, kernels, transforms, target, only)
        if isinstance(outcome := _outcome(transform, site, kernels, genome, context), Move)
    )


def survey(
    spec: KernelSpec,
    genome: Genome,
    transforms: Sequence[Transform],
    target: Target,
    limits: DeviceLimits,
    only: Collection[str] | None = None,
) -> tuple[tuple[Move, ...], tuple[RefusedMove, ...]]:
    """Moves that apply on top of the genome, and those that do not, with reason and line. Slower than ``moves``.

    With ``only``, those of the transforms of these names.

    Raises:
        SourceError: If the kernel cannot be parsed.
    """
    context = Context(spec, target, limits)
    kernels = dict(replay(spec, genome, transforms, context).before)
    found: list[Move] = []
    refused: list[RefusedMove] = []
    lines: dict[Site, int] = {}
    for transform, site in _places(spec, kernels, transforms, target, only):
        outcome = _outcome(transform, site, kernels, genome, context)
        if isinstance(outcome, Move):
            found.append(outcome)
        elif outcome is not None:
            if site not in lines:
                lines[site] = line_of(spec, kernels[Phase.NORMALISE], site)
            refused.append(replace(outcome, line=lines[site]))
    return tuple(found), tuple(refused)


def line_of(spec: KernelSpec, kernel: Kernel, site: Site) -> int:
    """The line of a site: of a loop its ``for``, of an array its first access, of an axis its declaration; else 0.

    ``kernel`` is the kernel as the user wrote it.
    """
    for stmt in flatten(kernel.body):
        if isinstance(stmt, Loop) and stmt.var == site.label and stmt.line:
            return stmt.line
    pointers = {param.name for param in kernel.params if param.pointer}
    for stmt in flatten(kernel.body) if site.label in pointers else ():
        touched = (*reads_of(stmt), *(target for target in writes(stmt) if isinstance(target, Index)))
        called = {name for expr in expressions(stmt) for name in names(expr)}
        if stmt.line and (site.label in called or any(access.array == site.label for access in touched)):
            return stmt.line
    try:
        return min(lines_of(spec, site.label), default=0)
    except SourceError:
        return 0


def _places(
    spec: KernelSpec,
    kernels: Mapping[Phase, Kernel],
    transforms: Sequence[Transform],
    target: Target,
    only: Collection[str] | None,
) -> Iterator[tuple[Transform, Site]]:
    """Every (transform, site) that the target has and the campaign's steering leaves."""
    for transform in transforms:
        if target in transform.targets and (only is None or transform.name in only):
            sites = transform.sites(kernels[transform.phase])
            yield from ((transform, site) for site in sites if allowed(spec, transform.name, site))


def _outcome(
    transform: Transform, site: Site, kernels: Mapping[Phase, Kernel], genome: Genome, context: Context
) -> Move | RefusedMove | None:
    """What the check says at a site, each parameter varied on its own; None where nothing is worth proposing."""
    if transform.phase < Phase.VECTOR and site.label in wide_arrays(kernels[Phase.NORMALISE]):
        return RefusedMove(transform, site, APART, "")
    kernel = kernels[transform.phase]
    domain = transform.domain(kernel, site, context)
    refusal = None if domain else transform.check(kernel, site, {}, context)
    passing: dict[str, tuple[ParamValue, ...]] = {}
    for name, values in domain.items():
        others = {other: choices[0] for other, choices in domain.items() if other != name and choices}
        good: list[ParamValue] = []
        for value in values:
            problem = transform.check(kernel, site, {**others, name: value}, context)
            if problem is None:
                good.append(value)
            else:
                refusal = problem
        passing[name] = tuple(good)
    if all(passing.values()) if domain else refusal is None:
        return Move(transform, site, passing, _gene_at(transform, site, genome))
    return _refused(transform, site, refusal)


def _gene_at(transform: Transform, site: Site, genome: Genome) -> Gene | None:
    own = (gene for gene in genome.genes if gene.transform == transform.name)
    return next((gene for gene in own if find_site((site,), gene.site) is not None), None)


def _refused(transform: Transform, site: Site, refusal: Refusal | None) -> RefusedMove | None:
    return RefusedMove(transform, site, refusal.reason, refusal.grant) if refusal is not None else None

"""What the engine understands of a kernel, and what it would do with it: the record behind ``evo-tune inspect``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evo.inspection.explore import Question
from evo.inspection.findings import findings
from evo.inspection.memory import access_views, argument_views, reuse_views
from evo.inspection.missing import missing_headers, unfilled_variables
from evo.inspection.moves import Possibilities, possibilities
from evo.inspection.record import Inspection, KernelView
from evo.inspection.summary import summary
from evo.inspection.views import (
    alias_views,
    axis_views,
    barrier_views,
    branch_views,
    dependence_views,
    idiom_views,
    loop_views,
    opaque_views,
    race_views,
    work_view,
)
from genome.analysis.analyse import analyse
from genome.analysis.effects import cooperates
from genome.analysis.facts import KernelFacts
from genome.ir.kernel import Kernel
from genome.limits import DeviceLimits
from genome.replay import spec_kernel
from genome.source.frontend import parse_kernel
from genome.source.lines import extent
from genome.spec import KernelSpec, Reading
from genome.transforms.base import Transform
from genome.variant import Target


def inspect_kernel(
    spec: KernelSpec,
    transforms: Sequence[Transform],
    target: Target,
    limits: DeviceLimits | None = None,
    campaign: str = "",
    guesses: Sequence[str] = (),
) -> Inspection:
    """Everything that is known about the untouched kernel of a spec.

    Args:
        spec: The kernel with its launch, sizes and assumptions.
        transforms: Those that may be offered.
        target: Language that it would be printed in.
        limits: Of the device; the spec's own, or those of any device, where none are given.
        campaign: The campaign file, for the reader; empty where there is none.
        guesses: What of the spec was guessed.

    Raises:
        SourceError: If the file cannot be preprocessed, the kernel is not in it, or its body cannot be read.
    """
    kernel = spec_kernel(spec)
    if kernel.verbatim and spec.reading is not Reading.TEXT:
        _refuse(spec)
    facts = analyse(kernel, spec.assumptions, spec.launch.block)
    question = Question(spec, kernel, transforms, target, limits or spec.limits or DeviceLimits())
    seen = _understood(spec, kernel, facts, possibilities(question), campaign, guesses, target)
    return replace(seen, summary=summary(seen), findings=findings(seen))


def _refuse(spec: KernelSpec) -> None:
    """Raises what the front end says of a kernel that it could not read."""
    parse_kernel(spec.source, spec.entry, path=spec.path, template_args=spec.template_args, defines=spec.defines,
                 include_dirs=spec.include_dirs)  # fmt: skip


def _understood(
    spec: KernelSpec, kernel: Kernel, facts: KernelFacts, possible: Possibilities, campaign: str,
    guesses: Sequence[str], target: Target,
) -> Inspection:  # fmt: skip
    """All but the sentences."""
    accesses = access_views(facts, kernel, spec)
    return Inspection(
        kernel=_kernel_view(spec, kernel, campaign, target),
        guesses=tuple(guesses),
        summary=(),
        findings=(),
        idioms=idiom_views(facts),
        arguments=argument_views(kernel, spec, facts, accesses),
        accesses=accesses,
        reuse=reuse_views(facts, spec),
        axes=axis_views(kernel, spec),
        loops=loop_views(kernel, spec, facts, possible.offers),
        branches=branch_views(facts),
        barriers=barrier_views(facts),
        races=race_views(facts),
        dependences=dependence_views(facts),
        aliases=alias_views(facts),
        work=work_view(facts.work, spec),
        opaque=opaque_views(kernel, facts),
        offers=possible.offers,
        later=possible.later,
        refusals=possible.refusals,
        grants=possible.grants,
        missing=missing_headers(spec),
        unfilled=unfilled_variables(kernel),
        source=spec.source,
    )


def _kernel_view(spec: KernelSpec, kernel: Kernel, campaign: str, target: Target) -> KernelView:
    first, last = extent(spec)
    granted = spec.assumptions
    assumed = [name for name in ("no_alias", "reassociation", "fast_math", "tf32") if getattr(granted, name)]
    assumed += [f"alignment {granted.alignment}"] if granted.alignment > 4 else []
    assumed += [f"{by} divides {name}" for name, by in granted.divisible]
    return KernelView(
        entry=spec.entry,
        path=spec.path,
        campaign=campaign,
        line=first,
        last_line=last,
        target=target.value,
        block=spec.launch.block,
        domain=tuple(map(str, spec.launch.domain)),
        grid=tuple(map(str, spec.launch.grid)),
        sizes=tuple(size.label for size in spec.sizes),
        assumed=tuple(assumed),
        geometry=_geometry(spec, kernel, bool(campaign)),
    )


def _geometry(spec: KernelSpec, kernel: Kernel, campaign: bool) -> str:
    """Why no gene changes which thread does what; empty where one may."""
    if kernel.verbatim:
        return "the body is kept as text: it cannot be read as C"
    if kernel.axes:
        return ""
    if not spec.launch.domain:
        who = "the campaign gives" if campaign else "it seems to be launched on"
        return f"{who} a grid of blocks, not a domain with a thread for each point"
    if cooperates(kernel):
        return "its threads share memory or wait for one another, so that its block is part of what it means"
    return "no variable of the form `blockIdx.x * blockDim.x + threadIdx.x`, with a guard, tells what a thread works on"

"""Replays a genome on the pristine kernel, phase by phase; genes that do not apply are skipped with a reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from genome.analysis.casts import mark_rounding
from genome.analysis.effects import cooperates, hard_codes_block
from genome.analysis.wide import APART, wide_arrays
from genome.conditions import launch_reaches
from genome.genes import Gene, Genome
from genome.ir.expr import Binary, Expr, Var, conjunction
from genome.ir.kernel import Kernel
from genome.ir.stmt import Decl, If
from genome.source.frontend import SourceError, parse_kernel
from genome.source.launched import Launched
from genome.source.verbatim import verbatim_kernel
from genome.spec import KernelSpec, LaunchSpec, Reading
from genome.steering import allowed
from genome.transforms.base import Context, Phase, Transform
from genome.transforms.mapping import write_mapping
from genome.transforms.sites import find_site
from genome.variant import SkippedGene


@dataclass(frozen=True)
class Replay:
    """What came of a genome.

    Attributes:
        kernel: The rewritten kernel, mapping written.
        applied: The genes that applied, re-sited to this kernel, in the order in which they ran.
        skipped: The others.
        before: For each phase, the kernel as it was after the phase's own genes (what further genes of it would see).
    """

    kernel: Kernel
    applied: tuple[Gene, ...]
    skipped: tuple[SkippedGene, ...]
    before: tuple[tuple[Phase, Kernel], ...]


@lru_cache(maxsize=64)
def pristine(
    source: str,
    entry: str,
    path: str,
    template_args: tuple[str, ...],
    defines: tuple[tuple[str, str], ...],
    include_dirs: tuple[str, ...],
    text_only: bool = False,
    launched: Launched | None = None,
) -> Kernel:
    """The kernel as the user wrote it, read once a set of defines; as text where it is outside the subset.

    With ``text_only`` its body stays text in any case. ``launched`` is how it is launched, where that is known.

    Raises:
        SourceError: If the file cannot be preprocessed or the kernel is not in it.
    """
    given: dict[str, Any] = {
        "path": path, "template_args": template_args, "defines": defines, "include_dirs": include_dirs
    }  # fmt: skip
    if text_only:
        return verbatim_kernel(source, entry, **given)
    try:
        return mark_rounding(parse_kernel(source, entry, launched=launched, **given))
    except SourceError:
        return verbatim_kernel(source, entry, **given)


def as_written(spec: KernelSpec, kernel: Kernel) -> Kernel:
    """The untouched kernel with the user's own words as its body."""
    text = pristine(
        spec.source, spec.entry, spec.path, spec.template_args, (*spec.defines, *kernel.macros), spec.include_dirs, True
    )
    return replace(kernel, verbatim=text.verbatim, prelude=text.prelude)


def spec_kernel(spec: KernelSpec, macros: tuple[tuple[str, str], ...] = ()) -> Kernel:
    """The pristine kernel of a spec with its launch block, under these values of the tunable macros."""
    chosen = dict(macros)
    tunables = tuple((tunable.name, chosen.get(tunable.name, tunable.values[0])) for tunable in spec.tunables)
    defines = (*spec.defines, *tunables)
    launch = spec.launch.at(tunables)
    given = (spec.source, spec.entry, spec.path, spec.template_args, defines, spec.include_dirs,
             spec.reading is Reading.TEXT)  # fmt: skip
    kernel = pristine(*given, _launched(launch))
    reach = launch_reaches(spec, launch, kernel.axes)
    if reach is None:
        kernel, reach = pristine(*given), ()
    if not launch.domain:
        kernel = lock_geometry(kernel)
    axes = tuple(replace(axis, threads=launch.block["xyz".index(axis.dim)]) for axis in kernel.axes)
    facts = tuple((name, by) for name, by in spec.assumptions.divisible)
    free = launch.domain and not launch.block_exprs and not axes
    free = free and not cooperates(kernel) and not hard_codes_block(kernel, launch.block)
    block = launch.block if free else None
    filled = {arg.name for arg in spec.variables}
    variables = tuple(replace(variable, given=variable.name in filled) for variable in kernel.variables)
    kernel = replace(
        kernel, axes=axes, block=block, multiples=kernel.multiples + facts, macros=tunables, variables=variables
    )
    return kernel.require(*reach)


def _launched(launch: LaunchSpec) -> Launched | None:
    """None where the grid is no domain, or the block follows the user's macros: indices then stay as they are."""
    if not launch.domain or launch.block_exprs:
        return None
    return Launched(launch.block, frozenset("xyz"[len(launch.domain) :]))


def lock_geometry(kernel: Kernel) -> Kernel:
    """The kernel with its axes written back into the body, so that no gene changes the launch geometry."""
    if not kernel.axes:
        return kernel
    terms: list[Expr] = []
    declarations: list[Decl] = []
    for axis in kernel.axes:
        d = axis.dim
        index = Binary("+", Binary("*", Var(f"blockIdx.{d}"), Var(f"blockDim.{d}")), Var(f"threadIdx.{d}"))
        declarations.append(Decl(axis.name, axis.ctype, init=index, const=True))
        if axis.lower is not None:
            terms.append(Binary(">=", Var(axis.name), axis.lower))
        if axis.upper is not None:
            terms.append(Binary("<", Var(axis.name), axis.upper))
    guard = conjunction(terms)
    body = kernel.body if guard is None else (If(guard, kernel.body),)
    return replace(kernel, axes=(), body=(*declarations, *body))


def _is_pinned(spec: KernelSpec, gene: Gene) -> bool:
    return any(Gene.from_json(json.loads(text)) == gene for text in spec.steering.pin)


def with_pins(spec: KernelSpec, genome: Genome) -> Genome:
    """The genome with the campaign's pinned genes in place of whatever it holds at their sites."""
    for text in spec.steering.pin:
        genome = genome.with_gene(Gene.from_json(json.loads(text)))
    return genome


def unpinned(spec: KernelSpec) -> KernelSpec:
    """The spec whose empty genome is the kernel as it is: the baseline holds no pinned genes."""
    return replace(spec, steering=replace(spec.steering, pin=()))


def replay(spec: KernelSpec, genome: Genome, transforms: Sequence[Transform], context: Context) -> Replay:
    """Runs the genes of the genome by phase.

    Raises:
        SourceError: If the kernel cannot be parsed.
    """
    genome = with_pins(spec, genome)
    by_name = {transform.name: transform for transform in transforms}
    macros = tuple((gene.site.label, str(gene.values.get("value", ""))) for gene in genome.genes
                   if gene.transform == "macro")  # fmt: skip
    unknown = tuple(SkippedGene(gene, f"there is no transform named {gene.transform}")
                    for gene in genome.genes if gene.transform not in by_name)  # fmt: skip
    known = [(by_name[gene.transform], gene) for gene in genome.genes if gene.transform in by_name]
    steps: list[Step] = []
    before: list[tuple[Phase, Kernel]] = []
    for phase in Phase:
        if phase is Phase.WARPS:
            steps.append(None)  # the mapping is complete
        steps += [(transform, gene) for transform, gene in known if transform.phase is phase]
        done = progress(context, macros, tuple(steps))
        before.append((phase, done.kernel))
    return Replay(done.kernel, done.applied, unknown + done.skipped, tuple(before))


Step = tuple[Transform, Gene] | None
"""A gene with its transform; None where all digits of the axes are set, and the mapping is written."""


@dataclass(frozen=True)
class Progress:
    """A kernel after some steps, the genes that applied, and those that did not."""

    kernel: Kernel
    applied: tuple[Gene, ...] = ()
    skipped: tuple[SkippedGene, ...] = ()


@lru_cache(maxsize=512)
def progress(context: Context, macros: tuple[tuple[str, str], ...], steps: tuple[Step, ...]) -> Progress:
    """What comes of the first steps of a replay. The last of them are remembered, since a genome begins as its parent
    does, and its moves are what its own steps leave.

    Args:
        context: The kernel's spec among others.
        macros: Values of the tunable macros.
        steps: In the order of their phases.
    """
    if not steps:
        return Progress(spec_kernel(context.spec, macros))
    done, step = progress(context, macros, steps[:-1]), steps[-1]
    if step is None:
        return replace(done, kernel=write_mapping(done.kernel))
    transform, gene = step
    if transform.phase < Phase.VECTOR and gene.site.label in wide_arrays(progress(context, macros, ()).kernel):
        return replace(done, skipped=(*done.skipped, SkippedGene(gene, APART)))
    outcome = _apply(done.kernel, gene, transform, context)
    if isinstance(outcome, SkippedGene):
        return replace(done, skipped=(*done.skipped, outcome))
    kernel, sited = outcome
    return Progress(kernel, (*done.applied, sited), done.skipped)


def _apply(kernel: Kernel, gene: Gene, transform: Transform, context: Context) -> tuple[Kernel, Gene] | SkippedGene:
    if context.target not in transform.targets:
        return SkippedGene(gene, f"{transform.name} cannot be printed for {context.target.value}")
    site = find_site(transform.sites(kernel), gene.site)
    if site is None:
        return SkippedGene(gene, f"there is no site {gene.site.label} ({gene.site.role or 'no role'}) at this point")
    if not allowed(context.spec, gene.transform, site) and not _is_pinned(context.spec, gene):
        return SkippedGene(gene, "the campaign forbids it (transforms.forbid, transforms.focus)")
    refusal = transform.check(kernel, site, gene.values, context)
    if refusal is not None:
        hint = f"; grant it with {refusal.grant}" if refusal.grant else ""
        return SkippedGene(gene, refusal.reason + hint)
    return transform.apply(kernel, site, gene.values, context), Gene(gene.transform, site, gene.params)

"""Prints the winner for a language that it was not tuned in, and composes ``best.cu`` and ``best.cl``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evo.launcher import cuda_program
from evo.launcher_opencl import opencl_program
from genome.genes import Gene, Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.replay import spec_kernel, unpinned
from genome.source.signature import signature
from genome.spec import KernelSpec
from genome.transforms.base import Transform
from genome.variant import Rejection, SkippedGene, Target, Variant


@dataclass(frozen=True)
class Printed:
    """A genome printed for one language.

    Attributes:
        best: The variant.
        baseline: The kernel as it was, in the same language.
        dropped: Genes that do not apply there, with reasons.
    """

    best: Variant
    baseline: Variant
    dropped: tuple[SkippedGene, ...] = ()


class ExportError(Exception):
    """The kernel itself cannot be printed in that language."""


def print_for(spec: KernelSpec, genome: Genome, transforms: Sequence[Transform], target: Target) -> Printed:
    """The genome on the pristine kernel in this language; genes that break a limit there are dropped one by one.

    Raises:
        ExportError: If not even the baseline can be printed.
    """
    limits = spec.limits or DeviceLimits()
    baseline = lower(unpinned(spec), Genome(), transforms, target, limits)
    if isinstance(baseline, Rejection):
        raise ExportError(f"the kernel cannot be printed for {target}: {baseline.reason}")

    def attempt(candidate: Genome) -> Variant | Rejection:
        return lower(spec, candidate, transforms, target, limits)

    best, dropped = _fitted(genome, attempt)
    return Printed(best or baseline, baseline, dropped + (best.skipped if best else ()))


def _fitted(
    genome: Genome, attempt: Callable[[Genome], Variant | Rejection]
) -> tuple[Variant | None, tuple[SkippedGene, ...]]:
    """Drops the fewest genes, last ones first, until the rest lowers."""
    dropped: tuple[SkippedGene, ...] = ()
    while genome.genes:
        outcome = attempt(genome)
        if isinstance(outcome, Variant):
            return outcome, dropped
        gene = _culprit(genome, attempt) or genome.genes[-1]
        dropped += (SkippedGene(gene, outcome.reason),)
        genome = genome.without(gene)
    return None, dropped


def _culprit(genome: Genome, attempt: Callable[[Genome], Variant | Rejection]) -> Gene | None:
    return next((g for g in reversed(genome.genes) if isinstance(attempt(genome.without(g)), Variant)), None)


def best_cu(spec: KernelSpec, printed: Printed, header: Sequence[str]) -> str:
    """``best.cu`` of a genome that was printed for CUDA.

    Raises:
        SourceError: If the signature cannot be read.
    """
    params = signature(
        spec.source, spec.entry, spec.path, template_args=spec.template_args, defines=spec.defines,
        include_dirs=spec.include_dirs,
    )  # fmt: skip
    flags = " ".join(option for option in printed.best.options if not option.startswith("-D"))
    lines = [*header, f"Compile: nvcc -O3 {flags} -c best.cu".replace("  ", " ")]
    if printed.dropped:
        lines += ["Genes that do not apply in CUDA:"]
        lines += [f"  {item.gene.transform} at {item.gene.site.label}: {item.reason}" for item in printed.dropped]
    variables = spec_kernel(spec).variables if spec.variables else ()
    return cuda_program(spec, printed.best, printed.baseline, params, lines, variables)


def best_cl(spec: KernelSpec, printed: Printed, header: Sequence[str]) -> str:
    """``best.cl`` of a genome that was printed for OpenCL."""
    launch = spec.launch.at([(tunable.name, tunable.values[0]) for tunable in spec.tunables])
    return opencl_program(printed.best, printed.baseline, header, launch.sized_block, covers=bool(launch.domain))

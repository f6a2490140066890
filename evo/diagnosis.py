"""Bottlenecks of measured variants, by what their text says beside the roofline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from evaluator.profile import Strain, strained
from evaluator.result import Evaluation
from evo.strain import strain_of
from genome.genes import Genome
from genome.ir.kernel import Kernel
from genome.lower import seal
from genome.replay import replay, spec_kernel
from genome.spec import KernelSpec, ProblemSize
from genome.transforms.base import Context, Transform
from genome.variant import Variant

StrainOf = Callable[[Variant, ProblemSize], Strain]


def strain_by_replay(spec: KernelSpec, transforms: Sequence[Transform], context: Context) -> StrainOf:
    """The strain of variants of a kernel: their genomes are replayed. A kernel that stays text has none."""

    @lru_cache(maxsize=4)
    def kernel_of(genome: Genome) -> Kernel:
        if not genome.genes:
            return spec_kernel(spec)  # in the user's own names
        return seal(replay(spec, genome, transforms, context).kernel)

    def strain(variant: Variant, size: ProblemSize) -> Strain:
        kernel = kernel_of(variant.genome)
        return strain_of(kernel, variant, spec, size) if kernel.body else Strain()

    return strain


def diagnosed(
    evaluations: Sequence[Evaluation],
    variant: Variant,
    sizes: Sequence[ProblemSize],
    strain: StrainOf | None,
    kind: str,
) -> tuple[Evaluation, ...]:
    """The evaluations with the bottleneck that the variant's text explains, where no counters have told it.

    Args:
        evaluations: Of the variant.
        variant: Whose text is looked at.
        sizes: Tuned sizes.
        strain: See ``strain_by_replay``; None leaves everything as it is.
        kind: Of the device.
    """
    if strain is None:
        return tuple(evaluations)
    by_label = {size.label: size for size in sizes}
    return tuple(_diagnosed(item, variant, by_label.get(item.size), strain, kind) for item in evaluations)


def _diagnosed(item: Evaluation, variant: Variant, size: ProblemSize | None, strain: StrainOf, kind: str) -> Evaluation:
    if item.profile is None or item.timing is None or size is None or item.fallback:
        return item
    return replace(item, profile=strained(item.profile, strain(variant, size), item.timing.median_ms, kind))

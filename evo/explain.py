"""Explains a winner: each gene is left out in turn, and what is lost is its part of the gain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from evaluator.api import Measured
from evo.fitness import Fitness
from evo.parts import Parts
from evo.result import GeneShare
from evo.trial import Trial, try_variant
from genome.genes import Gene, Genome
from genome.variant import Rejection, Variant

MOST_GENES = 16  # leaving out costs one measurement a gene


def explain(
    winner: Variant,
    parts: Parts,
    fitness: Fitness,
    give_up: Callable[[], bool],
    progress: Callable[[int, int], None],
) -> tuple[GeneShare, ...]:
    """One row a gene of the winner, in its order.

    What falls out with a gene (because it acts on what that gene made) is named in its note, and its factor includes
    it: factors do not multiply up to the whole speed-up.

    Args:
        winner: The variant.
        parts: Evaluator, lowering, words.
        fitness: Of the campaign.
        give_up: True as soon as the time for this is over; the remaining genes get no figure.
        progress: Called with (genes done, genes in all).
    """
    genes = winner.genome.genes
    number = 0

    def measure(variant: Variant) -> Trial:
        nonlocal number
        number += 1
        return try_variant(parts.evaluator, variant, number, give_up)

    whole = _speedup(fitness, measure(winner).measured)
    rows: list[GeneShare] = []
    for index, gene in enumerate(genes):
        progress(index, len(genes))
        words = parts.describe(gene)
        if whole is None or index >= MOST_GENES or give_up():
            rows.append(GeneShare(gene, words, whole or 0.0, note="not measured: out of time"))
            continue
        rows.append(_without(gene, words, whole, winner, parts, fitness, measure))
    progress(len(genes), len(genes))
    return shares(rows)


def _without(
    gene: Gene,
    words: str,
    whole: float,
    winner: Variant,
    parts: Parts,
    fitness: Fitness,
    measure: Callable[[Variant], Trial],
) -> GeneShare:
    rest = winner.genome.without(gene)
    variant = parts.lower(rest)
    if isinstance(variant, Rejection):
        return GeneShare(gene, words, whole, note=f"needed by the others: {variant.reason}")
    note = _fell_out(variant, rest)
    if variant.digest() == winner.digest():
        return GeneShare(gene, words, whole, whole, 1.0, note="changes nothing beside the others")
    trial = measure(variant)
    without = _speedup(fitness, trial.measured)
    if without is None:
        return GeneShare(gene, words, whole, note=trial.reason or note)
    return GeneShare(gene, words, whole, without, whole / without, note=note)


def _speedup(fitness: Fitness, measured: Measured | None) -> float | None:
    score = fitness.score(measured.evaluations) if measured else None
    return score.value if score else None


def _fell_out(variant: Variant, proposed: Genome) -> str:
    lost = [skipped.gene for skipped in variant.skipped if skipped.gene in proposed.genes]
    return "without it also " + ", ".join(f"{gene.transform} at {gene.site.label}" for gene in lost) if lost else ""


def shares(rows: Sequence[GeneShare]) -> tuple[GeneShare, ...]:
    """The rows with each gene's part of the sum of log factors (genes that lose or do nothing have no part)."""
    logs = [math.log(row.factor) if row.factor is not None and row.factor > 1.0 else 0.0 for row in rows]
    total = sum(logs)
    return tuple(replace(row, share=log / total if total else 0.0) for row, log in zip(rows, logs, strict=True))

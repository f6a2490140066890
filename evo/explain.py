"""Explains a winner: each gene is left out in turn, and what is lost is its part of the gain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evo.fitness import Fitness
from evo.parts import Parts
from evo.result import GeneShare
from evo.trial import try_variant
from genome.genes import Gene, Genome
from genome.variant import Rejection, Variant

MOST_GENES = 16  # leaving out costs one measurement a gene
BRACKET = 3  # genes between two measurements of the winner: a machine's speed drifts


@dataclass
class _Bench:
    """Measures variants one after the other and numbers them."""

    parts: Parts
    fitness: Fitness
    give_up: Callable[[], bool]
    number: int = 0

    def speedup(self, variant: Variant) -> tuple[float | None, str]:
        """The speed-up, or None and why there is none."""
        self.number += 1
        trial = try_variant(self.parts.evaluator, variant, self.number, self.give_up)
        score = self.fitness.score(trial.measured.evaluations) if trial.measured else None
        return (score.value, "") if score else (None, trial.reason or "not every size could be timed")


def explain(
    winner: Variant,
    parts: Parts,
    fitness: Fitness,
    give_up: Callable[[], bool],
    progress: Callable[[int, int], None],
) -> tuple[GeneShare, ...]:
    """One row a gene of the winner, in its order.

    What falls out with a gene (because it acts on what that gene made) is named in its note, and its factor includes
    it: factors do not multiply up to the whole speed-up. The winner is measured before, after and every few genes;
    a gene's factor is against the geometric mean of the two measurements around it.

    Args:
        winner: The variant.
        parts: Evaluator, lowering, words.
        fitness: Of the campaign.
        give_up: True as soon as the time for this is over; the remaining genes get no figure.
        progress: Called with (genes done, genes in all).
    """
    genes = winner.genome.genes
    bench = _Bench(parts, fitness, give_up)
    rows: list[GeneShare] = []
    before = bench.speedup(winner)[0]
    for start in range(0, len(genes), BRACKET):
        group = []
        for index, gene in enumerate(genes[start : start + BRACKET], start):
            progress(index, len(genes))
            over = before is None or index >= MOST_GENES or give_up()
            group.append(_unmeasured(gene, parts) if over else _without(gene, winner, bench))
        after = bench.speedup(winner)[0] if before is not None and not give_up() else before
        rows += [_against(row, before, after or before) for row in group]
        before = after or before
    progress(len(genes), len(genes))
    return shares(rows)


def _unmeasured(gene: Gene, parts: Parts) -> GeneShare:
    return GeneShare(gene, parts.describe(gene), 0.0, note="not measured: out of time")


def _without(gene: Gene, winner: Variant, bench: _Bench) -> GeneShare:
    """The row of one gene without its factor; NaN stands for the winner's own speed-up."""
    words, rest = bench.parts.describe(gene), winner.genome.without(gene)
    variant = bench.parts.lower(rest)
    if isinstance(variant, Rejection):
        return GeneShare(gene, words, 0.0, note=f"needed by the others: {variant.reason}")
    if variant.digest() == winner.digest():
        return GeneShare(gene, words, 0.0, math.nan, note="changes nothing beside the others")
    without, reason = bench.speedup(variant)
    return GeneShare(gene, words, 0.0, without, note=reason if without is None else _fell_out(variant, rest))


def _against(row: GeneShare, before: float | None, after: float | None) -> GeneShare:
    """The row with the winner's speed-up around it, and the factor."""
    if before is None or after is None:
        return row
    whole = math.sqrt(before * after)
    without = row.speedup_without
    if without is None:
        return replace(row, speedup_with=whole)
    if math.isnan(without):
        return replace(row, speedup_with=whole, speedup_without=whole, factor=1.0)
    return replace(row, speedup_with=whole, factor=whole / without)


def _fell_out(variant: Variant, proposed: Genome) -> str:
    lost = [skipped.gene for skipped in variant.skipped if skipped.gene in proposed.genes]
    return "without it also " + ", ".join(f"{gene.transform} at {gene.site.label}" for gene in lost) if lost else ""


def shares(rows: Sequence[GeneShare]) -> tuple[GeneShare, ...]:
    """The rows with each gene's part of the sum of log factors (genes that lose or do nothing have no part)."""
    logs = [math.log(row.factor) if row.factor is not None and row.factor > 1.0 else 0.0 for row in rows]
    total = sum(logs)
    return tuple(replace(row, share=log / total if total else 0.0) for row, log in zip(rows, logs, strict=True))

"""Times of a campaign's own baseline: what every speed-up at one size is against."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select

from evaluator.result import Status
from genome.genes import Genome
from knowledge import schema

_EMPTY = Genome().digest()


def baselines(connection: Connection, campaigns: Iterable[int]) -> dict[tuple[int, int], float]:
    """Median milliseconds of the first measurement of the empty genome, by (campaign id, problem id)."""
    evaluation, lineage, genome = schema.evaluation, schema.lineage, schema.genome
    rows = connection.execute(
        select(evaluation.c.campaign_id, evaluation.c.problem_id, evaluation.c.median_ms)
        .select_from(genome)
        .join(lineage, lineage.c.genome_id == genome.c.id)
        .join(
            evaluation,
            (evaluation.c.campaign_id == lineage.c.campaign_id)
            & (evaluation.c.ordinal == lineage.c.ordinal)
            & (evaluation.c.variant_id == lineage.c.variant_id),
        )
        .where(genome.c.digest == _EMPTY, lineage.c.campaign_id.in_(sorted(set(campaigns))))
        .where(evaluation.c.status == Status.OK.value, ~evaluation.c.is_check, evaluation.c.median_ms > 0)
        .order_by(evaluation.c.ordinal.desc(), evaluation.c.id.desc())
    )
    return {(row.campaign_id, row.problem_id): float(row.median_ms) for row in rows}

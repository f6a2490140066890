"""A campaign that somebody else ran, all of its outcomes at once: one transaction, few statements."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Connection, Table, Text, any_, literal, select

from genome.genes import Genome
from knowledge import encode, schema
from knowledge.json_rows import count_again, insert_rows
from knowledge.optimum import CampaignKeys, Offer, settle_optimum
from knowledge.posting import genome_row, lineage_row
from knowledge.records import CampaignRecord, Outcome
from knowledge.write import campaign_keys, finish_campaign, problem_id, start_campaign


@dataclass(frozen=True)
class Stored:
    """What became of an import.

    Attributes:
        campaign: Id of the campaign that holds it.
        fresh: Evaluations that the base did not have.
    """

    campaign: int
    fresh: int


@dataclass(frozen=True)
class _Keyed:
    """An outcome with its digests, each of which takes a while to work out."""

    outcome: Outcome
    variant: str
    genome: str


def record_all(
    connection: Connection, token: uuid.UUID, record: CampaignRecord, outcomes: Sequence[Outcome],
    summary: Mapping[str, Any],
) -> Stored:  # fmt: skip
    """Writes a finished campaign; nothing if the base has one with this token.

    Args:
        connection: Of the caller.
        token: Identity of the content: the same recording has the same.
        record: What is known of kernel and device.
        outcomes: Each with its number and its evaluations at tuned sizes, proposed as it was applied. The one with the
            empty genome is the baseline.
        summary: Plain data.
    """
    table = schema.campaign
    known = connection.execute(select(table.c.id).where(table.c.token == token)).scalar_one_or_none()
    if known is not None:
        return Stored(int(known), 0)
    campaign = start_campaign(connection, record, token, resume=False)
    keys = campaign_keys(connection, campaign)
    items = [_Keyed(outcome, outcome.variant.digest(), outcome.variant.genome.digest()) for outcome in outcomes]
    genomes = _genomes(connection, items)
    variants = _variants(connection, keys.kernel, items, genomes)
    labels = {evaluation.size for outcome in outcomes for evaluation in outcome.evaluations}
    problems = {label: problem_id(connection, keys.kernel, label) for label in sorted(labels)}
    insert_rows(connection, schema.lineage, (_lineage(campaign, item, genomes, variants) for item in items))
    rows = [row for item in items for row in _evaluations(keys, item, variants, problems)]
    insert_rows(connection, schema.evaluation, rows)
    count_again(connection)
    for label, problem in problems.items():
        best = _fastest(items, label)
        if best is not None:
            offer = Offer(problem, variants[best.variant], genomes[best.genome], best.outcome.lineage.agent)
            settle_optimum(connection, keys, offer)
    finish_campaign(connection, campaign, summary)
    return Stored(campaign, len(rows))


def _genomes(connection: Connection, items: Sequence[_Keyed]) -> dict[str, int]:
    """Ids by digest. Written in order of the digests, so that two writers never wait for each other."""
    table = schema.genome
    found: dict[str, Genome] = {item.genome: item.outcome.variant.genome for item in items}
    insert_rows(connection, table, (genome_row(found[key]) for key in sorted(found)))
    return _ids(connection, table, _among(table, found))


def _variants(
    connection: Connection, kernel: int, items: Sequence[_Keyed], genomes: Mapping[str, int]
) -> dict[str, int]:
    table = schema.variant
    found = {item.variant: item for item in items}
    rows = (
        {**encode.variant_row(item.outcome.variant), "kernel_id": kernel, "genome_id": genomes[item.genome]}
        for _, item in sorted(found.items())
    )
    insert_rows(connection, table, rows)
    return _ids(connection, table, (table.c.kernel_id == kernel) & _among(table, found))


def _lineage(campaign: int, item: _Keyed, genomes: Mapping[str, int], variants: Mapping[str, int]) -> dict[str, Any]:
    outcome, genome = item.outcome, genomes[item.genome]
    return {
        **lineage_row(outcome.lineage), "campaign_id": campaign, "variant_id": variants[item.variant],
        "genome_id": genome, "proposed_id": genome, "skipped": [],
        "speedup": encode.plain(outcome.speedup), "predicted": None, "forced": False, "cached": False,
    }  # fmt: skip


def _evaluations(
    keys: CampaignKeys, item: _Keyed, variants: Mapping[str, int], problems: Mapping[str, int]
) -> Iterable[dict[str, Any]]:
    for evaluation in item.outcome.evaluations:
        yield {
            **encode.evaluation_row(evaluation), "variant_id": variants[item.variant],
            "problem_id": problems[evaluation.size], "hardware_id": keys.hardware, "toolchain_id": keys.toolchain,
            "campaign_id": keys.campaign, "ordinal": item.outcome.lineage.generation, "is_check": False,
            "reused": False,
        }  # fmt: skip


def _fastest(items: Sequence[_Keyed], label: str) -> _Keyed | None:
    """The outcome with the shortest time at a size."""
    timed = [
        (evaluation.timing.median_ms, number)
        for number, item in enumerate(items) if item.outcome.speedup is not None
        for evaluation in item.outcome.evaluations if evaluation.size == label and evaluation.timing is not None
    ]  # fmt: skip
    return items[min(timed)[1]] if timed else None


def _among(table: Table, digests: Iterable[str]) -> ColumnElement[bool]:
    return table.c.digest == any_(literal(list(digests), ARRAY(Text)))


def _ids(connection: Connection, table: Table, condition: ColumnElement[bool]) -> dict[str, int]:
    found = connection.execute(select(table.c.digest, table.c.id).where(condition))
    return {row.digest: int(row.id) for row in found}

"""What goes into the base. Each function runs inside a transaction of the caller and may safely run twice."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, Table, func, select, update
from sqlalchemy.dialects.postgresql import insert

from evaluator.api import Comparison
from evaluator.result import Evaluation
from genome.genes import Genome
from genome.variant import Rejection
from knowledge import encode, schema
from knowledge.errors import KnowledgeError
from knowledge.features import SIZE_FEATURE_VERSION, label_features
from knowledge.optimum import CampaignKeys, refresh_optima
from knowledge.records import CampaignRecord, Lineage, Outcome
from knowledge.trust import SurrogateMetrics

_MAY_CHANGE = frozenset({
    "budget", "output", "device", "knowledge", "name", "processes", "seed", "population", "epsilon", "surrogate",
})  # fmt: skip
"""Settings under which an interrupted campaign may still go on: none of them changes what a speed-up means."""


def campaign_keys(connection: Connection, campaign: int) -> CampaignKeys:
    """Keys of a campaign.

    Raises:
        KeyError: If there is no such campaign.
    """
    table = schema.campaign
    row = connection.execute(
        select(table.c.kernel_id, table.c.hardware_id, table.c.toolchain_id).where(table.c.id == campaign)
    ).one_or_none()
    if row is None:
        raise KeyError(f"the knowledge base holds no campaign {campaign}")
    return CampaignKeys(campaign, row.kernel_id, row.hardware_id, row.toolchain_id)


def ensure_row(connection: Connection, table: Table, key: Iterable[str], values: Mapping[str, Any]) -> int:
    """Id of the row with this natural key, made if need be. Features of a newer version replace older ones."""
    names = list(key)
    match = [table.c[name] == values[name] for name in names]
    versioned = "feature_version" in table.c
    columns = [table.c.id, *([table.c.feature_version] if versioned else [])]
    row = connection.execute(select(*columns).where(*match)).one_or_none()
    if row is None:
        statement = insert(table).values(**values).on_conflict_do_nothing(index_elements=names)
        connection.execute(statement)
        return int(connection.execute(select(table.c.id).where(*match)).scalar_one())
    if versioned and row.feature_version < values["feature_version"]:
        fresh = {name: values[name] for name in ("features", "feature_version")}
        connection.execute(update(table).where(table.c.id == row.id).values(**fresh))
    return int(row.id)


def start_campaign(connection: Connection, record: CampaignRecord, token: uuid.UUID, resume: bool) -> int:
    """Id of a new campaign, or with ``resume`` of the last unfinished one of this name, kernel, device and seed."""
    kernel = ensure_row(connection, schema.kernel, ("digest", "name"), encode.kernel_row(record.kernel))
    hardware = ensure_row(connection, schema.hardware, ("fingerprint",), encode.hardware_row(record.device))
    names = ("platform", "driver", "compiler")
    toolchain = ensure_row(connection, schema.toolchain, names, encode.toolchain_row(record.toolchain))
    for label, features in record.kernel.sizes:
        problem_id(connection, kernel, label, features)
    table = schema.campaign
    name = encode.text(record.name, encode.NAME_LENGTH)
    if resume:
        found = connection.execute(
            select(table.c.id, table.c.settings, table.c.contract)
            .where(table.c.name == name, table.c.kernel_id == kernel, table.c.hardware_id == hardware)
            .where(table.c.seed == record.seed, table.c.finished_at.is_(None))
            .order_by(table.c.id.desc())
            .limit(1)
        ).one_or_none()
        if found is not None:
            _check_unchanged(found, record)
            return int(found.id)
    values = {
        "token": token, "name": name, "kernel_id": kernel, "hardware_id": hardware, "toolchain_id": toolchain,
        "seed": record.seed, "version": encode.text(record.version, encode.NAME_LENGTH),
        "settings": encode.plain(record.settings), "contract": encode.text(record.contract, encode.NAME_LENGTH),
    }  # fmt: skip
    return ensure_row(connection, table, ("token",), values)


def _check_unchanged(old: Row[Any, Any, Any], record: CampaignRecord) -> None:
    """A run goes on only under the settings that its speed-ups were measured with."""
    before, now = dict(old.settings), dict(encode.plain(record.settings))
    changed = sorted(key for key in {*before, *now} if key not in _MAY_CHANGE and before.get(key) != now.get(key))
    if not changed and old.contract != record.contract:
        changed = ["the reference or its inputs"]
    if changed:
        raise KnowledgeError(
            f"the interrupted run cannot go on: changed since then: {', '.join(changed)}",
            "run without --resume to start anew (what was measured is reused), or undo the change",
        )


def record_outcome(connection: Connection, campaign: int, outcome: Outcome) -> None:
    """Variant, evaluations, lineage and the optima that they change."""
    keys = campaign_keys(connection, campaign)
    applied, proposed = _genomes(connection, outcome.variant.genome, outcome.variant.proposed)
    row = {**encode.variant_row(outcome.variant), "kernel_id": keys.kernel, "genome_id": applied}
    variant = ensure_row(connection, schema.variant, ("kernel_id", "digest"), row)
    statement = insert(schema.lineage).values(
        **lineage_row(campaign, outcome.lineage), variant_id=variant, genome_id=applied, proposed_id=proposed,
        skipped=encode.skipped_json(outcome.variant.skipped), speedup=encode.plain(outcome.speedup),
        predicted=encode.plain(outcome.predicted), forced=outcome.forced, cached=outcome.cached,
    )  # fmt: skip
    connection.execute(statement.on_conflict_do_nothing())
    rows = [
        {**encode.evaluation_row(evaluation), "problem_id": problem_id(connection, keys.kernel, evaluation.size),
         "variant_id": variant, "hardware_id": keys.hardware, "toolchain_id": keys.toolchain,
         "campaign_id": campaign, "ordinal": outcome.lineage.generation, "is_check": check, "reused": outcome.cached}
        for evaluation, check in _all_evaluations(outcome)
    ]  # fmt: skip
    if rows:
        connection.execute(insert(schema.evaluation).values(rows).on_conflict_do_nothing())
    if not outcome.cached:
        refresh_optima(connection, keys.kernel, keys.hardware, keys.toolchain, campaign, variant, applied, outcome)


def record_proof(connection: Connection, campaign: int, comparison: Comparison) -> None:
    """One row a size of a verified final comparison; writing it again replaces it."""
    keys = campaign_keys(connection, campaign)
    table = schema.variant
    variant = connection.execute(
        select(table.c.id).where(table.c.kernel_id == keys.kernel, table.c.digest == comparison.variant)
    ).scalar_one_or_none()
    if variant is None or not comparison.verified or not comparison.processes:
        return
    for size in comparison.sizes:
        key = {
            "campaign_id": campaign,
            "problem_id": problem_id(connection, keys.kernel, size.size),
            "variant_id": variant,
        }
        values = {"baseline_ms": size.baseline_ms, "best_ms": size.best_ms, "speedup": size.speedup, "low": size.low,
                  "high": size.high, "processes": comparison.processes}  # fmt: skip
        statement = insert(schema.proof).values(**key, **encode.plain(values))
        connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=encode.plain(values)))


def record_rejection(connection: Connection, campaign: int, rejection: Rejection, lineage: Lineage) -> None:
    """A genome that gave no variant."""
    genome, _ = _genomes(connection, rejection.genome, rejection.genome)
    statement = insert(schema.rejection).values(
        **lineage_row(campaign, lineage), genome_id=genome, kind=encode.text(rejection.kind, encode.NAME_LENGTH),
        reason=encode.text(rejection.reason, encode.MESSAGE_LENGTH),
    )  # fmt: skip
    connection.execute(statement.on_conflict_do_nothing())


def finish_campaign(connection: Connection, campaign: int, summary: Mapping[str, Any]) -> None:
    """Marks the campaign as ended."""
    table = schema.campaign
    values = {"finished_at": func.now(), "summary": encode.plain(summary)}
    connection.execute(update(table).where(table.c.id == campaign).values(**values))


def save_state(connection: Connection, campaign: int, key: str, data: Mapping[str, Any]) -> None:
    """Replaces one entry of the campaign's state."""
    values = {"campaign_id": campaign, "key": encode.text(key, encode.NAME_LENGTH), "data": encode.plain(data)}
    statement = insert(schema.state).values(**values)
    statement = statement.on_conflict_do_update(
        index_elements=["campaign_id", "key"], set_={"data": statement.excluded.data, "updated_at": func.now()}
    )
    connection.execute(statement)


def record_metrics(connection: Connection, campaign: int, ordinal: int, metrics: SurrogateMetrics) -> None:
    """Quality of the surrogate after so many proposals; a repeated number replaces the earlier figures."""
    values = {"campaign_id": campaign, "ordinal": ordinal, **encode.plain(asdict(metrics))}
    statement = insert(schema.surrogate_metric).values(**values)
    fresh = {name: statement.excluded[name] for name in asdict(metrics)}
    keys = ["campaign_id", "ordinal"]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=fresh))


def load_state(connection: Connection, campaign: int, key: str) -> dict[str, Any] | None:
    """One entry of the campaign's state, or None."""
    table = schema.state
    found: Row[Any] | None = connection.execute(
        select(table.c.data).where(table.c.campaign_id == campaign, table.c.key == encode.text(key, encode.NAME_LENGTH))
    ).one_or_none()
    return found.data if found is not None and isinstance(found.data, dict) else None


def _genomes(connection: Connection, *genomes: Genome) -> tuple[int, ...]:
    """Ids of the genomes. Written in order of their digests, so that two writers never wait for each other."""
    ids: dict[str, int] = {}
    for genome in sorted(genomes, key=Genome.digest):
        values = {"digest": genome.digest(), "genes": encode.genes_json(genome.genes)}
        ids[genome.digest()] = ensure_row(connection, schema.genome, ("digest",), values)
    return tuple(ids[genome.digest()] for genome in genomes)


def problem_id(connection: Connection, kernel: int, label: str, features: tuple[float, ...] | None = None) -> int:
    """Id of a size of a kernel, made if need be."""
    label = encode.text(label, encode.NAME_LENGTH)
    sizes = encode.size_values(label)
    values = {
        "kernel_id": kernel, "label": label, "values": sizes, "feature_version": SIZE_FEATURE_VERSION,
        "features": list(label_features(sizes) if features is None else features),
    }  # fmt: skip
    return ensure_row(connection, schema.problem, ("kernel_id", "label"), values)


def lineage_row(campaign: int, lineage: Lineage) -> dict[str, Any]:
    """Columns that ``lineage`` and ``rejection`` share."""
    return {
        "campaign_id": campaign, "ordinal": lineage.generation, "agent": encode.text(lineage.agent, encode.NAME_LENGTH),
        "parents": [encode.text(parent, encode.NAME_LENGTH) for parent in lineage.parents],
        "delta": encode.genes_json(lineage.delta),
    }  # fmt: skip


def _all_evaluations(outcome: Outcome) -> list[tuple[Evaluation, bool]]:
    return [*((item, False) for item in outcome.evaluations), *((item, True) for item in outcome.checks)]

"""What goes into the base. Each function runs inside a transaction of the caller and may safely run twice."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Table, func, select, update
from sqlalchemy.dialects.postgresql import insert

from evaluator.result import Status
from knowledge import encode, schema
from knowledge.errors import KnowledgeError
from knowledge.features import SIZE_FEATURE_VERSION, label_features
from knowledge.optimum import CampaignKeys, Change, refresh_optima
from knowledge.posting import Kind, Posting
from knowledge.records import CampaignRecord

_MAY_CHANGE = frozenset({
    "budget", "output", "device", "knowledge", "name", "processes", "seed", "population", "epsilon", "surrogate",
    "licence", "provenance",
})  # fmt: skip
"""Settings under which an interrupted campaign may still go on: none of them changes what a speed-up means."""


def campaign_keys(connection: Connection, campaign: int) -> CampaignKeys:
    """Keys of a campaign.

    Raises:
        KnowledgeError: If there is no such campaign.
    """
    table = schema.campaign
    row = connection.execute(
        select(table.c.kernel_id, table.c.hardware_id, table.c.toolchain_id).where(table.c.id == campaign)
    ).one_or_none()
    if row is None:
        raise KnowledgeError(f"the knowledge base holds no campaign {campaign}", "was it deleted while it ran?")
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


def post(connection: Connection, campaign: int, posting: Posting) -> None:
    """Writes what a posting says.

    Raises:
        KnowledgeError: If there is no such campaign (any more).
    """
    _WRITERS[posting.kind](connection, campaign_keys(connection, campaign), posting)


def _outcome(connection: Connection, keys: CampaignKeys, posting: Posting) -> None:
    """Variant, evaluations, lineage and the optima that they change."""
    data, lineage = posting.data, posting.data["lineage"]
    applied, proposed = _genomes(connection, data["genome"], data["proposed"])
    row = {**data["variant"], "kernel_id": keys.kernel, "genome_id": applied}
    variant = ensure_row(connection, schema.variant, ("kernel_id", "digest"), row)
    statement = insert(schema.lineage).values(
        **lineage, **posting.stamp, campaign_id=keys.campaign, variant_id=variant, genome_id=applied,
        proposed_id=proposed,
    )  # fmt: skip
    connection.execute(statement.on_conflict_do_nothing())
    owner = {"variant_id": variant, "hardware_id": keys.hardware, "toolchain_id": keys.toolchain,
             "campaign_id": keys.campaign, "ordinal": lineage["ordinal"], "reused": lineage["cached"]}  # fmt: skip
    rows = [
        {**_but_size(item), **posting.stamp, **owner, "problem_id": problem_id(connection, keys.kernel, item["size"])}
        for item in data["evaluations"]
    ]
    if rows:
        connection.execute(insert(schema.evaluation).values(rows).on_conflict_do_nothing())
    if not lineage["cached"]:
        timed = tuple(item["size"] for item in data["evaluations"] if _is_timed(item))
        change = Change(variant, applied, lineage["agent"], lineage["speedup"], timed)
        refresh_optima(connection, keys, change)


def _is_timed(item: Mapping[str, Any]) -> bool:
    """True for a time of the variant itself at a tuned size."""
    is_ok = item["status"] == Status.OK.value and item["median_ms"] is not None
    return is_ok and not item["is_check"] and not item["fallback"]


def _but_size(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "size"}


def _proof(connection: Connection, keys: CampaignKeys, posting: Posting) -> None:
    """One row a size of a verified final comparison; writing it again replaces it."""
    table = schema.variant
    variant = connection.execute(
        select(table.c.id).where(table.c.kernel_id == keys.kernel, table.c.digest == posting.data["variant"])
    ).scalar_one_or_none()
    if variant is None:
        return
    for item in posting.data["sizes"]:
        problem, values = problem_id(connection, keys.kernel, item["size"]), _but_size(item)
        key = {"campaign_id": keys.campaign, "problem_id": problem, "variant_id": variant}
        statement = insert(schema.proof).values(**key, **values, **posting.stamp)
        connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))


def _rejection(connection: Connection, keys: CampaignKeys, posting: Posting) -> None:
    """A genome that gave no variant."""
    (genome,) = _genomes(connection, posting.data["genome"])
    values = {**posting.data["rejection"], **posting.stamp, "campaign_id": keys.campaign, "genome_id": genome}
    connection.execute(insert(schema.rejection).values(**values).on_conflict_do_nothing())


def _metrics(connection: Connection, keys: CampaignKeys, posting: Posting) -> None:
    """Quality of the surrogate after so many proposals; a repeated number replaces the earlier figures."""
    statement = insert(schema.surrogate_metric).values(**posting.data, **posting.stamp, campaign_id=keys.campaign)
    fresh = {name: statement.excluded[name] for name in posting.data if name != "ordinal"}
    connection.execute(statement.on_conflict_do_update(index_elements=["campaign_id", "ordinal"], set_=fresh))


def _state(connection: Connection, keys: CampaignKeys, posting: Posting) -> None:
    """Replaces one entry of the campaign's state."""
    statement = insert(schema.state).values(**posting.data, campaign_id=keys.campaign)
    fresh = {"data": statement.excluded.data, "updated_at": func.now()}
    connection.execute(statement.on_conflict_do_update(index_elements=["campaign_id", "key"], set_=fresh))


def _end(connection: Connection, keys: CampaignKeys, posting: Posting) -> None:
    finish_campaign(connection, keys.campaign, posting.data["summary"], posting.at)


def finish_campaign(
    connection: Connection, campaign: int, summary: Mapping[str, Any], at: datetime | None = None
) -> None:
    """Marks the campaign as ended; ``at`` is when, None for now."""
    table = schema.campaign
    values = {"finished_at": at or func.now(), "summary": encode.plain(summary)}
    connection.execute(update(table).where(table.c.id == campaign).values(**values))


_WRITERS: Mapping[Kind, Callable[[Connection, CampaignKeys, Posting], None]] = {
    Kind.OUTCOME: _outcome, Kind.REJECTION: _rejection, Kind.PROOF: _proof, Kind.METRICS: _metrics,
    Kind.STATE: _state, Kind.END: _end,
}  # fmt: skip


def load_state(connection: Connection, campaign: int, key: str) -> dict[str, Any] | None:
    """One entry of the campaign's state, or None."""
    table = schema.state
    found: Row[Any] | None = connection.execute(
        select(table.c.data).where(table.c.campaign_id == campaign, table.c.key == encode.text(key, encode.NAME_LENGTH))
    ).one_or_none()
    return found.data if found is not None and isinstance(found.data, dict) else None


def campaign_token(connection: Connection, campaign: int) -> uuid.UUID:
    """What a campaign is called in every base."""
    table = schema.campaign
    found: uuid.UUID = connection.execute(select(table.c.token).where(table.c.id == campaign)).scalar_one()
    return found


def campaign_of(connection: Connection, token: uuid.UUID) -> int | None:
    """Id of the campaign with this token; None if the base has none."""
    return connection.execute(select(schema.campaign.c.id).where(schema.campaign.c.token == token)).scalar_one_or_none()


def _genomes(connection: Connection, *rows: Mapping[str, Any]) -> tuple[int, ...]:
    """Ids of the genomes. Written in order of their digests, so that two writers never wait for each other."""
    ids: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: str(row["digest"])):
        ids[row["digest"]] = ensure_row(connection, schema.genome, ("digest",), row)
    return tuple(ids[row["digest"]] for row in rows)


def problem_id(connection: Connection, kernel: int, label: str, features: tuple[float, ...] | None = None) -> int:
    """Id of a size of a kernel, made if need be."""
    label = encode.text(label, encode.NAME_LENGTH)
    sizes = encode.size_values(label)
    values = {
        "kernel_id": kernel, "label": label, "values": sizes, "feature_version": SIZE_FEATURE_VERSION,
        "features": list(label_features(sizes) if features is None else features),
    }  # fmt: skip
    return ensure_row(connection, schema.problem, ("kernel_id", "label"), values)

"""Keeps the ``optimum`` table true: the best verified variant of each (kernel, hardware, toolchain, problem).

A variant's time at a problem is the median over all its measurements there, so that one lucky sample does not stay
on top once the variant was measured again. A variant that ever failed there for a reason of its own (not a time-out
or a crash, whose cause may be the machine) is no optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, exists, func, or_, select, true
from sqlalchemy.dialects.postgresql import insert

from evaluator.result import Status
from knowledge import encode, schema
from knowledge.baseline import baselines

_FAULTS = [status.value for status in Status if status is not Status.OK and not status.retryable]


@dataclass(frozen=True)
class CampaignKeys:
    """Foreign keys that every row of a campaign shares."""

    campaign: int
    kernel: int
    hardware: int
    toolchain: int


@dataclass(frozen=True)
class Offer:
    """Keys of the fastest variant of a campaign at one problem, and who proposed it."""

    problem: int
    variant: int
    genome: int
    agent: str


@dataclass(frozen=True)
class Change:
    """A recorded outcome, as far as optima depend on it.

    Attributes:
        variant, genome: Their ids.
        agent: Who proposed it.
        speedup: Over all tuned sizes; None if it failed.
        sizes: Labels of the sizes that it was timed at.
    """

    variant: int
    genome: int
    agent: str
    speedup: float | None
    sizes: tuple[str, ...]


def refresh_optima(connection: Connection, keys: CampaignKeys, change: Change) -> None:
    """Takes one recorded outcome into account; its evaluations are in the table already.

    Writers of the same problem do this one after the other (the problem's row is locked), so that the last one sees
    the evaluations of all.
    """
    variant, campaign = change.variant, keys.campaign
    if change.speedup is None or _is_faulty(connection, keys.hardware, variant, campaign):
        _dethrone(connection, keys.kernel, keys.hardware, variant)
        return
    for problem in _locked_problems(connection, keys.kernel, change.sizes):
        key = {"kernel_id": keys.kernel, "hardware_id": keys.hardware, "toolchain_id": keys.toolchain,
               "problem_id": problem}  # fmt: skip
        best_ms = connection.execute(_times(key).where(schema.evaluation.c.variant_id == variant)).one().best_ms
        baseline_ms = baselines(connection, [campaign]).get((campaign, problem))
        values = {
            **key, "variant_id": variant, "genome_id": change.genome, "campaign_id": campaign, "agent": change.agent,
            "best_ms": best_ms, "baseline_ms": baseline_ms if baseline_ms is not None else best_ms * change.speedup,
        }  # fmt: skip
        _offer(connection, key, values)


def _offer(connection: Connection, key: dict[str, int], values: dict[str, Any]) -> None:
    """Makes the variant the optimum if it is the best, and looks for another one if it was and no longer is."""
    table = schema.optimum
    statement = insert(table).values(**values)
    better = (statement.excluded.best_ms < table.c.best_ms) | (table.c.variant_id == statement.excluded.variant_id)
    fresh = {name: statement.excluded[name] for name in values if name not in key}
    before = connection.execute(select(table).where(*_matches(key))).one_or_none()
    connection.execute(
        statement.on_conflict_do_update(
            constraint=table.primary_key, set_={**fresh, "updated_at": func.now()}, where=better
        )
    )
    if before is not None and before.variant_id == values["variant_id"] and values["best_ms"] > before.best_ms:
        _elect(connection, key, before.baseline_ms)


def settle_optimum(connection: Connection, keys: CampaignKeys, offer: Offer) -> None:
    """After many evaluations of a campaign at one size at once, of which this was the best.

    An optimum that was there before may have been measured again, or have failed: then all are compared.
    """
    key = {"kernel_id": keys.kernel, "hardware_id": keys.hardware, "toolchain_id": keys.toolchain,
           "problem_id": offer.problem}  # fmt: skip
    _lock_problems(connection, keys.kernel, schema.problem.c.id == offer.problem)
    before = connection.execute(select(schema.optimum.c.baseline_ms).where(*_matches(key))).one_or_none()
    if before is not None:
        _elect(connection, key, before.baseline_ms)
        return
    best_ms = connection.execute(_times(key).where(schema.evaluation.c.variant_id == offer.variant)).one().best_ms
    baseline_ms = baselines(connection, [keys.campaign]).get((keys.campaign, offer.problem), best_ms)
    values = {
        **key, "variant_id": offer.variant, "genome_id": offer.genome, "campaign_id": keys.campaign,
        "agent": encode.text(offer.agent, encode.NAME_LENGTH), "best_ms": best_ms, "baseline_ms": baseline_ms,
    }  # fmt: skip
    _offer(connection, key, values)


def elect_again(connection: Connection, keys: Sequence[dict[str, int]]) -> None:
    """Compares all evaluations of each of these optima again, after others came from elsewhere."""
    table = schema.optimum
    for key in keys:
        _lock_problems(connection, key["kernel_id"], schema.problem.c.id == key["problem_id"])
        _elect(connection, key, connection.execute(select(table.c.baseline_ms).where(*_matches(key))).scalar_one())


def elect_kernel(connection: Connection, keys: CampaignKeys) -> None:
    """Elects every optimum of a kernel on a device again, after a campaign's measurements (and faults) are gone."""
    table, optimum = schema.evaluation, schema.optimum
    problems = _lock_problems(connection, keys.kernel, true())
    measured = select(table.c.toolchain_id, table.c.problem_id).distinct()
    rows = connection.execute(
        measured.where(table.c.hardware_id == keys.hardware, table.c.problem_id.in_(problems))
        .order_by(table.c.toolchain_id, table.c.problem_id)
    ).all()  # fmt: skip
    for row in rows:
        key = {"kernel_id": keys.kernel, "hardware_id": keys.hardware, "toolchain_id": row.toolchain_id,
               "problem_id": row.problem_id}  # fmt: skip
        before = connection.execute(select(optimum.c.baseline_ms).where(*_matches(key))).scalar_one_or_none()
        _elect(connection, key, before)


def _dethrone(connection: Connection, kernel: int, hardware: int, variant: int) -> None:
    """After a failure: the optima that this variant holds go to the next best."""
    table, problem = schema.optimum, schema.problem
    held = (
        select(table)
        .where(table.c.kernel_id == kernel, table.c.hardware_id == hardware, table.c.variant_id == variant)
        .order_by(table.c.toolchain_id, table.c.problem_id)
    )
    affected = {row.problem_id for row in connection.execute(held)}
    labels = connection.execute(select(problem.c.label).where(problem.c.id.in_(sorted(affected)))).scalars().all()
    _locked_problems(connection, kernel, labels)
    for row in connection.execute(held).all():
        key = {column.name: getattr(row, column.name) for column in table.primary_key}
        _elect(connection, key, row.baseline_ms)


def _is_faulty(connection: Connection, hardware: int, variant: int, campaign: int) -> bool:
    """True if it ever failed under the contract of this campaign."""
    table, owner, own = schema.evaluation, schema.campaign.alias("owner"), schema.campaign.alias("own")
    fault = exists().where(
        table.c.variant_id == variant, table.c.hardware_id == hardware, table.c.status.in_(_FAULTS),
        owner.c.id == table.c.campaign_id, own.c.id == campaign, owner.c.contract == own.c.contract,
    )  # fmt: skip
    return bool(connection.execute(select(fault)).scalar_one())


def _elect(connection: Connection, key: dict[str, int], before_ms: float | None) -> None:
    """Chooses the optimum of a key among all evaluations; ``before_ms`` is its baseline where its campaign has none."""
    evaluation, lineage, campaign = schema.evaluation, schema.lineage, schema.campaign
    faulty, owner, own = evaluation.alias("faulty"), campaign.alias("owner"), campaign.alias("own")
    times = (
        _times(key)
        .where(
            ~exists().where(
                faulty.c.variant_id == evaluation.c.variant_id, faulty.c.hardware_id == key["hardware_id"],
                faulty.c.status.in_(_FAULTS), owner.c.id == faulty.c.campaign_id,
                own.c.id == evaluation.c.campaign_id, owner.c.contract == own.c.contract,
            )
        )
        .subquery()
    )  # fmt: skip
    birth = (
        select(lineage.c.genome_id, lineage.c.campaign_id, lineage.c.agent, lineage.c.speedup)
        .join(campaign, campaign.c.id == lineage.c.campaign_id)
        .where(lineage.c.variant_id == times.c.variant_id, campaign.c.hardware_id == key["hardware_id"])
        .where(campaign.c.toolchain_id == key["toolchain_id"], lineage.c.speedup.is_not(None), ~lineage.c.cached)
        .order_by(lineage.c.id)
        .limit(1)
        .lateral("birth")  # looked up for the best alone, not for all that are sorted behind it
    )
    found = connection.execute(
        select(times.c.variant_id, times.c.best_ms, birth)
        .join(birth, true())
        .order_by(times.c.best_ms, times.c.variant_id)
        .limit(1)
    ).one_or_none()
    table = schema.optimum
    if found is None:
        connection.execute(delete(table).where(*_matches(key)))
        return
    baseline_ms = baselines(connection, [found.campaign_id]).get((found.campaign_id, key["problem_id"]))
    values = {name: value for name, value in found._mapping.items() if name != "speedup"}
    values["baseline_ms"] = baseline_ms or before_ms or found.best_ms * found.speedup
    fresh = {**values, "updated_at": func.now()}
    statement = insert(table).values(**key, **values)
    changed = or_(*(table.c[name] != statement.excluded[name] for name in ("variant_id", "best_ms", "baseline_ms")))
    connection.execute(statement.on_conflict_do_update(constraint=table.primary_key, set_=fresh, where=changed))


def _times(key: dict[str, int]) -> Select[Any]:
    """(variant_id, best_ms): median over the measurements of each variant at a key."""
    table = schema.evaluation
    median = func.percentile_cont(0.5).within_group(table.c.median_ms).label("best_ms")
    return (
        select(table.c.variant_id, median)
        .where(table.c.problem_id == key["problem_id"], table.c.hardware_id == key["hardware_id"])
        .where(table.c.toolchain_id == key["toolchain_id"], table.c.status == Status.OK.value)
        .where(~table.c.reused, ~table.c.is_check, ~table.c.fallback, table.c.median_ms.is_not(None))
        .group_by(table.c.variant_id)
    )


def _matches(key: dict[str, int]) -> list[Any]:
    return [schema.optimum.c[name] == value for name, value in key.items()]


def _locked_problems(connection: Connection, kernel: int, sizes: Sequence[str]) -> list[int]:
    """Ids of the problems, their rows locked in one order against other writers (but not against references)."""
    labels = [encode.text(size, encode.NAME_LENGTH) for size in sizes]
    return _lock_problems(connection, kernel, schema.problem.c.label.in_(labels))


def _lock_problems(connection: Connection, kernel: int, condition: ColumnElement[bool]) -> list[int]:
    table = schema.problem
    query = select(table.c.id).where(table.c.kernel_id == kernel, condition).order_by(table.c.id)
    return [int(found) for found in connection.execute(query.with_for_update(key_share=True)).scalars()]

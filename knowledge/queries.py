"""What the base answers about campaigns and variants. Read-only; each function runs in a transaction of the caller."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select

from evaluator.result import DeviceInfo, Evaluation, Resources, Status, Toolchain
from knowledge import decode, encode, schema
from knowledge.baseline import baselines
from knowledge.features import DEVICE_FEATURE_VERSION, DEVICE_FEATURES, KERNEL_FEATURES, SIZE_FEATURE_VERSION
from knowledge.filters import Filter
from knowledge.migrate import current
from knowledge.records import KernelRecord, Lineage, TrainingRow
from knowledge.rows import KernelStats, Stats, StoredOutcome
from knowledge.trust import SurrogateMetrics

_RETRYABLE = [status.value for status in Status if status.retryable]
_COUNTED = ("campaign", "evaluation", "genome", "hardware", "kernel", "optimum", "rejection", "toolchain", "variant")


def lookup(
    connection: Connection, kernel_digest: str, device: DeviceInfo, toolchain: Toolchain, variant_digest: str,
    contract: str = "",
) -> tuple[Evaluation, ...]:  # fmt: skip
    """The newest measurement of a variant at each size, tuned and checked, on this hardware and toolchain and judged by
    this contract.

    Time-outs and crashes are left out: their cause may have been the machine, and they may be tried again.
    """
    evaluation, problem = schema.evaluation, schema.problem
    rows = connection.execute(
        _joined(select(evaluation, problem.c.label))
        .where(schema.kernel.c.digest == kernel_digest, schema.variant.c.digest == variant_digest)
        .where(schema.hardware.c.fingerprint == encode.fingerprint(device), *_is_toolchain(toolchain))
        .where(~evaluation.c.reused, evaluation.c.status.not_in(_RETRYABLE))
        .where(schema.campaign.c.id == evaluation.c.campaign_id, schema.campaign.c.contract == contract)
        .order_by(evaluation.c.id)
    )
    newest: dict[tuple[str, bool], Evaluation] = {}
    for row in rows:
        found = decode.evaluation(variant_digest, row.label, row)
        if found is not None:
            newest[row.label, row.is_check] = found
    return tuple(newest.values())


def outcomes(connection: Connection, campaign: int) -> list[StoredOutcome]:
    """Every recorded proposal of a campaign in order; ones whose genome cannot be read are left out."""
    lineage, variant = schema.lineage, schema.variant
    applied, proposed = schema.genome.alias("applied"), schema.genome.alias("proposed")
    rows = connection.execute(
        select(lineage, variant.c.digest, applied.c.genes, proposed.c.genes.label("proposed_genes"))
        .join(variant, variant.c.id == lineage.c.variant_id)
        .join(applied, applied.c.id == lineage.c.genome_id)
        .join(proposed, proposed.c.id == lineage.c.proposed_id)
        .where(lineage.c.campaign_id == campaign)
        .order_by(lineage.c.ordinal, lineage.c.id)
    ).all()
    measured = _evaluations(connection, campaign)
    result = []
    for row in rows:
        genome, asked = decode.genome(row.genes), decode.genome(row.proposed_genes)
        if genome is None or asked is None:
            continue
        found = measured.get((row.ordinal, row.variant_id), [])
        source = Lineage(row.agent, decode.strings(row.parents), decode.genes(row.delta), row.ordinal)
        tuned = tuple(evaluation for evaluation, check in found if not check)
        checks = tuple(evaluation for evaluation, check in found if check)
        result.append(
            StoredOutcome(row.digest, genome, asked, tuned, checks, source, row.speedup, row.predicted,
                          row.forced, row.cached)
        )  # fmt: skip
    return result


def training_rows(
    connection: Connection, kernel: KernelRecord, device: DeviceInfo, limit: int
) -> tuple[TrainingRow, ...]:
    """Experience of all campaigns, one row for each tuned size: this kernel on this hardware first, then this kernel
    elsewhere, then other kernels on this hardware, then the rest; the newest first. Speed-ups are against the
    baseline of the same campaign. Recorded spaces of other kernels are left out: nothing is known of their structure.
    """
    evaluation, lineage = schema.evaluation, schema.lineage
    same_kernel = (schema.kernel.c.digest == kernel.digest).label("same_kernel")
    same_device = (schema.hardware.c.fingerprint == encode.fingerprint(device)).label("same_device")
    rows = connection.execute(
        _joined(
            select(evaluation.c.status, evaluation.c.median_ms, evaluation.c.campaign_id, evaluation.c.problem_id,
                   evaluation.c.resources, same_kernel, same_device, schema.genome.c.genes, schema.problem.c.features,
                   schema.kernel.c.features.label("kernel_features"),
                   schema.hardware.c.features.label("device_features"))
        )
        .join(lineage, (lineage.c.campaign_id == evaluation.c.campaign_id)
              & (lineage.c.ordinal == evaluation.c.ordinal) & (lineage.c.variant_id == evaluation.c.variant_id))
        .join(schema.genome, schema.genome.c.id == lineage.c.genome_id)
        .where(~evaluation.c.reused, ~evaluation.c.is_check)
        .where((schema.kernel.c.source != "") | (schema.kernel.c.digest == kernel.digest))
        .where(schema.kernel.c.feature_version == kernel.feature_version)
        .where(schema.hardware.c.feature_version == DEVICE_FEATURE_VERSION)
        .where(schema.problem.c.feature_version == SIZE_FEATURE_VERSION)
        .order_by(same_kernel.desc(), same_device.desc(), evaluation.c.id.desc())
        .limit(limit)
    ).all()  # fmt: skip
    times = baselines(connection, {row.campaign_id for row in rows})
    found = (_training_row(row, times.get((row.campaign_id, row.problem_id))) for row in rows)
    return tuple(row for row in found if row is not None)


def surrogate_metrics(connection: Connection, campaign: int) -> tuple[tuple[int, SurrogateMetrics], ...]:
    """(proposals before it, figures), in order."""
    table = schema.surrogate_metric
    query = select(table, table.c.count.label("total")).where(table.c.campaign_id == campaign)
    rows = connection.execute(query.order_by(table.c.ordinal))
    return tuple(
        (
            row.ordinal,
            SurrogateMetrics(row.total, row.unbiased, row.rank_correlation, row.decile_recall, row.prune_share),
        )
        for row in rows
    )


def counts(connection: Connection) -> dict[str, int]:
    """Rows by table, in the plural (``evaluations``). Look-ups are not evaluations."""
    names = {"hardware": "hardware", "optimum": "optima", "evaluation": "evaluations"}
    result = {}
    for name in _COUNTED:
        query = select(func.count()).select_from(schema.metadata.tables[name])
        if name == "evaluation":
            query = query.where(~schema.evaluation.c.reused)
        result[names.get(name, f"{name}s")] = int(connection.execute(query).scalar_one())
    return result


def stats(connection: Connection, wanted: Filter) -> Stats:
    """Size of the whole base, and a line for each kernel on each device that fits."""
    evaluation, kernel, hardware, optimum = schema.evaluation, schema.kernel, schema.hardware, schema.optimum
    toolchain, campaign = schema.toolchain, schema.campaign
    gains = (
        select(optimum.c.kernel_id, optimum.c.hardware_id,
               func.max(optimum.c.baseline_ms / optimum.c.best_ms).label("speedup"))
        .join(toolchain, toolchain.c.id == optimum.c.toolchain_id)
        .where(*wanted.on_toolchain(), *_at_sizes(wanted, optimum.c.problem_id))
        .group_by(optimum.c.kernel_id, optimum.c.hardware_id)
        .subquery()
    )  # fmt: skip
    totals = (
        select(campaign.c.kernel_id, campaign.c.hardware_id, func.count(campaign.c.id.distinct()).label("campaigns"),
               func.count(evaluation.c.id).filter(~evaluation.c.reused).label("evaluations"),
               func.count(evaluation.c.id).filter(evaluation.c.status != Status.OK.value).label("failed"))
        .join(toolchain, toolchain.c.id == campaign.c.toolchain_id)
        .outerjoin(evaluation, evaluation.c.campaign_id == campaign.c.id)
        .where(*wanted.on_toolchain(), *wanted.on_date(campaign.c.created_at))
        .where(*_at_sizes(wanted, evaluation.c.problem_id))
        .group_by(campaign.c.kernel_id, campaign.c.hardware_id)
        .subquery()
    )  # fmt: skip
    rows = connection.execute(
        select(kernel.c.name, hardware.c.name.label("device"), totals, gains.c.speedup)
        .join(totals, totals.c.kernel_id == kernel.c.id)
        .join(hardware, hardware.c.id == totals.c.hardware_id)
        .outerjoin(gains, (gains.c.kernel_id == kernel.c.id) & (gains.c.hardware_id == hardware.c.id))
        .where(*wanted.on_kernel(), *wanted.on_hardware())
        .order_by(kernel.c.name, hardware.c.name, kernel.c.id)
    )
    lines = [KernelStats(row.name, row.device, row.campaigns, row.evaluations, row.failed, row.speedup) for row in rows]
    size = int(connection.execute(select(func.pg_database_size(func.current_database()))).scalar_one())
    return Stats(tuple(counts(connection).items()), size, current(connection) or "", tuple(lines))


def _at_sizes(wanted: Filter, problem: ColumnElement[int]) -> list[ColumnElement[bool]]:
    conditions = wanted.on_problem()
    return [problem.in_(select(schema.problem.c.id).where(*conditions))] if conditions else []


def _joined(query: Select[Any]) -> Select[Any]:
    """From evaluation to everything that its keys name."""
    evaluation = schema.evaluation
    return (
        query.join_from(evaluation, schema.problem, schema.problem.c.id == evaluation.c.problem_id)
        .join(schema.variant, schema.variant.c.id == evaluation.c.variant_id)
        .join(schema.kernel, schema.kernel.c.id == schema.variant.c.kernel_id)
        .join(schema.hardware, schema.hardware.c.id == evaluation.c.hardware_id)
        .join(schema.toolchain, schema.toolchain.c.id == evaluation.c.toolchain_id)
    )


def _is_toolchain(toolchain: Toolchain) -> list[ColumnElement[bool]]:
    return [schema.toolchain.c[name] == value for name, value in encode.toolchain_row(toolchain).items()]


def _evaluations(connection: Connection, campaign: int) -> dict[tuple[int, int], list[tuple[Evaluation, bool]]]:
    """Evaluations of a campaign by (ordinal, variant), each with whether it is a check."""
    evaluation = schema.evaluation
    rows = connection.execute(
        _joined(select(evaluation, schema.problem.c.label, schema.variant.c.digest))
        .where(evaluation.c.campaign_id == campaign)
        .order_by(evaluation.c.id)
    )
    found: dict[tuple[int, int], list[tuple[Evaluation, bool]]] = {}
    for row in rows:
        item = decode.evaluation(row.digest, row.label, row)
        if item is not None:
            found.setdefault((row.ordinal, row.variant_id), []).append((item, row.is_check))
    return found


def _training_row(row: Row[Any], baseline_ms: float | None) -> TrainingRow | None:
    genome = decode.genome(row.genes)
    failed = row.status != Status.OK.value
    gain = None if failed else decode.log_ratio(baseline_ms, row.median_ms)
    if genome is None or (not failed and gain is None):
        return None
    return TrainingRow(
        genome, decode.numbers(row.kernel_features)[: len(KERNEL_FEATURES)],
        decode.numbers(row.device_features)[: len(DEVICE_FEATURES)], decode.numbers(row.features),
        gain, failed, row.same_kernel, row.same_device, _told(decode.resources(row.resources)),
    )  # fmt: skip


def _told(resources: Resources) -> Resources | None:
    """None where the compiler said nothing."""
    return None if resources == Resources() else resources

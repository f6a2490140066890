"""Lists: the fastest variants, campaigns, kernels, devices. Read-only; each runs in a transaction of the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select, true

from evaluator.result import Status, Toolchain
from genome.genes import Genome
from knowledge import decode, schema
from knowledge.filters import Filter


@dataclass(frozen=True)
class TopRow:
    """A variant at one size on one device and toolchain.

    Attributes:
        rank: 1 for the fastest of its kernel, size, device and toolchain.
        median_ms: Median over its measurements there.
        speedup: Of its campaign, over all tuned sizes; None if it failed at another one.
    """

    rank: int
    kernel: str
    size: str
    device: str
    toolchain: str
    median_ms: float
    speedup: float | None
    variant: str
    agent: str
    genome: Genome


@dataclass(frozen=True)
class CampaignRow:
    """A campaign. ``best`` is its largest speed-up; ``finished`` is None while it runs, or where it broke off."""

    id: int
    name: str
    kernel: str
    device: str
    toolchain: str
    seed: int
    version: str
    started: str
    finished: str | None
    evaluations: int
    failed: int
    best: float | None


@dataclass(frozen=True)
class KernelRow:
    """A kernel. ``published`` counts devices and types for which somebody published parameters."""

    name: str
    digest: str
    entry: str
    sizes: int
    devices: int
    best: float | None
    published: int
    source: bool


@dataclass(frozen=True)
class DeviceRow:
    """A device of the base. ``optima`` counts pairs of kernel and size."""

    name: str
    vendor: str
    architecture: str
    kind: str
    units: int
    memory_bytes: int
    campaigns: int
    optima: int


def top(connection: Connection, wanted: Filter, size: str | None, limit: int) -> tuple[TopRow, ...]:
    """The fastest verified variants: ``limit`` for each kernel, size, device and toolchain."""
    times, lineage = _ranked(wanted, size), schema.lineage
    newest = (
        select(lineage.c.agent, lineage.c.speedup, lineage.c.genome_id)
        .join(schema.campaign, schema.campaign.c.id == lineage.c.campaign_id)
        .where(lineage.c.variant_id == times.c.variant_id, schema.campaign.c.hardware_id == times.c.hardware_id)
        .where(schema.campaign.c.toolchain_id == times.c.toolchain_id)
        .order_by(lineage.c.id.desc())
        .limit(1)
        .lateral("newest")
    )
    rows = connection.execute(
        select(times, newest.c.agent, newest.c.speedup, schema.variant.c.digest, schema.genome.c.genes)
        .join(schema.variant, schema.variant.c.id == times.c.variant_id)
        .join(newest, true())
        .join(schema.genome, schema.genome.c.id == newest.c.genome_id)
        .where(times.c.rank <= limit)
        .order_by(*(times.c[name] for name in ("kernel", "label", "device", "platform", "driver", "compiler", "rank")))
    )
    found = []
    for row in rows:
        genome = decode.genome(row.genes)
        if genome is not None:
            tools = Toolchain(row.platform, row.driver, row.compiler).label
            found.append(TopRow(row.rank, row.kernel, row.label, row.device, tools, row.median_ms, row.speedup,
                                row.digest, row.agent, genome))  # fmt: skip
    return tuple(found)


def _ranked(wanted: Filter, size: str | None) -> Any:
    evaluation, hardware, toolchain, problem = schema.evaluation, schema.hardware, schema.toolchain, schema.problem
    keys = (evaluation.c.problem_id, evaluation.c.hardware_id, evaluation.c.toolchain_id)
    median = func.percentile_cont(0.5).within_group(evaluation.c.median_ms)
    shown = (problem.c.label, hardware.c.name.label("device"), schema.kernel.c.name.label("kernel"),
             toolchain.c.platform, toolchain.c.driver, toolchain.c.compiler)  # fmt: skip
    rank = func.row_number().over(partition_by=keys, order_by=(median, evaluation.c.variant_id)).label("rank")
    query = (
        select(evaluation.c.variant_id, *keys[1:], median.label("median_ms"), rank, *shown)
        .join(problem, problem.c.id == evaluation.c.problem_id)
        .join(schema.kernel, schema.kernel.c.id == problem.c.kernel_id)
        .join(hardware, hardware.c.id == evaluation.c.hardware_id)
        .join(toolchain, toolchain.c.id == evaluation.c.toolchain_id)
        .where(evaluation.c.status == Status.OK.value, evaluation.c.median_ms.is_not(None))
        .where(~evaluation.c.reused, ~evaluation.c.is_check, ~evaluation.c.fallback)
        .where(*wanted.everywhere(evaluation.c.created_at))
        .group_by(evaluation.c.variant_id, *keys, *shown)
    )
    return (query if size is None else query.where(problem.c.label == size)).subquery("ranked")


def history(
    connection: Connection, wanted: Filter, limit: int, campaign_id: int | None = None
) -> tuple[CampaignRow, ...]:
    """Campaigns, the newest first; with ``campaign_id`` that one alone."""
    campaign, evaluation, lineage = schema.campaign, schema.evaluation, schema.lineage
    measured = (
        select(func.count().filter(~evaluation.c.reused).label("evaluations"),
               func.count().filter(evaluation.c.status != Status.OK.value).label("failed"))
        .where(evaluation.c.campaign_id == campaign.c.id)
        .lateral("measured")
    )  # fmt: skip
    gained = select(func.max(lineage.c.speedup).label("best")).where(lineage.c.campaign_id == campaign.c.id)
    gains = gained.lateral("gains")
    query = (
        select(campaign, measured, gains, schema.kernel.c.name.label("kernel"),
               schema.hardware.c.name.label("device"), schema.toolchain.c.platform, schema.toolchain.c.driver,
               schema.toolchain.c.compiler)
        .join(schema.kernel, schema.kernel.c.id == campaign.c.kernel_id)
        .join(schema.hardware, schema.hardware.c.id == campaign.c.hardware_id)
        .join(schema.toolchain, schema.toolchain.c.id == campaign.c.toolchain_id)
        .join(measured, true())
        .join(gains, true())
        .where(*wanted.on_kernel(), *wanted.on_hardware(), *wanted.on_toolchain())
        .where(*wanted.on_date(campaign.c.created_at), *_has_problem(wanted, campaign.c.kernel_id))
    )  # fmt: skip
    if campaign_id is not None:
        query = query.where(campaign.c.id == campaign_id)
    rows = connection.execute(query.order_by(campaign.c.id.desc()).limit(limit))
    return tuple(
        CampaignRow(
            row.id, row.name, row.kernel, row.device, Toolchain(row.platform, row.driver, row.compiler).label, row.seed,
            row.version, row.created_at.isoformat(), None if row.finished_at is None else row.finished_at.isoformat(),
            row.evaluations, row.failed, row.best,
        )
        for row in rows
    )  # fmt: skip


def kernels(connection: Connection, wanted: Filter, limit: int) -> tuple[KernelRow, ...]:
    """Kernels by name; conditions on devices and sizes hold for what the base knows of them."""
    kernel, optimum, advice = schema.kernel, schema.optimum, schema.recommendation
    figures: tuple[ColumnElement[Any], ...] = (
        func.count(optimum.c.hardware_id.distinct()).label("devices"),
        func.count(optimum.c.problem_id.distinct()).label("sizes"),
        func.max(optimum.c.baseline_ms / optimum.c.best_ms).label("best"),
    )
    known = _of_optima(figures, wanted).where(optimum.c.kernel_id == kernel.c.id).lateral("known")
    published = (
        select(func.count().label("published"))
        .join(schema.hardware, schema.hardware.c.id == advice.c.hardware_id)
        .where(advice.c.kernel_id == kernel.c.id, *wanted.on_hardware())
        .lateral("published")
    )
    query = (
        select(kernel.c.name, kernel.c.digest, kernel.c.entry, known, published, (kernel.c.source != "").label("text"))
        .select_from(kernel)
        .join(known, true())
        .join(published, true())
        .where(*wanted.on_kernel(), *wanted.on_date(kernel.c.created_at))
    )
    if wanted.on_hardware() or wanted.on_toolchain() or wanted.on_problem():
        query = query.where((known.c.devices > 0) | (published.c.published > 0))
    rows = connection.execute(query.order_by(kernel.c.name, kernel.c.id).limit(limit))
    return tuple(
        KernelRow(row.name, row.digest, row.entry, row.sizes, row.devices, row.best, row.published, row.text)
        for row in rows
    )


def devices(connection: Connection, wanted: Filter, limit: int) -> tuple[DeviceRow, ...]:
    """Devices by name."""
    hardware, campaign, optimum = schema.hardware, schema.campaign, schema.optimum
    campaigns = select(func.count().label("campaigns")).where(campaign.c.hardware_id == hardware.c.id)
    optima = (
        select(func.count().label("optima"))
        .join(schema.kernel, schema.kernel.c.id == optimum.c.kernel_id)
        .where(optimum.c.hardware_id == hardware.c.id, *wanted.on_kernel())
    )
    own, held = campaigns.lateral("own"), optima.lateral("held")
    query = select(hardware, own, held).select_from(hardware).join(own, true()).join(held, true())
    query = query.where(*wanted.on_hardware(), *wanted.on_date(hardware.c.created_at))
    if wanted.on_kernel():
        query = query.where(held.c.optima > 0)
    rows = connection.execute(query.order_by(hardware.c.name, hardware.c.id).limit(limit))
    return tuple(
        DeviceRow(row.name, row.vendor, row.architecture, row.kind, row.units, row.memory_bytes, row.campaigns,
                  row.optima)
        for row in rows
    )  # fmt: skip


def _of_optima(columns: Sequence[ColumnElement[Any]], wanted: Filter) -> Select[Any]:
    """From ``optimum``, with the conditions on device, toolchain and size."""
    optimum = schema.optimum
    return (
        select(*columns)
        .select_from(optimum)
        .join(schema.hardware, schema.hardware.c.id == optimum.c.hardware_id)
        .join(schema.toolchain, schema.toolchain.c.id == optimum.c.toolchain_id)
        .join(schema.problem, schema.problem.c.id == optimum.c.problem_id)
        .where(*wanted.on_hardware(), *wanted.on_toolchain(), *wanted.on_problem())
    )


def _has_problem(wanted: Filter, kernel: Any) -> list[Any]:
    conditions = wanted.on_problem()
    problem = schema.problem
    return [select(problem.c.id).where(problem.c.kernel_id == kernel, *conditions).exists()] if conditions else []

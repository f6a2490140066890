"""The rows that priors are made of: optima and final proofs, each with everything that its keys name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Double,
    FromClause,
    Select,
    TableValuedAlias,
    and_,
    bindparam,
    case,
    column,
    exists,
    func,
    select,
    true,
)
from sqlalchemy.sql.selectable import LateralFromClause
from sqlalchemy.types import TypeEngine

from evaluator.result import Status
from knowledge import schema

_FAULTS = [status.value for status in Status if status is not Status.OK and not status.retryable]
_PLACE = ("kernel_id", "hardware_id", "toolchain_id", "problem_id")
PROOFS = 4
"""Best proofs of each kernel, device, toolchain and size that are looked at."""


def _newest_proof() -> LateralFromClause:
    """The newest proof of an optimum's variant at its size on its hardware and toolchain."""
    proof, optimum, owner = schema.proof, schema.optimum, schema.campaign.alias("owner")
    names = ("baseline_ms", "best_ms", "speedup", "low", "high", "processes", "created_at")
    return (
        select(*(proof.c[name].label(f"proven_{name}") for name in names))
        .join(owner, owner.c.id == proof.c.campaign_id)
        .where(proof.c.variant_id == optimum.c.variant_id, proof.c.problem_id == optimum.c.problem_id)
        .where(owner.c.hardware_id == optimum.c.hardware_id, owner.c.toolchain_id == optimum.c.toolchain_id)
        .order_by(proof.c.created_at.desc(), proof.c.campaign_id.desc())
        .limit(1)
        .lateral("newest")
    )


def optima(condition: ColumnElement[bool], start: FromClause = schema.optimum) -> Select[Any]:
    """Optima with everything that their keys name; ``start`` is the table, or what it is joined to first."""
    optimum, hardware, toolchain, newest = schema.optimum, schema.hardware, schema.toolchain, _newest_proof()
    return (
        select(
            optimum, newest, schema.kernel.c.name.label("kernel"), schema.kernel.c.digest.label("kernel_digest"),
            hardware.c.name.label("device"), hardware.c.fingerprint, hardware.c.architecture,
            hardware.c.features.label("device_features"), toolchain.c.platform, toolchain.c.driver,
            toolchain.c.compiler, schema.problem.c.label, schema.problem.c["values"].label("sizes"),
            schema.variant.c.digest.label("variant"), schema.variant.c.source, schema.variant.c.target,
            schema.variant.c.options, schema.genome.c.genes, schema.genome.c.digest.label("genome"),
            schema.campaign.c.name.label("campaign"),
        )
        .select_from(start)
        .join(schema.kernel, schema.kernel.c.id == optimum.c.kernel_id)
        .join(hardware, hardware.c.id == optimum.c.hardware_id)
        .join(toolchain, toolchain.c.id == optimum.c.toolchain_id)
        .join(schema.problem, schema.problem.c.id == optimum.c.problem_id)
        .join(schema.variant, schema.variant.c.id == optimum.c.variant_id)
        .join(schema.genome, schema.genome.c.id == optimum.c.genome_id)
        .join(schema.campaign, schema.campaign.c.id == optimum.c.campaign_id)
        .outerjoin(newest, true())
        .where(condition)
        .order_by(optimum.c.problem_id, optimum.c.toolchain_id)
    )  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Key of an optimum: a kernel at a size on a device and toolchain."""

    kernel: int
    hardware: int
    toolchain: int
    problem: int


@lru_cache(maxsize=1)
def nearest_places() -> Select[Any]:
    """Keys of the optima that are nearest to what is asked, one a genome, the nearest first.

    Only keys are compared here: a kernel that everybody tunes has thousands of optima.

    Parameters of the statement: ``near_problem_id`` and ``near_apart``, problems with their distance and that of their
    kernel; ``fingerprint`` and ``vector`` of the device; ``platform``, ``driver`` and ``compiler``; what an
    ``other_device`` and ``other_toolchain`` add; ``most`` keys.
    """
    optimum = schema.optimum
    near = _unnested("near", problem_id=BigInteger, apart=Double)
    here = schema.hardware.c.fingerprint == bindparam("fingerprint")
    vector = bindparam("vector", type_=schema.hardware.c.features.type)
    elsewhere = bindparam("other_device", type_=Double) + schema.hardware.c.features.l2_distance(vector)
    tools = and_(*(schema.toolchain.c[name] == bindparam(name) for name in ("platform", "driver", "compiler")))
    other_tools = case((here & ~tools, bindparam("other_toolchain", type_=Double)), else_=0.0)
    total = (near.c.apart + case((here, 0.0), else_=elsewhere) + other_tools).label("total")
    order = (total, (optimum.c.best_ms / optimum.c.baseline_ms), optimum.c.variant_id)
    first = (
        select(*optimum.primary_key, *(item.label(f"rank_{n}") for n, item in enumerate(order)))
        .add_columns(func.row_number().over(partition_by=optimum.c.genome_id, order_by=order).label("of_genome"))
        .join(near, near.c.problem_id == optimum.c.problem_id)
        .join(schema.hardware, schema.hardware.c.id == optimum.c.hardware_id)
        .join(schema.toolchain, schema.toolchain.c.id == optimum.c.toolchain_id)
        .subquery("first")
    )
    ranks = (first.c[f"rank_{n}"] for n in range(len(order)))
    return (
        select(first.c.kernel_id, first.c.hardware_id, first.c.toolchain_id, first.c.problem_id)
        .where(first.c.of_genome == 1)
        .order_by(*ranks)
        .limit(bindparam("most", type_=BigInteger))
    )


def place_values(places: Sequence[Place]) -> dict[str, list[int]]:
    """Parameters of ``optima_at`` and ``proofs``."""
    columns = zip(*((item.kernel, item.hardware, item.toolchain, item.problem) for item in places), strict=True)
    return {f"place_{name}": list(values) for name, values in zip(_PLACE, columns, strict=True)}


@lru_cache(maxsize=1)
def optima_at() -> Select[Any]:
    """The optima of some places (see ``place_values``), without the text of their variants."""
    place = _unnested("place", **dict.fromkeys(_PLACE, BigInteger))
    here = and_(*(schema.optimum.c[item.name] == item for item in place.c))
    query = optima(true(), place.join(schema.optimum, here))  # first: Postgres keeps the order of so many tables
    return query.with_only_columns(*(item for item in query.selected_columns if item is not schema.variant.c.source))


@lru_cache(maxsize=1)
def proofs() -> Select[Any]:
    """The best proven variants of some places (see ``place_values``), as rows like those of ``optima``.

    An optimum is the one variant whose times in the search were shortest; a proof has met the baseline again in fresh
    processes. Up to ``PROOFS`` of a place come back, so that good variants of several shapes do.
    """
    proof, owner = schema.proof, schema.campaign
    place = _unnested("place", **dict.fromkeys(_PLACE, BigInteger))
    here = [owner.c[name] == place.c[name] for name in ("kernel_id", "hardware_id", "toolchain_id")]
    order = (proof.c.speedup.desc(), proof.c.variant_id)
    ranked = (
        select(
            proof.c.campaign_id, proof.c.variant_id, *place.c, proof.c.best_ms, proof.c.baseline_ms, proof.c.speedup,
            proof.c.created_at,
            func.row_number().over(partition_by=list(place.c), order_by=order).label("rank"),
        )
        .select_from(place)
        .join(owner, and_(*here))
        .join(proof, (proof.c.campaign_id == owner.c.id) & (proof.c.problem_id == place.c.problem_id))
        .subquery("ranked")
    )  # fmt: skip
    birth = _birth(ranked.c.variant_id, ranked.c.campaign_id)
    kernel, hardware, toolchain = schema.kernel, schema.hardware, schema.toolchain
    return (
        select(
            ranked.c.kernel_id, ranked.c.best_ms, ranked.c.baseline_ms, ranked.c.speedup.label("proven_speedup"),
            ranked.c.created_at.label("updated_at"), kernel.c.name.label("kernel"),
            kernel.c.digest.label("kernel_digest"), hardware.c.name.label("device"), hardware.c.fingerprint,
            hardware.c.features.label("device_features"), toolchain.c.platform, toolchain.c.driver,
            toolchain.c.compiler, schema.problem.c.label, schema.problem.c["values"].label("sizes"),
            schema.variant.c.digest.label("variant"), schema.genome.c.genes, schema.genome.c.digest.label("genome"),
            birth.c.agent,
        )
        .join(kernel, kernel.c.id == ranked.c.kernel_id)
        .join(hardware, hardware.c.id == ranked.c.hardware_id)
        .join(toolchain, toolchain.c.id == ranked.c.toolchain_id)
        .join(schema.problem, schema.problem.c.id == ranked.c.problem_id)
        .join(schema.variant, schema.variant.c.id == ranked.c.variant_id)
        .join(birth, true())
        .join(schema.genome, schema.genome.c.id == birth.c.genome_id)
        .where(ranked.c.rank <= PROOFS, ~_fault(ranked.c.variant_id, ranked.c.hardware_id))
    )  # fmt: skip


def _birth(variant: ColumnElement[int], campaign: ColumnElement[int]) -> LateralFromClause:
    """The first proposal of a variant in a campaign."""
    lineage = schema.lineage
    return (
        select(lineage.c.genome_id, lineage.c.agent)
        .where(lineage.c.variant_id == variant, lineage.c.campaign_id == campaign)
        .order_by(lineage.c.id)
        .limit(1)
        .lateral("birth")
    )


def _fault(variant: ColumnElement[int], hardware: ColumnElement[int]) -> ColumnElement[bool]:
    """True of a variant that ever failed on the hardware for a reason of its own."""
    table = schema.evaluation
    return exists().where(table.c.variant_id == variant, table.c.hardware_id == hardware, table.c.status.in_(_FAULTS))


def _unnested(name: str, **columns: type[TypeEngine[Any]]) -> TableValuedAlias:
    """Arrays side by side as a table, each the parameter ``name_column``: one statement however many rows there are."""
    arrays = [bindparam(f"{name}_{key}", type_=ARRAY(kind)) for key, kind in columns.items()]
    made = func.unnest(*arrays).table_valued(*(column(key, kind) for key, kind in columns.items()), name=name)
    return made.render_derived()

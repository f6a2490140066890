"""The rows that priors are made of: optima and final proofs, each with everything that its keys name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, func, select, true
from sqlalchemy.sql.selectable import LateralFromClause

from evaluator.result import Status
from knowledge import schema

_FAULTS = [status.value for status in Status if status is not Status.OK and not status.retryable]
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


def optima(condition: ColumnElement[bool]) -> Select[Any]:
    """Optima with everything that their keys name."""
    optimum, hardware, toolchain, newest = schema.optimum, schema.hardware, schema.toolchain, _newest_proof()
    return (
        select(
            optimum, newest, schema.kernel.c.name.label("kernel"), schema.kernel.c.digest.label("kernel_digest"),
            hardware.c.name.label("device"), hardware.c.fingerprint, hardware.c.architecture,
            hardware.c.features.label("device_features"), toolchain.c.platform, toolchain.c.driver,
            toolchain.c.compiler, schema.problem.c.label, schema.problem.c["values"].label("sizes"),
            schema.variant.c.digest.label("variant"), schema.variant.c.source, schema.variant.c.target,
            schema.variant.c.options, schema.genome.c.genes, schema.campaign.c.name.label("campaign"),
        )
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


def proofs(kernels: Sequence[int]) -> Select[Any]:
    """The best proven variants of each kernel, hardware, toolchain and size, as rows like those of ``optima``.

    An optimum is the one variant whose times in the search were shortest; a proof has met the baseline again in fresh
    processes. Up to ``PROOFS`` of a key come back, so that good variants of several shapes do.
    """
    proof, owner = schema.proof, schema.campaign
    place = (owner.c.kernel_id, owner.c.hardware_id, owner.c.toolchain_id, proof.c.problem_id)
    order = (proof.c.speedup.desc(), proof.c.variant_id)
    ranked = (
        select(
            proof.c.campaign_id, proof.c.variant_id, *place, proof.c.best_ms, proof.c.baseline_ms, proof.c.speedup,
            proof.c.created_at,
            func.row_number().over(partition_by=place, order_by=order).label("rank"),
        )
        .join(owner, owner.c.id == proof.c.campaign_id)
        .where(owner.c.kernel_id.in_(kernels), ~_fault(proof.c.variant_id, owner.c.hardware_id))
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
            schema.variant.c.digest.label("variant"), schema.genome.c.genes, birth.c.agent,
        )
        .join(kernel, kernel.c.id == ranked.c.kernel_id)
        .join(hardware, hardware.c.id == ranked.c.hardware_id)
        .join(toolchain, toolchain.c.id == ranked.c.toolchain_id)
        .join(schema.problem, schema.problem.c.id == ranked.c.problem_id)
        .join(schema.variant, schema.variant.c.id == ranked.c.variant_id)
        .join(birth, true())
        .join(schema.genome, schema.genome.c.id == birth.c.genome_id)
        .where(ranked.c.rank <= PROOFS)
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

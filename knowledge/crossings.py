"""What became of the genomes of a portability study, on every machine that took part. Read-only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, select

from evaluator.api import SizeComparison
from evaluator.result import Evaluation, Toolchain
from genome.genes import Gene, Genome
from knowledge import decode, encode, schema


@dataclass(frozen=True)
class Hardware:
    """A device as the base knows it."""

    name: str
    fingerprint: str
    units: int
    shared_bytes: int
    bandwidth_gbs: float
    peak_gflops: float


@dataclass(frozen=True)
class Crossing:
    """A genome on a device at one size.

    Attributes:
        hardware: Where.
        toolchain: Label of driver and compiler.
        genome, applied: As it was proposed, and what of it applied there.
        agent, parents, delta: Why it was tried, see ``records.Lineage``.
        size: Label.
        evaluation: What came of it; None where it gave no variant.
        check: True if the size was checked and not tuned.
        reason: Why it gave no variant.
        proven: Over fresh processes, beside the kernel as it is; None where there was no comparison.
    """

    hardware: Hardware
    toolchain: str
    genome: Genome
    applied: Genome
    agent: str
    parents: tuple[str, ...]
    delta: tuple[Gene, ...]
    size: str = ""
    evaluation: Evaluation | None = None
    check: bool = False
    reason: str = ""
    proven: SizeComparison | None = None


def crossings(connection: Connection, name: str, kernel_digest: str, contract: str) -> tuple[Crossing, ...]:
    """All that campaigns of this name found of this kernel, judged by this contract, the oldest first."""
    found = [_refused(row) for row in connection.execute(_rejections(name, kernel_digest, contract))]
    found += [_measured(row) for row in connection.execute(_evaluations(name, kernel_digest, contract))]
    return tuple(item for item in found if item is not None)


def _of_campaigns(query: Select[Any], name: str, kernel_digest: str, contract: str) -> Select[Any]:
    """From the query's rows to the campaigns of this name and kernel, with their hardware."""
    campaign, kernel, hardware, toolchain = schema.campaign, schema.kernel, schema.hardware, schema.toolchain
    columns = [hardware.c[n] for n in ("fingerprint", "units", "shared_bytes", "bandwidth_gbs", "peak_gflops")]
    columns += [toolchain.c.platform, toolchain.c.driver, toolchain.c.compiler]
    return (
        query.add_columns(hardware.c.name.label("device"), *columns)
        .join(kernel, kernel.c.id == campaign.c.kernel_id)
        .join(hardware, hardware.c.id == campaign.c.hardware_id)
        .join(toolchain, toolchain.c.id == campaign.c.toolchain_id)
        .where(campaign.c.name == encode.text(name, encode.NAME_LENGTH), kernel.c.digest == kernel_digest)
        .where(campaign.c.contract == contract)
    )


def _evaluations(name: str, kernel_digest: str, contract: str) -> Select[Any]:
    campaign, lineage, evaluation, proof = schema.campaign, schema.lineage, schema.evaluation, schema.proof
    proposed, applied = schema.genome.alias("proposed"), schema.genome.alias("applied")
    query = (
        select(
            evaluation, schema.problem.c.label, schema.variant.c.digest.label("variant"), lineage.c.agent,
            lineage.c.parents, lineage.c.delta, proposed.c.genes.label("proposed"), applied.c.genes.label("applied"),
            proof.c.baseline_ms, proof.c.best_ms, proof.c.speedup, proof.c.low, proof.c.high,
        )
        .select_from(campaign)
        .join(lineage, lineage.c.campaign_id == campaign.c.id)
        .join(evaluation, and_(evaluation.c.campaign_id == campaign.c.id, evaluation.c.ordinal == lineage.c.ordinal,
                               evaluation.c.variant_id == lineage.c.variant_id))
        .join(schema.problem, schema.problem.c.id == evaluation.c.problem_id)
        .join(schema.variant, schema.variant.c.id == lineage.c.variant_id)
        .join(proposed, proposed.c.id == lineage.c.proposed_id)
        .join(applied, applied.c.id == lineage.c.genome_id)
        .outerjoin(proof, and_(proof.c.campaign_id == campaign.c.id, proof.c.problem_id == evaluation.c.problem_id,
                               proof.c.variant_id == evaluation.c.variant_id))
    )  # fmt: skip
    return _of_campaigns(query, name, kernel_digest, contract).order_by(campaign.c.id, evaluation.c.id)


def _rejections(name: str, kernel_digest: str, contract: str) -> Select[Any]:
    campaign, rejection = schema.campaign, schema.rejection
    query = (
        select(rejection, schema.genome.c.genes)
        .select_from(campaign)
        .join(rejection, rejection.c.campaign_id == campaign.c.id)
        .join(schema.genome, schema.genome.c.id == rejection.c.genome_id)
    )
    return _of_campaigns(query, name, kernel_digest, contract).order_by(campaign.c.id, rejection.c.id)


def _hardware(row: Row[Any]) -> Hardware:
    return Hardware(row.device, row.fingerprint, row.units, row.shared_bytes, row.bandwidth_gbs, row.peak_gflops)


def _toolchain(row: Row[Any]) -> str:
    return Toolchain(row.platform, row.driver, row.compiler).label


def _refused(row: Row[Any]) -> Crossing | None:
    genome = decode.genome(row.genes)
    if genome is None:
        return None
    parents, delta = decode.strings(row.parents), decode.genes(row.delta)
    return Crossing(_hardware(row), _toolchain(row), genome, genome, row.agent, parents, delta, reason=row.reason)


def _measured(row: Row[Any]) -> Crossing | None:
    """None where what the base holds is no evaluation that this version knows: it may be a shared one."""
    genome, applied = decode.genome(row.proposed), decode.genome(row.applied)
    found = decode.evaluation(row.variant, row.label, row)
    if genome is None or applied is None or found is None:
        return None
    proven = None
    if row.best_ms is not None:
        proven = SizeComparison(row.label, row.baseline_ms, row.best_ms, row.speedup, row.low, row.high)
    return Crossing(
        _hardware(row), _toolchain(row), genome, applied, row.agent, decode.strings(row.parents),
        decode.genes(row.delta), row.label, found, row.is_check, proven=proven,
    )  # fmt: skip

"""Pairs of a kernel as it was and a variant of it, with all that was measured of both in one campaign. Read-only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, select

from evaluator.result import Evaluation, Status, Toolchain
from genome.genes import Genome
from knowledge import decode, schema
from knowledge.filters import Filter
from knowledge.rows import Proven

_FAULTS = [status.value for status in Status if status is not Status.OK and not status.retryable]


@dataclass(frozen=True)
class Program:
    """A variant as it was compiled and run; ``steps`` are its memsets and launches as plain data."""

    variant: str
    source: str
    options: tuple[str, ...]
    steps: tuple[Any, ...]


@dataclass(frozen=True)
class Hardware:
    """The device of a pair, as the base keeps it: see ``evaluator.result.DeviceInfo``."""

    name: str
    vendor: str
    architecture: str
    kind: str
    units: int
    memory_bytes: int
    l2_bytes: int
    shared_bytes: int
    max_threads: int
    clock_mhz: int
    bandwidth_gbs: float
    peak_gflops: float
    fingerprint: str


@dataclass(frozen=True)
class PairSize:
    """Both programs at one size: what the search measured, and the final comparison where there was one."""

    size: str
    values: Mapping[str, int]
    before: Evaluation
    after: Evaluation
    proven: Proven | None = None


@dataclass(frozen=True)
class Pair:
    """Two programs that compute the same, verified, on one device and toolchain.

    Attributes:
        kernel, kernel_digest, entry: Of both.
        licence, provenance: Of the kernel, as its campaign states them; empty if it does not.
        target: Language of both.
        before: The kernel as it was.
        after: The variant.
        genome: By which the first became the second.
        agent: Who proposed it.
        device, toolchain: Where both were measured.
        version: Of evo-tune.
        campaign, name: Token and name of the campaign.
        recorded: When, ISO 8601.
        speedup: Of the search, over all tuned sizes.
        sizes: In the order of their labels.
    """

    kernel: str
    kernel_digest: str
    entry: str
    licence: str
    provenance: str
    target: str
    before: Program
    after: Program
    genome: Genome
    agent: str
    device: Hardware
    toolchain: Toolchain
    version: str
    campaign: str
    name: str
    recorded: str
    speedup: float
    sizes: tuple[PairSize, ...]


def pairs(connection: Connection, wanted: Filter, proven: bool = False) -> Iterator[Pair]:
    """Every verified variant of every campaign beside the kernel as it was there, a campaign after the other.

    Left out are recorded spaces (there is no text), look-ups (they are a pair of another campaign), and variants that a
    later look in their campaign found to be wrong.

    Args:
        connection: Of the caller.
        wanted: Conditions on kernel, device, toolchain, sizes, and on when the campaign began.
        proven: Only variants that took part in a final comparison and held.
    """
    for owner in connection.execute(_campaigns(wanted)).all():
        measured = _measured(connection, owner.id, wanted)
        births = [row for row in _births(connection, owner.id) if (row.variant_id, row.ordinal) in measured]
        before = next((row for row in births if row.genes == []), None)
        if before is None:
            continue
        first = measured[before.variant_id, before.ordinal]
        proofs, faulty = _proofs(connection, owner.id), _faulty(connection, owner.id)
        newest = {row.variant_id: row for row in births if row.variant_id not in faulty and row.genes != []}
        for row in newest.values():
            sizes = _sizes(first, measured[row.variant_id, row.ordinal], proofs.get(row.variant_id, {}))
            pair = _pair(owner, before, row, sizes)
            if pair is not None and (not proven or any(size.proven for size in sizes)):
                yield pair


def _campaigns(wanted: Filter) -> Any:
    campaign, kernel, hardware, toolchain = schema.campaign, schema.kernel, schema.hardware, schema.toolchain
    shown = [hardware.c[name].label(f"device_{name}") for name in Hardware.__dataclass_fields__]
    return (
        select(campaign, kernel.c.name.label("kernel"), kernel.c.digest, kernel.c.entry, *shown,
               toolchain.c.platform, toolchain.c.driver, toolchain.c.compiler)
        .join(kernel, kernel.c.id == campaign.c.kernel_id)
        .join(hardware, hardware.c.id == campaign.c.hardware_id)
        .join(toolchain, toolchain.c.id == campaign.c.toolchain_id)
        .where(kernel.c.source != "", *wanted.on_kernel(), *wanted.on_hardware(), *wanted.on_toolchain())
        .where(*wanted.on_date(campaign.c.created_at))
        .order_by(campaign.c.id)
    )  # fmt: skip


def _births(connection: Connection, campaign: int) -> list[Row[Any]]:
    """Variants that succeeded in a campaign, in the order in which they came up."""
    lineage, variant = schema.lineage, schema.variant
    return list(
        connection.execute(
            select(lineage.c.variant_id, lineage.c.ordinal, lineage.c.agent, lineage.c.speedup, lineage.c.created_at,
                   variant.c.digest, variant.c.source, variant.c.options, variant.c.steps, variant.c.target,
                   schema.genome.c.genes)
            .join(variant, variant.c.id == lineage.c.variant_id)
            .join(schema.genome, schema.genome.c.id == lineage.c.genome_id)
            .where(lineage.c.campaign_id == campaign, ~lineage.c.cached, lineage.c.speedup.is_not(None))
            .where(variant.c.source != "")
            .order_by(lineage.c.ordinal, lineage.c.id)
        )
    )  # fmt: skip


_Sizes = dict[str, PairSize]


def _measured(connection: Connection, campaign: int, wanted: Filter) -> dict[tuple[int, int], _Sizes]:
    """Successful measurements at tuned sizes by variant and ordinal, each as both sides of a pair."""
    evaluation, problem = schema.evaluation, schema.problem
    rows = connection.execute(
        select(evaluation, problem.c.label, problem.c["values"].label("numbers"), schema.variant.c.digest)
        .join(problem, problem.c.id == evaluation.c.problem_id)
        .join(schema.variant, schema.variant.c.id == evaluation.c.variant_id)
        .where(evaluation.c.campaign_id == campaign, evaluation.c.status == Status.OK.value)
        .where(~evaluation.c.is_check, ~evaluation.c.reused, ~evaluation.c.fallback, *wanted.on_problem())
        .order_by(evaluation.c.id)
    )
    found: dict[tuple[int, int], _Sizes] = {}
    for row in rows:
        item = decode.evaluation(row.digest, row.label, row)
        if item is not None and item.timing is not None:
            size = PairSize(row.label, decode.sizes(row.numbers), item, item)
            found.setdefault((row.variant_id, row.ordinal), {})[row.label] = size
    return found


def _proofs(connection: Connection, campaign: int) -> dict[int, dict[str, Proven]]:
    """Final comparisons of a campaign by variant and size."""
    proof = schema.proof
    rows = connection.execute(
        select(proof, schema.problem.c.label)
        .join(schema.problem, schema.problem.c.id == proof.c.problem_id)
        .where(proof.c.campaign_id == campaign)
    )
    found: dict[int, dict[str, Proven]] = {}
    for row in rows:
        found.setdefault(row.variant_id, {})[row.label] = Proven(
            row.baseline_ms, row.best_ms, row.speedup, row.low, row.high, row.processes, row.created_at.isoformat()
        )
    return found


def _faulty(connection: Connection, campaign: int) -> set[int]:
    """Variants that failed in a campaign for a reason of their own, at any look."""
    table = schema.evaluation
    query = select(table.c.variant_id).where(table.c.campaign_id == campaign, table.c.status.in_(_FAULTS))
    return set(connection.execute(query).scalars())


def _sizes(before: _Sizes, after: _Sizes, proofs: Mapping[str, Proven]) -> tuple[PairSize, ...]:
    """Those at which both sides were timed."""
    return tuple(
        replace(before[label], after=after[label].after, proven=proofs.get(label))
        for label in sorted(before)
        if label in after
    )


def _pair(owner: Row[Any], before: Row[Any], after: Row[Any], sizes: tuple[PairSize, ...]) -> Pair | None:
    """None where the base holds no pair: its genome cannot be read, or no size is known of both."""
    genome = decode.genome(after.genes)
    if genome is None or not sizes or before.target != after.target:
        return None
    device = Hardware(**{name: getattr(owner, f"device_{name}") for name in Hardware.__dataclass_fields__})
    return Pair(
        owner.kernel, owner.digest, owner.entry, _stated(owner.settings, "licence"),
        _stated(owner.settings, "provenance"), after.target, _program(before), _program(after), genome, after.agent,
        device, Toolchain(owner.platform, owner.driver, owner.compiler), owner.version, str(owner.token), owner.name,
        after.created_at.isoformat(), after.speedup, sizes,
    )  # fmt: skip


def _program(row: Row[Any]) -> Program:
    steps = tuple(row.steps) if isinstance(row.steps, list) else ()
    return Program(row.digest, row.source, decode.strings(row.options), steps)


def _stated(settings: Any, name: str) -> str:
    value = settings.get(name) if isinstance(settings, dict) else None
    return value if isinstance(value, str) else ""

"""Everything that the base knows of one variant: what it is, what was measured of it, and where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, Connection, Text, any_, literal, select

from genome.genes import Gene, Genome
from knowledge import decode, encode, schema
from knowledge.errors import KnowledgeError

SHORTEST = 4
"""Characters of a digest that may stand for the whole."""
DEEPEST = 24
"""Generations of parents that are looked up."""


@dataclass(frozen=True)
class Measurement:
    """One evaluation of the variant; ``median_ms`` is None where it failed, or at a check size."""

    device: str
    toolchain: str
    size: str
    status: str
    median_ms: float | None
    check: bool
    message: str
    recorded: str


@dataclass(frozen=True)
class Ancestor:
    """A variant in a tree of parents: how it came to be, and what its own parents were.

    Attributes:
        delta: Genes that its parent did not have.
        cut: True where its parents are shown elsewhere in the tree, or lie too deep.
    """

    variant: str
    agent: str
    speedup: float | None
    delta: tuple[Gene, ...]
    parents: tuple[Ancestor, ...] = ()
    cut: bool = False


@dataclass(frozen=True)
class Dossier:
    """A variant. ``steps`` is for people; a variant is always made anew from its genes."""

    variant: str
    kernel: str
    kernel_digest: str
    target: str
    genome: Genome
    options: tuple[str, ...]
    steps: tuple[Any, ...]
    source: str
    recorded: str
    measurements: tuple[Measurement, ...]
    lineage: Ancestor | None


def dossier(connection: Connection, digest: str, measurements: int = 50) -> Dossier:
    """The variant whose digest begins with this text.

    Args:
        connection: Of the caller.
        digest: ``SHORTEST`` characters or more.
        measurements: How many of them at most, the newest first.

    Raises:
        KnowledgeError: If there is none, or several.
    """
    row = _variant(connection, digest)
    genome = decode.genome(row.genes)
    if genome is None:
        raise KnowledgeError(f"the genome of variant {row.digest} cannot be read", "a newer evo-tune may have made it")
    steps = tuple(row.steps) if isinstance(row.steps, list) else ()
    return Dossier(
        row.digest, row.kernel, row.kernel_digest, row.target, genome, decode.strings(row.options), steps, row.source,
        row.created_at.isoformat(), _measurements(connection, row.id, measurements), _lineage(connection, row.id),
    )  # fmt: skip


def _variant(connection: Connection, digest: str) -> Any:
    table, text = schema.variant, encode.text(digest.lower())
    if len(text) < SHORTEST or not text.isalnum():
        raise KnowledgeError(f"'{digest}' is no variant", f"give the first {SHORTEST} characters of a digest, or more")
    rows = connection.execute(
        select(table, schema.kernel.c.name.label("kernel"), schema.kernel.c.digest.label("kernel_digest"),
               schema.genome.c.genes)
        .join(schema.kernel, schema.kernel.c.id == table.c.kernel_id)
        .join(schema.genome, schema.genome.c.id == table.c.genome_id)
        .where(table.c.digest.startswith(text, autoescape=True))
        .order_by(table.c.digest, table.c.id.desc())
        .limit(20)
    ).all()  # fmt: skip
    found = sorted({row.digest for row in rows})
    if not found:
        raise KnowledgeError(f"the knowledge base holds no variant {digest}", "`evo-tune kb top` lists variants")
    if len(found) > 1:
        raise KnowledgeError(f"{digest} is the beginning of several variants: {', '.join(found)}", "give more of it")
    return rows[0]


def _measurements(connection: Connection, variant: int, limit: int) -> tuple[Measurement, ...]:
    evaluation, toolchain = schema.evaluation, schema.toolchain
    rows = connection.execute(
        select(evaluation, schema.hardware.c.name.label("device"), schema.problem.c.label, toolchain.c.platform)
        .join(schema.hardware, schema.hardware.c.id == evaluation.c.hardware_id)
        .join(schema.problem, schema.problem.c.id == evaluation.c.problem_id)
        .join(toolchain, toolchain.c.id == evaluation.c.toolchain_id)
        .where(evaluation.c.variant_id == variant, ~evaluation.c.reused)
        .order_by(evaluation.c.id.desc())
        .limit(limit)
    )
    return tuple(
        Measurement(row.device, row.platform, row.label, row.status, row.median_ms, row.is_check, row.message,
                    row.created_at.isoformat())
        for row in rows
    )  # fmt: skip


def _lineage(connection: Connection, variant: int) -> Ancestor | None:
    """The tree of parents in the campaign where the variant came up last."""
    table = schema.lineage
    own = connection.execute(
        select(table.c.campaign_id, schema.variant.c.digest)
        .join(schema.variant, schema.variant.c.id == table.c.variant_id)
        .where(table.c.variant_id == variant)
        .order_by(table.c.id.desc())
        .limit(1)
    ).one_or_none()
    if own is None:
        return None
    known: dict[str, Any] = {}
    waiting = [own.digest]
    for _ in range(DEEPEST):
        rows = _births(connection, own.campaign_id, waiting)
        for row in rows:
            known.setdefault(row.digest, row)
        waiting = sorted({parent for row in rows for parent in decode.strings(row.parents)} - known.keys())
        if not waiting:
            break
    return _tree(own.digest, known, set())


def _births(connection: Connection, campaign: int, digests: Sequence[str]) -> Sequence[Any]:
    """How each of these variants came up in a campaign, the first time first."""
    table, variant = schema.lineage, schema.variant
    return connection.execute(
        select(table.c.agent, table.c.parents, table.c.delta, table.c.speedup, variant.c.digest)
        .join(variant, variant.c.id == table.c.variant_id)
        .where(table.c.campaign_id == campaign, variant.c.digest == any_(literal(list(digests), ARRAY(Text))))
        .order_by(table.c.ordinal, table.c.id)
    ).all()


def _tree(digest: str, known: dict[str, Any], shown: set[str]) -> Ancestor:
    row = known.get(digest)
    if row is None or digest in shown:
        agent, speedup = ("", None) if row is None else (row.agent, row.speedup)
        return Ancestor(digest, agent, speedup, (), (), True)
    shown.add(digest)
    parents = tuple(_tree(parent, known, shown) for parent in decode.strings(row.parents))
    return Ancestor(digest, row.agent, row.speedup, decode.genes(row.delta), parents)

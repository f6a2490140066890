"""A campaign is taken out of the base, and with it what nobody else knows or names.

Others may write at the same time: who has just found a row that goes with the campaign is refused by its reference to
it, and repeats its work (see ``connection``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Table,
    any_,
    delete,
    func,
    literal,
    or_,
    select,
)

from knowledge import schema
from knowledge.errors import KnowledgeError
from knowledge.optimum import CampaignKeys, elect_kernel
from knowledge.write import campaign_keys

_COUNTED = ("evaluation", "lineage", "rejection", "proof")


@dataclass(frozen=True)
class Deleted:
    """What went.

    Attributes:
        campaign: Its id.
        evaluations, proposals, rejections, proofs: Rows of the campaign itself.
        variants, genomes: Those that no other campaign has.
        kernel, device, toolchain: True if the campaign was the last one on it.
    """

    campaign: int
    evaluations: int
    proposals: int
    rejections: int
    proofs: int
    variants: int
    genomes: int
    kernel: bool
    device: bool
    toolchain: bool


def delete_campaign(connection: Connection, campaign: int) -> Deleted:
    """Deletes a campaign and its rows, then the variants, genomes, kernel, device and toolchain that nothing else
    refers to. Optima of its kernel on its device are elected again among what remains.

    Raises:
        KnowledgeError: If there is no such campaign.
    """
    table = schema.campaign
    found = connection.execute(select(table.c.id).where(table.c.id == campaign).with_for_update()).one_or_none()
    if found is None:
        raise KnowledgeError(f"the knowledge base holds no campaign {campaign}", "`evo-tune kb history` lists them")
    keys = campaign_keys(connection, campaign)
    own = {name: _count(connection, schema.metadata.tables[name], campaign) for name in _COUNTED}
    variants, genomes = _variants(connection, campaign), _genomes(connection, campaign)
    connection.execute(delete(table).where(table.c.id == campaign))
    elect_kernel(connection, keys)
    return Deleted(
        campaign, own["evaluation"], own["lineage"], own["rejection"], own["proof"],
        _drop_variants(connection, keys, variants),
        _drop(connection, schema.genome, _among(schema.genome, genomes)),
        _drop_kernel(connection, keys.kernel),
        bool(_drop(connection, schema.hardware, schema.hardware.c.id == keys.hardware)),
        bool(_drop(connection, schema.toolchain, schema.toolchain.c.id == keys.toolchain)),
    )  # fmt: skip


def _count(connection: Connection, table: Table, campaign: int) -> int:
    query = select(func.count()).select_from(table).where(table.c.campaign_id == campaign)
    return int(connection.execute(query).scalar_one())


def _variants(connection: Connection, campaign: int) -> list[int]:
    """Variants that the campaign speaks of."""
    tables = (schema.lineage, schema.evaluation, schema.proof)
    queries = [select(table.c.variant_id).where(table.c.campaign_id == campaign) for table in tables]
    return list(connection.execute(queries[0].union(*queries[1:])).scalars())


def _genomes(connection: Connection, campaign: int) -> list[int]:
    """Genomes that it speaks of, and those by which its variants are known."""
    lineage, rejection, variant = schema.lineage, schema.rejection, schema.variant
    own = lineage.c.campaign_id == campaign
    known_by = select(variant.c.genome_id).join(lineage, lineage.c.variant_id == variant.c.id).where(own)
    query = known_by.union(
        select(lineage.c.genome_id).where(own),
        select(lineage.c.proposed_id).where(own),
        select(rejection.c.genome_id).where(rejection.c.campaign_id == campaign),
    )
    return list(connection.execute(query).scalars())


def _drop_variants(connection: Connection, keys: CampaignKeys, variants: Sequence[int]) -> int:
    """A variant that another campaign names as a parent stays: its descendants keep their tree."""
    table = schema.variant
    named = [_parents(item, keys.kernel) for item in (schema.lineage, schema.rejection)]
    parents = named[0].union(*named[1:])
    return _drop(connection, table, _among(table, variants) & table.c.digest.not_in(parents))


def _parents(table: Table, kernel: int) -> Any:
    """Digests that remaining campaigns of the kernel name as parents."""
    owner = schema.campaign
    query = select(func.unnest(table.c.parents)).join(owner, owner.c.id == table.c.campaign_id)
    return query.where(owner.c.kernel_id == kernel)


def _drop_kernel(connection: Connection, kernel: int) -> bool:
    """True if nothing but its sizes referred to it, and both are gone."""
    table, problem = schema.kernel, schema.problem
    condition = (table.c.id == kernel) & ~or_(*_references(table, besides=problem))
    if connection.execute(select(table.c.id).where(condition)).one_or_none() is None:
        return False
    connection.execute(delete(problem).where(problem.c.kernel_id == kernel))
    connection.execute(delete(table).where(table.c.id == kernel))
    return True


def _drop(connection: Connection, table: Table, condition: ColumnElement[bool]) -> int:
    """Deletes the rows of a condition that no row of any table refers to; how many."""
    return connection.execute(delete(table).where(condition, ~or_(*_references(table)))).rowcount


def _references(table: Table, besides: Table | None = None) -> list[ColumnElement[bool]]:
    """For each column of the schema that refers to the table: a row of it refers to this row."""
    return [
        select(literal(1)).where(column == table.c.id).exists()
        for other in schema.metadata.sorted_tables if other is not besides
        for column in other.c if _refers(column, table)
    ]  # fmt: skip


def _refers(column: Column[Any], table: Table) -> bool:
    return any(key.column.table is table for key in column.foreign_keys)


def _among(table: Table, ids: Sequence[int]) -> ColumnElement[bool]:
    return table.c.id == any_(literal(list(ids), ARRAY(BigInteger)))

"""``evo-tune kb``: answers from the knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from cli.kb_common import CSV, JSON, URL, Column, genes_text, open_base, show, show_json
from cli.kb_delete import delete
from cli.kb_export import export
from cli.kb_filters import check_size, filtered
from cli.kb_import import import_
from cli.kb_list import devices, history, kernels, similar, top
from cli.kb_replay import replay
from cli.kb_server import grant, show_url, start, status, stop, upgrade
from cli.kb_sql import sql
from cli.kb_tools import backup, psql, restore
from cli.kb_variant import diff, show_variant
from evo.campaign import CampaignError
from evo.init_campaign import template_arguments
from evo.kernel_file import record_of_file
from evo.report.summary import milliseconds, times
from genome.genes import Genome
from knowledge.filters import Filter
from knowledge.published import Recommendation
from knowledge.rows import BestRow


@click.group()
def kb() -> None:
    """Asks and keeps the knowledge base."""


_QUESTIONS = (top, history, show_variant, diff, similar, kernels, devices, sql)
_SERVER = (start, stop, status, show_url, upgrade, grant, backup, restore, replay, psql)
for command in (*_QUESTIONS, import_, export, delete, *_SERVER):
    kb.add_command(command)


@kb.command()
@click.option("--kernel", help="Exact name of a kernel (a remark in parentheses may follow it).")
@click.option("--like", type=click.Path(path_type=Path), help="A .cu file: kernels that compute something like it.")
@click.option("--entry", help="With --like, where the file holds several kernels.")
@click.option("--template-args", help="With --like: arguments of a kernel template, in order: float,16.")
@filtered
@click.option("--size", help="Size, for example M=512,N=512.")
@click.option("--match", type=click.Choice(["exact", "nearest", "none"]), default="exact", show_default=True,
              help="Of --size: that very one, the nearest known with its distance, or all of them.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@URL
@JSON
@CSV
def best(
    kernel: str | None,
    like: Path | None,
    entry: str | None,
    template_args: str | None,
    wanted: Filter,
    size: str | None,
    match: str,
    limit: int,
    url: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """The best known variants of a kernel, by size and device."""
    if (kernel is None) == (like is None):
        raise CampaignError("give either --kernel NAME or --like FILE.cu")
    check_size(size)
    asked = record_of_file(like, entry, template_arguments(template_args)) if like is not None else kernel or ""
    label = None if match == "none" else size
    with open_base(url) as base:
        rows = base.best(asked, size=label, limit=limit, nearest=match == "nearest", wanted=wanted)
        published = () if rows or kernel is None else base.recommended(replace(wanted, kernel=kernel), limit)
    if as_json:
        show_json([_plain(row) for row in rows] or [_plain_published(item) for item in published])
    elif rows or not published:
        nothing = "nothing known; `evo-tune kb stats` lists the kernels of this base"
        show(rows, _columns(rows, as_csv), as_csv, nothing, below=lambda row: genes_text(row.genome))
    else:
        show(published, _PUBLISHED, as_csv)


@kb.command()
@click.option("--kernel", help="Exact name of a kernel (a remark in parentheses may follow it).")
@filtered
@URL
@JSON
@CSV
def stats(kernel: str | None, wanted: Filter, url: str | None, as_json: bool, as_csv: bool) -> None:
    """What the knowledge base holds, and a line for each kernel and device; --csv prints these lines alone."""
    with open_base(url) as base:
        found, where = base.stats(replace(wanted, kernel=kernel)), base.where
    if as_json:
        show_json({**asdict(found), "counts": dict(found.counts), "where": where})
        return
    if as_csv:
        show(found.kernels, _STATS, as_csv)
        return
    click.echo(f"{where}, {found.bytes / 2**20:.1f} MiB")
    click.echo(", ".join(f"{number} {name}" for name, number in found.counts))
    if found.kernels:
        show(found.kernels, _STATS)


_STATS: tuple[Column, ...] = (
    ("kernel", lambda row: row.kernel), ("device", lambda row: row.device), ("campaigns", lambda row: row.campaigns),
    ("evaluations", lambda row: row.evaluations), ("failed", lambda row: row.failed),
    ("best", lambda row: times(row.best_speedup)),
)  # fmt: skip
_PUBLISHED: tuple[Column, ...] = (
    ("kernel", lambda row: row.kernel), ("dtype", lambda row: row.dtype), ("device", lambda row: row.device.name),
    ("vendor", lambda row: row.device.vendor), ("published by", lambda row: row.source),
    ("parameters, without a time", lambda row: _parameters(row.genome)),
)  # fmt: skip


def _columns(rows: Sequence[BestRow], as_csv: bool) -> Sequence[Column]:
    columns: tuple[Column, ...] = (
        ("kernel", lambda row: row.kernel), ("size", lambda row: row.size), ("device", lambda row: row.device),
        ("before", lambda row: milliseconds(row.baseline_ms)), ("best", lambda row: milliseconds(row.best_ms)),
        ("in the search", lambda row: times(row.speedup)), ("proven", _proven), ("agent", lambda row: row.agent),
    )  # fmt: skip
    if any(row.size_distance for row in rows):
        columns = (*columns, ("size distance", lambda row: row.size_distance))
    if any(row.distance for row in rows):
        columns = (*columns, ("distance", lambda row: row.distance))
    columns = (*columns, ("variant", lambda row: row.variant))
    return (*columns, ("genes", lambda row: genes_text(row.genome))) if as_csv else columns


def _plain(row: BestRow) -> dict[str, Any]:
    return {**asdict(row), "genome": row.genome.to_json(), "options": list(row.options)}


def _plain_published(item: Recommendation) -> dict[str, Any]:
    return {"kernel": item.kernel, "device": item.device.name, "vendor": item.device.vendor,
            "architecture": item.device.architecture, "dtype": item.dtype, "published": item.source, "best_ms": None,
            "genome": item.genome.to_json()}  # fmt: skip


def _parameters(genome: Genome) -> str:
    return " ".join(f"{gene.site.label}={gene.values.get('value', '')}" for gene in genome.genes)


def _proven(row: BestRow) -> str:
    """The final comparison's figure with its interval; a dash where the variant was never a finalist."""
    if row.proven is None:
        return "-"
    return f"{times(row.proven.speedup)} ({times(row.proven.low)} to {times(row.proven.high)})"

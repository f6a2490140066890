"""``evo-tune kb``: answers from the knowledge base."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cli.kb_import import import_
from evo.campaign import CampaignError
from evo.campaign_build import DATABASE_VARIABLE
from evo.init_campaign import template_arguments
from evo.kernel_file import record_of_file
from evo.report.summary import milliseconds, times
from genome.genes import Genome
from knowledge.rows import BestRow
from knowledge.store import KnowledgeBase

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_URL = click.option("--url", help=f"postgresql+psycopg://...; default: ${DATABASE_VARIABLE}, else the embedded base.")


@click.group()
def kb() -> None:
    """Asks the knowledge base."""


kb.add_command(import_)


@kb.command()
@click.option("--kernel", help="Exact name of a kernel.")
@click.option("--like", type=click.Path(path_type=Path), help="A .cu file: kernels that compute something like it.")
@click.option("--entry", help="With --like, where the file holds several kernels.")
@click.option("--template-args", help="With --like: arguments of a kernel template, in order: float,16.")
@click.option("--device", help="Part of a device's name or architecture.")
@click.option("--size", help="Exact size, for example M=512,N=512.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@_URL
@_JSON
def best(
    kernel: str | None,
    like: Path | None,
    entry: str | None,
    template_args: str | None,
    device: str | None,
    size: str | None,
    limit: int,
    url: str | None,
    as_json: bool,
) -> None:
    """The best known variants of a kernel, by size and device."""
    if (kernel is None) == (like is None):
        raise CampaignError("give either --kernel NAME or --like FILE.cu")
    _check_size(size)
    wanted = record_of_file(like, entry, template_arguments(template_args)) if like is not None else kernel or ""
    with _open(url) as base:
        rows = base.best(wanted, device=device, size=size, limit=limit)
    if as_json:
        click.echo(json.dumps([_plain(row) for row in rows], indent=2))
    elif rows:
        _print(rows)
    else:
        click.echo("nothing known; `evo-tune kb stats` lists the kernels of this base")


@kb.command()
@_URL
@_JSON
def stats(url: str | None, as_json: bool) -> None:
    """What the knowledge base holds."""
    with _open(url) as base:
        found, where = base.stats(), base.where
    if as_json:
        click.echo(json.dumps({**asdict(found), "counts": dict(found.counts), "where": where}, indent=2))
        return
    click.echo(f"{where}, {found.bytes / 2**20:.1f} MiB")
    click.echo(", ".join(f"{number} {name}" for name, number in found.counts))
    if found.kernels:
        columns: Sequence[tuple[str, Callable[[Any], str]]] = (
            ("kernel", lambda row: row.kernel), ("device", lambda row: row.device),
            ("campaigns", lambda row: str(row.campaigns)), ("evaluations", lambda row: str(row.evaluations)),
            ("failed", lambda row: str(row.failed)), ("best", lambda row: times(row.best_speedup)),
        )  # fmt: skip
        _table(columns, found.kernels)


def _check_size(text: str | None) -> None:
    if text is not None and not re.fullmatch(r"[A-Za-z_]\w*=\d+(,[A-Za-z_]\w*=\d+)*", text):
        raise CampaignError(f"--size: expected NAME=NUMBER, several with commas (M=512,N=512), got '{text}'")


def _open(url: str | None) -> KnowledgeBase:
    return KnowledgeBase.open(url or os.environ.get(DATABASE_VARIABLE) or None)


def _plain(row: BestRow) -> dict[str, Any]:
    return {**asdict(row), "genome": row.genome.to_json(), "options": list(row.options)}


def _print(rows: Sequence[BestRow]) -> None:
    columns: Sequence[tuple[str, Callable[[Any], str]]] = (
        ("kernel", lambda row: row.kernel), ("size", lambda row: row.size), ("device", lambda row: row.device),
        ("before", lambda row: milliseconds(row.baseline_ms)), ("best", lambda row: milliseconds(row.best_ms)),
        ("in the search", lambda row: times(row.speedup)), ("proven", _proven), ("agent", lambda row: row.agent),
    )  # fmt: skip
    if any(row.distance for row in rows):
        columns = (*columns, ("distance", lambda row: f"{row.distance:.3g}"))
    _table(columns, rows, lambda row: _genes(row.genome))


def _proven(row: BestRow) -> str:
    """The final comparison's figure with its interval; a dash where the variant was never a finalist."""
    if row.proven is None:
        return "-"
    return f"{times(row.proven.speedup)} ({times(row.proven.low)} to {times(row.proven.high)})"


def _genes(genome: Genome) -> str:
    """``strip@k(factor=8) unroll@k_inner(factor=0)``: what ``transforms.pin`` takes, in short."""
    texts = []
    for gene in genome.genes:
        params = ", ".join(f"{name}={value}" for name, value in gene.params)
        texts.append(f"{gene.transform}@{gene.site.label}" + (f"({params})" if params else ""))
    return " ".join(texts) or "as it is"


def _table(
    columns: Sequence[tuple[str, Callable[[Any], str]]],
    rows: Sequence[Any],
    below: Callable[[Any], str] | None = None,
) -> None:
    """Aligned columns as wide as their longest entry, wherever it is printed: nothing is cut or folded.

    ``below`` gives each row an indented line of its own under it.
    """
    numeric = ("before", "best", "in the search", "proven", "campaigns", "evaluations", "failed", "distance")
    cells = [[title for title, _ in columns], *([show(row) for _, show in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, line in enumerate(cells):
        padded = (
            text.rjust(width) if title in numeric else text.ljust(width)
            for (title, _), text, width in zip(columns, line, widths, strict=True)
        )
        click.echo("  ".join(padded).rstrip())
        if below and number:
            click.echo(f"    {below(rows[number - 1])}")

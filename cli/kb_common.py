"""What the commands of ``evo-tune kb`` share: the base that they ask, and tables."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evo.campaign_build import DATABASE_VARIABLE
from genome.genes import Gene, Genome
from knowledge.store import KnowledgeBase

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
CSV = click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
URL = click.option("--url", help=f"postgresql+psycopg://...; default: ${DATABASE_VARIABLE}, else the embedded base.")

_WIDEST = 100_000

Column = tuple[str, Callable[[Any], Any]]
"""Title and value of a row; numbers are set to the right."""


def open_base(url: str | None) -> KnowledgeBase:
    """The base of this URL, else of the environment, else the embedded one."""
    return KnowledgeBase.open(base_url(url))


def base_url(url: str | None) -> str | None:
    """URL of the base that is asked; None for the embedded one."""
    return url or os.environ.get(DATABASE_VARIABLE) or None


def version() -> str:
    """Of this evo-tune."""
    try:
        return metadata.version("evo-tune")
    except metadata.PackageNotFoundError:
        return ""


def printable(text: str) -> str:
    """Text of a base for a terminal: control characters (which could move its cursor) are replaced."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def genes_text(genome: Genome) -> str:
    """``strip@k(factor=8) unroll@k_inner(factor=0)``: what ``transforms.pin`` takes, in short."""
    return " ".join(map(gene_text, genome.genes)) or "as it is"


def gene_text(gene: Gene) -> str:
    """``strip@k(factor=8)``."""
    params = ", ".join(f"{name}={value}" for name, value in gene.params)
    return f"{gene.transform}@{gene.site.label}" + (f"({params})" if params else "")


def show(
    rows: Sequence[Any],
    columns: Sequence[Column],
    as_csv: bool = False,
    nothing: str = "nothing known",
    below: Callable[[Any], str] | None = None,
) -> None:
    """Prints rows as a table as wide as they need (nothing is cut), or as CSV.

    ``below`` gives each row of a table an indented line of its own under it.
    """
    if as_csv:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([title for title, _ in columns])
        writer.writerows(["" if value(row) is None else value(row) for _, value in columns] for row in rows)
        click.echo(buffer.getvalue(), nl=False)
        return
    if not rows:
        click.echo(nothing)
        return
    head, *lines = _lines([[value(row) for _, value in columns] for row in rows], [title for title, _ in columns])
    click.echo(head)
    for line, row in zip(lines, rows, strict=True):
        click.echo(line)
        if below:
            click.echo(f"    {printable(below(row))}")


def _lines(cells: Sequence[Sequence[Any]], titles: Sequence[str]) -> list[str]:
    """A table in lines; names of a base are shown as they are, whatever markup they may hold."""
    table = Table(box=None, pad_edge=False)
    for title, first in zip(titles, cells[0], strict=True):
        table.add_column(Text(title), justify="right" if isinstance(first, int | float) else "left", no_wrap=True)
    for line in cells:
        table.add_row(*(Text(printable(_shown(cell))) for cell in line))
    console = Console(width=_WIDEST, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


def show_json(data: Any) -> None:
    """Prints JSON."""
    click.echo(json.dumps(data, indent=2, default=str))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

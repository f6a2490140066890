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
from knowledge.store import KnowledgeBase

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
CSV = click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
URL = click.option("--url", help=f"postgresql+psycopg://...; default: ${DATABASE_VARIABLE}, else the embedded base.")

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


def show(rows: Sequence[Any], columns: Sequence[Column], as_csv: bool = False, nothing: str = "nothing known") -> None:
    """Prints rows as a table as wide as they need (nothing is cut), or as CSV."""
    if as_csv:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([title for title, _ in columns])
        writer.writerows([_plain(value(row)) for _, value in columns] for row in rows)
        click.echo(buffer.getvalue(), nl=False)
        return
    if not rows:
        click.echo(nothing)
        return
    table = Table(box=None, pad_edge=False)
    cells = [[value(row) for _, value in columns] for row in rows]
    for (title, _), first in zip(columns, cells[0], strict=True):
        table.add_column(title, justify="right" if isinstance(first, int | float) else "left", no_wrap=True)
    for line in cells:
        table.add_row(*(Text(printable(_shown(cell))) for cell in line))
    Console(width=10_000).print(table, soft_wrap=True)


def show_json(data: Any) -> None:
    """Prints JSON."""
    click.echo(json.dumps(data, indent=2, default=str))


def _plain(value: Any) -> Any:
    return "" if value is None else value


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

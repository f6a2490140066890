"""``evo-tune kb sql``: any question, in SQL."""

from __future__ import annotations

import click

from cli.kb_common import CSV, JSON, URL, open_base, show, show_json

_DEFAULT_S = 30.0


@click.command()
@click.argument("statement")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=_DEFAULT_S, show_default=True,
              help="Seconds.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Rows at most.")
@URL
@JSON
@CSV
def sql(statement: str, timeout: float, limit: int, url: str | None, as_json: bool, as_csv: bool) -> None:
    """One STATEMENT in a read-only transaction."""
    with open_base(url) as base:
        found = base.sql(statement, limit, timeout)
    if as_json:
        show_json([dict(zip(found.columns, row, strict=True)) for row in found.rows])
    else:
        columns = [(name, lambda row, index=index: row[index]) for index, name in enumerate(found.columns)]
        show(found.rows, columns, as_csv, nothing="no rows")
    if found.more:
        click.echo(f"only the first {limit} rows; --limit takes more", err=True)

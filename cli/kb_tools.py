"""``evo-tune kb backup|restore|psql``: Postgres's own programs on the base."""

from __future__ import annotations

from pathlib import Path

import click

from cli.kb_common import URL, base_url
from knowledge import pg_tools


@click.command()
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="A new file.")
@URL
def backup(output: Path, url: str | None) -> None:
    """Writes the whole base into a file that `kb restore` (and pg_restore) takes."""
    pg_tools.backup(base_url(url), output)
    click.echo(f"{output}: {output.stat().st_size / 2**20:.1f} MiB")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Throw away what the base holds.")
@URL
def restore(file: Path, replace: bool, url: str | None) -> None:
    """Fills an empty base from a FILE of `kb backup`, all of it or nothing.

    A backup can hold any SQL: restore only what you trust. `kb import` takes in a base of others.
    """
    pg_tools.restore(base_url(url), file, replace)
    click.echo("restored")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@URL
@click.pass_context
def psql(context: click.Context, arguments: tuple[str, ...], url: str | None) -> None:
    """Opens psql on the base; ARGUMENTS are its own."""
    context.exit(pg_tools.psql(base_url(url), arguments))

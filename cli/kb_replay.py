"""``evo-tune kb replay``: results that a run could not write, since the base was away."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from cli.errors import BAD_INPUT
from cli.kb_common import JSON, URL, open_base, show_json
from evo.campaign import CampaignError
from knowledge.delivery import deliver_folder
from knowledge.spool import spools


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@URL
@JSON
def replay(folder: Path, url: str | None, as_json: bool) -> None:
    """Brings in the results that wait in the FOLDER of a run, and removes their files.

    The next run in that folder does the same. What the base has already is not doubled.
    """
    if not folder.is_dir():
        raise CampaignError(f"{folder}: no such folder; expected the output folder of a run")
    if not spools(folder):
        if as_json:
            show_json([])
        else:
            click.echo(f"nothing waits in {folder}")
        return
    with open_base(url) as base:
        done, failed = deliver_folder(base, folder)
    if as_json:
        show_json([asdict(item) for item in done])
    else:
        for item in done:
            click.echo(f"{item.file}: {item.results} results of campaign {item.campaign} are in the base")
    for error in failed:
        click.echo(f"evo-tune: {error}", err=True)
    if failed:
        raise click.exceptions.Exit(BAD_INPUT)

"""``evo-tune kb export``: the whole base or a single variant; ``evo-tune kb export pairs``: before and after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from cli.kb_common import URL, open_base
from cli.kb_filters import filtered
from cli.kb_variant import export as export_one
from evo.pairs import export_pairs
from knowledge.filters import Filter

_DEFAULT = "variant"


class DefaultGroup(click.Group):
    """Its first word may be left out: then it is about a variant, or the whole base."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the word in where it is missing."""
        told = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if told else [_DEFAULT, *args])


@click.group(cls=DefaultGroup)
def export() -> None:
    """Writes the base, a variant or all pairs of before and after into a file.

    `kb export -o base.jsonl` is the whole base, `kb export VARIANT -o best.cu` the text of a variant (see
    `kb export variant --help`), `kb export pairs -o pairs.jsonl` is a data set for research.
    """


export.add_command(export_one, _DEFAULT)


@export.command()
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False),
              help="pairs.jsonl (.gz, .xz) or pairs.parquet.")  # fmt: skip
@click.option("--kernel", help="Exact name of a kernel (a remark in parentheses may follow it).")
@filtered
@click.option("--proven", is_flag=True, help="Only variants that held in a final comparison.")
@URL
def pairs(output: Path, kernel: str | None, wanted: Filter, proven: bool, url: str | None) -> None:
    """Source before and after, with genome, timings, resources and counters, a row a verified variant."""
    with open_base(url) as base:
        done = export_pairs(base, output, replace(wanted, kernel=kernel), proven)
    click.echo(f"{output}: {done.pairs} pairs")
    if done.unlicensed:
        click.echo(f"{done.unlicensed} of them state no licence; `licence:` in a campaign file does", err=True)

"""``evo-tune kb delete``: a campaign, and what nobody else knows."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from cli.kb_common import JSON, URL, open_base, printable, show_json
from evo.campaign import CampaignError
from knowledge.deletion import Deleted
from knowledge.listing import CampaignRow
from knowledge.store import KnowledgeBase


@click.command("delete")
@click.argument("campaigns", nargs=-1, required=True, type=click.IntRange(1), metavar="CAMPAIGN...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@URL
@JSON
def delete(campaigns: tuple[int, ...], yes: bool, url: str | None, as_json: bool) -> None:
    """Deletes campaigns, by the numbers of `kb history`, for good.

    Kernels, variants and genomes that other campaigns know stay; optima are elected again among what is left.
    """
    with open_base(url) as base:
        rows = [_known(base, number) for number in dict.fromkeys(campaigns)]
        if not yes:
            _confirm(rows)
        done = [base.delete(row.id) for row in rows]
    if as_json:
        show_json([asdict(item) for item in done])
        return
    for item in done:
        click.echo(_line(item))


def _known(base: KnowledgeBase, number: int) -> CampaignRow:
    row = base.campaign(number)
    if row is None:
        raise CampaignError(f"the base holds no campaign {number}; `evo-tune kb history` lists them")
    return row


def _confirm(rows: list[CampaignRow]) -> None:
    for row in rows:
        state = "finished" if row.finished else "not finished: if it still runs, the rest of it stays in its folder"
        click.echo(printable(f"campaign {row.id}: {row.name}, {row.kernel} on {row.device}, {row.evaluations} "
                             f"evaluations, {state}"), err=True)  # fmt: skip
    if not sys.stdin.isatty():
        raise CampaignError("nobody is there to confirm; add --yes")
    if not click.confirm("Delete for good?", err=True):
        raise CampaignError("nothing was deleted")


def _line(item: Deleted) -> str:
    gone = [name for name in ("kernel", "device", "toolchain") if getattr(item, name)]
    last = f"; it was the last one of its {', '.join(gone)}" if gone else ""
    return (f"campaign {item.campaign}: {item.evaluations} evaluations, {item.rejections} rejections, "
            f"{item.variants} variants and {item.genomes} genomes deleted{last}")  # fmt: skip

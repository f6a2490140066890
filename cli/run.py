"""``evo-tune run``: evolves a kernel, or several, and writes the results."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cli.errors import INTERRUPTED
from evo.campaign import Campaign, CampaignError, EntriesCampaign, Overrides, load_plan
from evo.plugins import transforms
from evo.report.files import check_folder

ALLOW_CODE = click.option("--allow-code", type=click.Path(path_type=Path), multiple=True, metavar="PATH",
                          help="Folder outside of the campaign's own whose reference may run.")  # fmt: skip


@click.command()
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option("--device", help="auto, opencl:N or cuda:N.")
@click.option("--evaluations", type=click.IntRange(1), help="Budget of fresh measurements.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="Budget of wall-clock minutes.")
@click.option("--seed", type=click.IntRange(0), help="The one seed of every random choice.")
@click.option("--resume", is_flag=True, help="Go on with the interrupted run of this campaign.")
@click.option("--json", "as_json", is_flag=True, help="Print best.json, and nothing else, on stdout.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder for the results.")
@click.option("--knowledge", help="auto, none, or postgresql+psycopg://user@host/base.")
@ALLOW_CODE
def run(
    campaign: Path,
    device: str | None,
    evaluations: int | None,
    minutes: float | None,
    seed: int | None,
    resume: bool,
    as_json: bool,
    output: Path | None,
    knowledge: str | None,
    allow_code: tuple[Path, ...],
) -> None:
    """Evolves the kernel (or the entries) of the CAMPAIGN file within its budget."""
    overrides = Overrides(device, evaluations, minutes, seed, output, knowledge, allow_code)
    plan = load_plan(campaign, overrides, transforms())
    _check(plan, campaign, resume, "--output" if output else f"{campaign}: output")
    from cli.evolving import carry_out  # models, plots and database load for seconds: mistakes are told before

    data, stopped = carry_out(plan, resume)
    if as_json:
        click.echo(json.dumps(data, indent=2))
    if stopped:
        raise click.exceptions.Exit(INTERRUPTED)


def _check(plan: Campaign | EntriesCampaign, campaign: Path, resume: bool, output: str) -> None:
    """What would only come out at the end of the campaign.

    Raises:
        CampaignError: If the results cannot be written, or there is nothing that could be resumed.
    """
    if resume and not plan.use_knowledge:
        raise CampaignError(f"{campaign}: knowledge: none keeps nothing that --resume could go on with; leave one out")
    parts = [] if isinstance(plan, Campaign) else [entry.campaign.output for entry in plan.entries]
    for folder in (plan.output, *parts):
        try:
            check_folder(folder)
        except OSError as error:
            reason = error.strerror or error
            raise CampaignError(f"{output}: cannot write into {folder} ({reason}); name another folder") from None

"""``evo-tune run``: evolves a kernel, or several, and writes the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from cli.entries_view import whole_lines
from cli.errors import INTERRUPTED
from cli.interrupt import stop_on_signals
from cli.screen import Screen, make_screen
from evo.campaign import Campaign, CampaignError, EntriesCampaign, Overrides, load_plan
from evo.engine import run_campaign
from evo.entries import run_entries
from evo.progress import StopRequest
from evo.report.files import check_folder
from evo.report.outputs import write_outputs
from evo.report.summary import best_json
from evo.result import CampaignResult, StopReason
from evo.wire import transforms


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
) -> None:
    """Evolves the kernel (or the entries) of the CAMPAIGN file within its budget."""
    plan = load_plan(campaign, Overrides(device, evaluations, minutes, seed, output, knowledge), transforms())
    _check(plan, campaign, resume, "--output" if output else f"{campaign}: output")
    data, stopped = _one(plan, resume) if isinstance(plan, Campaign) else _several(plan, resume)
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


def _one(plan: Campaign, resume: bool) -> tuple[dict[str, Any], bool]:
    """(best.json, whether the user stopped it) of a campaign of one kernel."""
    with make_screen(plan) as screen, stop_on_signals(screen.say) as stop:
        result = _evolve(plan, resume, screen, stop)
    return best_json(plan, result), result.stop is StopReason.INTERRUPTED


def _several(plan: EntriesCampaign, resume: bool) -> tuple[dict[str, Any], bool]:
    """The same of a campaign of several entries; each one has a screen of its own."""
    with stop_on_signals(_say) as stop:

        def tune(campaign: Campaign, again: bool) -> CampaignResult:
            with make_screen(campaign) as screen:
                return _evolve(campaign, again, screen, stop)

        data = run_entries(plan, tune=tune, say=_say, resume=resume, stop=stop)
    for line in whole_lines(data):
        _say(line)
    _say(f"Results: {plan.output}")
    return data, data["stop"] == StopReason.INTERRUPTED


def _say(text: str) -> None:
    click.echo(text, err=True)


def _evolve(plan: Campaign, resume: bool, screen: Screen, stop: StopRequest) -> CampaignResult:
    """Runs a campaign; Ctrl-C ends it early, with the best so far written all the same."""
    result = run_campaign(plan, observer=screen, resume=resume, stop=stop)
    write_outputs(plan, result, plan.output, transforms())
    screen.written(plan.output)
    return result

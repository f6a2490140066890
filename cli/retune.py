"""``evo-tune retune``: proves champions again after a change of the platform, and mends those that have lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from cli.errors import INTERRUPTED, LOST
from cli.interrupt import StopSwitch, stop_on_signals
from cli.kb_common import CSV, JSON, Column, base_url, open_base, printable, show, show_json, version
from cli.run import ALLOW_CODE
from cli.screen import make_screen
from evo.campaign import Campaign, CampaignError, Overrides
from evo.engine import run_campaign
from evo.report.files import check_folder
from evo.report.outputs import write_outputs
from evo.report.summary import times
from evo.result import CampaignResult
from evo.retune import Mend, Retune, Retuned
from evo.retune_campaigns import known_campaigns, named_campaigns
from evo.retune_journal import retune_json
from evo.retune_plan import Plan, plan_of
from evo.retune_verdict import Figure, Finding, Verdict, worst
from evo.wire import transforms
from knowledge.champions import Champion

NOT_MENDED = 4
_CODES = {Verdict.KEPT: 0, Verdict.MENDED: LOST, Verdict.LOST: NOT_MENDED}


@click.command()
@click.argument("campaigns", nargs=-1, type=click.Path(path_type=Path))
@click.option("--kernel", help="Only champions of this kernel, or of the campaign of this name.")
@click.option("--device", help="auto, opencl:N or cuda:N; as in the campaigns if not given.")
@click.option("--budget", type=click.IntRange(1), default=40, show_default=True,
              help="Fresh measurements of each campaign that mends.")  # fmt: skip
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="Wall-clock minutes of each of them.")
@click.option("--all", "every", is_flag=True, help="Champions for which nothing has changed as well.")
@ALLOW_CODE
@click.option("--resume", is_flag=True, help="Go on with the interrupted retune of this output folder.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("evo-retune"), show_default=True,
              help="Folder for retune.json and the results of campaigns.")  # fmt: skip
@click.option("--knowledge", help="auto, or postgresql+psycopg://user@host/base.")
@JSON
@CSV
def retune(
    campaigns: tuple[Path, ...],
    kernel: str | None,
    device: str | None,
    budget: int,
    minutes: float | None,
    every: bool,
    allow_code: tuple[Path, ...],
    resume: bool,
    output: Path,
    knowledge: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Proves the champions of the knowledge base again where driver, compiler, device or evo-tune have changed.

    CAMPAIGNS are campaign files, or folders with such; without any, those of the base that are still where they ran.
    What has lost more than its interval gets a short campaign. Exit code 0 if nothing was lost, 3 if all that was lost
    is mended, 4 if not, 2 if nothing could be looked at.
    """
    url = base_url(None if knowledge in (None, "auto") else knowledge)
    if knowledge == "none":
        raise CampaignError("--knowledge: champions are in the knowledge base; expected auto or a URL, got none")
    overrides = Overrides(device=device, knowledge=url or "auto", allow_code=allow_code)
    with open_base(url) as base, stop_on_signals(_say) as stop:
        found = tuple(item for item in base.champions() if kernel in (None, item.kernel, item.name))
        plan = _plan(found, campaigns, kernel, overrides, every)
        _check(plan, found, kernel, output)
        work = Retune(plan, output, budget, minutes, _mend(stop), _say, stop)
        done = work.run(resume)
    if as_json:
        show_json(retune_json(done.findings, plan, not done.interrupted))
    else:
        _tell(plan, done, as_csv, output)
    raise click.exceptions.Exit(INTERRUPTED if done.interrupted else _CODES[worst(done.findings)])


def _plan(
    found: tuple[Champion, ...], paths: tuple[Path, ...], kernel: str | None, overrides: Overrides, every: bool
) -> Plan:
    """What is to be done with these champions, by the campaigns that are at hand."""
    if paths:
        named, absent = named_campaigns(paths, overrides)
        campaigns = tuple(item for item in named if kernel in (None, item.name, item.spec.name))
    else:
        campaigns, absent = known_campaigns(found, overrides)
    plan = plan_of(found, campaigns, version(), every)
    return replace(plan, absent=(*absent, *plan.absent))


def _check(plan: Plan, found: tuple[Champion, ...], kernel: str | None, output: Path) -> None:
    """What would make a retune empty, or only come out at its end.

    Raises:
        CampaignError: If there is no champion, none of them can be looked at, or results cannot be written.
    """
    for item in plan.absent:
        _say(f"{printable(item.campaign)}: not looked at: {printable(item.reason)}")
    if not found:
        whose = f" of {kernel}" if kernel else ""
        raise CampaignError(f"the knowledge base holds no finished campaign{whose}; `evo-tune kb history` lists them")
    if not plan.cases and not plan.current:
        raise CampaignError("none of the champions could be looked at (see above)")
    try:
        check_folder(output)
    except OSError as error:
        reason = error.strerror or error
        raise CampaignError(f"--output: cannot write into {output} ({reason}); name another folder") from None


def _mend(stop: StopSwitch) -> Mend:
    """Runs a campaign with a screen of its own."""

    def mend(campaign: Campaign, again: bool) -> CampaignResult:
        with make_screen(campaign) as screen:
            result = run_campaign(campaign, observer=screen, resume=again, stop=stop)
            write_outputs(campaign, result, campaign.output, transforms())
            screen.written(campaign.output)
        return result

    return mend


def _tell(plan: Plan, done: Retuned, as_csv: bool, output: Path) -> None:
    """The table, and what is beside it."""
    if done.findings or as_csv:
        show(done.findings, _COLUMNS, as_csv, below=None if as_csv else _below)
    if as_csv:
        return
    for name, reason in plan.current:
        click.echo(f"{printable(name)}: {reason}")
    if done.interrupted:
        _say(f"interrupted; `evo-tune retune --resume --output {output}` with the same arguments goes on")


def _below(finding: Finding) -> str:
    parts = ("; ".join(finding.changes) or "nothing has changed", finding.note, finding.results)
    return " | ".join(part for part in parts if part)


def _figure(figure: Figure | None) -> str | None:
    if figure is None:
        return None
    interval = "" if figure.low == figure.high else f" ({times(figure.low)} to {times(figure.high)})"
    return f"{times(figure.speedup)}{interval}"


def _milliseconds(figure: Figure | None) -> str | None:
    return None if figure is None else " ".join(f"{after:.4g}" for _, _, after in figure.times_ms)


def _say(text: str) -> None:
    click.echo(text, err=True)


_COLUMNS: tuple[Column, ...] = (
    ("campaign", lambda row: row.campaign), ("verdict", lambda row: str(row.verdict)),
    ("device", lambda row: row.device), ("was on", lambda row: row.was_on),
    ("then", lambda row: _figure(row.then)), ("now", lambda row: _figure(row.now)),
    ("after", lambda row: _figure(row.after)), ("ms then", lambda row: _milliseconds(row.then)),
    ("ms now", lambda row: _milliseconds(row.now)), ("ms after", lambda row: _milliseconds(row.after)),
)  # fmt: skip

"""``evo-tune portability``: what champions of one device do on the others, and what to ship to all of them."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from cli.errors import INTERRUPTED
from cli.interrupt import stop_on_signals
from cli.kb_common import printable
from cli.screen_view import plain_line
from evo.campaign_types import Campaign, CampaignError
from evo.engine import run_campaign
from evo.nearest import nearest
from evo.portability.analysis import StudyReport
from evo.portability.as_json import report_json
from evo.portability.live import Hands, live_cases
from evo.portability.outputs import write_study
from evo.portability.run import answer, recorded_cases
from evo.portability.study import Study, load_study
from evo.portability.what_if import parse_changes
from evo.portability.words import Table, case_tables, overall_table
from evo.progress import ProgressSnapshot, SilentObserver
from evo.report.files import check_folder
from evo.wire import transforms

_LEAST_WIDTH = 96
"""Columns that tables take at least: a narrower terminal wraps their lines."""


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print portability.json, and nothing else, on stdout.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for the results.")
@click.option("--what-if", "asked", default="", help="A changed device, by a model: bandwidth=2x,shared=228KB,sms=264.")
@click.option("--device", help="Measure on this device of the study only; the others are read from the base.")
@click.option("--knowledge", help="auto, none, or postgresql+psycopg://user@host/base.")
def portability(
    study: Path, as_json: bool, output: Path | None, asked: str, device: str | None, knowledge: str | None
) -> None:
    """Carries the champions of each device in the STUDY file over to the others."""
    changes = parse_changes(asked) if asked else ()
    plan = load_study(study, output, knowledge, transforms())
    _check(plan, "--output" if output else f"{study}: output")
    if device is not None and device not in plan.devices:
        raise CampaignError(f"--device: {nearest(device, plan.devices)}; the study runs on no '{device}'")
    with stop_on_signals(_say) as stop:

        def tune(campaign: Campaign) -> object:
            return run_campaign(campaign, observer=_Watch(), resume=True, stop=stop)

        cases, notes = live_cases(plan, device, Hands(_say, stop, tune))
        report = answer(plan, (*recorded_cases(plan, _say), *cases), changes, asked, notes, _say)
        write_study(report, plan.output)
    if as_json:
        click.echo(json.dumps(report_json(report), indent=2))
    else:
        _show(report)
    _say(f"Results: {plan.output}")
    if stop():
        raise click.exceptions.Exit(INTERRUPTED)


class _Watch(SilentObserver):
    """Says what a campaign of the study finds."""

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """A line where there is news."""
        if snapshot.message:
            _say(plain_line(snapshot))


def _check(plan: Study, output: str) -> None:
    """What would only come out at the end.

    Raises:
        CampaignError: If the results cannot be written.
    """
    try:
        check_folder(plan.output)
    except OSError as error:
        reason = error.strerror or error
        raise CampaignError(f"{output}: cannot write into {plan.output} ({reason}); name another folder") from None


def _say(text: str) -> None:
    click.echo(printable(text), err=True)


def _show(report: StudyReport) -> None:
    console = Console()
    console.width = max(console.width, _LEAST_WIDTH)
    for item in report.cases:
        console.print(Text(f"\n{printable(item.case.label)}", style="bold"))
        for table in case_tables(item, report.changes, intervals=False):
            _print(console, table)
        for note in item.case.notes:
            _line(console, note)
    if len(report.cases) > 1:
        _print(console, overall_table(report))
    if report.waiting:
        console.print(
            Text("\nCells that wait (run the study there on the same base, or join the bases):", style="bold")
        )
        for case, name, device in report.waiting:
            _line(console, f"{case}: {name} on {device}")
    for note in report.notes:
        _line(console, note)


def _print(console: Console, table: Table) -> None:
    """A table as wide as the terminal: long cells are wrapped, never cut."""
    grid = Grid(title=Text(f"\n{table.title}", style="bold"), title_justify="left", box=None, pad_edge=False)
    for title in table.titles:
        grid.add_column(Text(title, style="dim"), overflow="fold", no_wrap=title != "configuration")
    for row in table.rows:
        grid.add_row(*(Text(printable(value)) for value in row))
    console.print(grid)
    for line in table.below:
        _line(console, line)


def _line(console: Console, text: str) -> None:
    console.print(Text(f"  {printable(text)}", style="dim"))

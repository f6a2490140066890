"""What ``evo-tune run`` does once the campaign file is known to be right."""

from __future__ import annotations

from typing import Any

import click

from cli.entries_view import whole_lines
from cli.interrupt import stop_on_signals
from cli.screen import Screen, make_screen
from evo.campaign_types import Campaign, EntriesCampaign
from evo.engine import run_campaign
from evo.entries import run_entries
from evo.plugins import transforms
from evo.progress import StopRequest
from evo.report.outputs import write_outputs
from evo.report.summary import best_json
from evo.result import CampaignResult, StopReason


def carry_out(plan: Campaign | EntriesCampaign, resume: bool) -> tuple[dict[str, Any], bool]:
    """Evolves what the campaign is about and writes its results: (best.json, whether the user stopped it).

    Raises:
        CampaignError, DeviceError, EvaluatorError, KnowledgeError, SourceError: See ``evo.engine.run_campaign``.
    """
    return _one(plan, resume) if isinstance(plan, Campaign) else _several(plan, resume)


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

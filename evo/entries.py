"""A campaign of several entries: ordinary campaigns one after another, which share a budget by the time they take.

The entry that takes most of the time comes first. What it leaves over (it ran out of patience, or of proposals) goes
to those behind it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from evaluator.api import EvaluatorError
from evo.campaign_types import Campaign, EntriesCampaign, Entry
from evo.entries_journal import BEST, Journal, Spent, key_of, load, save
from evo.entries_result import combined_json
from evo.entries_share import call_ms, next_budget, shares
from evo.progress import StopRequest
from evo.reading import open_baseline
from evo.report.entries_page import entries_html
from evo.report.files import write_atomic
from evo.result import CampaignResult, StopReason
from evo.wire import build

Tune = Callable[[Campaign, bool], CampaignResult]
"""(campaign of an entry, go on with an interrupted run) -> its result, with its files written."""


def run_entries(
    plan: EntriesCampaign,
    *,
    tune: Tune,
    say: Callable[[str], None],
    resume: bool = False,
    stop: StopRequest | None = None,
    weigh: Callable[[Campaign], float] | None = None,
) -> dict[str, Any]:
    """Evolves every entry within the shared budget (blocks).

    Args:
        plan: What to run.
        tune: Runs one entry; an interrupted one ends the whole.
        say: Told in words what comes next.
        resume: Go on with the interrupted run whose journal is in the output folder.
        stop: True begins no further entry (``tune`` asks it as well).
        weigh: Milliseconds of a call of an entry as it is; measured on the device where it is not given.

    Returns:
        What is in ``best.json`` of the output folder: see ``combined_json``.

    Raises:
        CampaignError: If the interrupted run was another campaign's, or the result of an entry is gone.
        EvaluatorError, DeviceError, KnowledgeError, SourceError: See ``evo.engine.run_campaign``.
        OSError: If the output folder cannot be written.
    """
    stopped, interrupted = stop or (lambda: False), ""
    journal = _journal(plan, resume, weigh or baseline_ms, say, stopped)
    order = sorted(plan.entries, key=lambda entry: -journal.times_ms[entry.name])
    for entry in order:
        if stopped():
            break
        if entry.name in journal.ended:
            continue
        again = journal.running == entry.name
        journal = journal if again else _begun(journal, entry, order, plan)
        save(journal, plan)
        say(_notice(entry, journal, len(order)))
        with _named(entry):
            result = tune(replace(entry.campaign, budget=journal.budget), again)
        if result.stop is StopReason.INTERRUPTED:
            interrupted = entry.name
            break
        journal = journal.done(entry.name, Spent(result.counts.evaluations, result.elapsed_s))
        save(journal, plan)
        _write(plan, journal)
    return _write(plan, journal, interrupted, stopped())


def baseline_ms(campaign: Campaign) -> float:
    """Milliseconds of a call of the kernel as it is, verified and timed at every tuned size (blocks).

    Raises:
        EvaluatorError, DeviceError: If it cannot run.
    """
    with build(replace(campaign, use_knowledge=False)) as parts:
        measured = open_baseline(parts, campaign.spec.sizes).measured
    times = {e.size: e.timing.median_ms for e in measured.evaluations if e.timing is not None}
    return call_ms(campaign.spec.sizes, times)


def _journal(
    plan: EntriesCampaign, resume: bool, weigh: Callable[[Campaign], float], say: Callable[[str], None],
    stopped: StopRequest,
) -> Journal:  # fmt: skip
    """That of the interrupted run, or a new one with the times of all entries.

    Raises:
        KeyboardInterrupt: If the user stops it before anything is known that could be written.
    """
    known = load(plan) if resume else None
    if known is not None:
        return known
    if resume:
        say(f"there is no interrupted run in {plan.output}: a new one begins")
    began, times = time.monotonic(), {}
    for entry in plan.entries:
        if stopped():
            raise KeyboardInterrupt
        say(f"{entry.name}: verifying and timing the kernel as it stands")
        with _named(entry):
            times[entry.name] = entry.calls * weigh(entry.campaign)
    journal = Journal(key_of(plan), times, time.monotonic() - began)
    save(journal, plan)
    return journal


def _begun(journal: Journal, entry: Entry, order: Sequence[Entry], plan: EntriesCampaign) -> Journal:
    """After an entry began, with its part of what is left."""
    waiting = [other.name for other in order if other.name not in journal.ended]
    return journal.begun(
        entry.name, next_budget(entry.name, waiting, shares(journal.times_ms), journal.left(plan.budget))
    )


@contextmanager
def _named(entry: Entry) -> Iterator[None]:
    """Says of which entry an error is."""
    try:
        yield
    except EvaluatorError as error:
        raise EvaluatorError(f"{entry.name}: {error}") from error


def _notice(entry: Entry, journal: Journal, entries: int) -> str:
    part = journal.times_ms[entry.name] / sum(journal.times_ms.values())
    budget = journal.budget
    limit = "" if budget.minutes is None else f", {budget.minutes:.1f} minutes"
    return (f"{entry.name}: entry {len(journal.ended) + 1} of {entries}, {part:.0%} of the time, "
            f"{budget.evaluations} evaluations{limit}")  # fmt: skip


def _write(plan: EntriesCampaign, journal: Journal, interrupted: str = "", stopped: bool = False) -> dict[str, Any]:
    """The files of the whole, as far as it has come."""
    data = combined_json(plan, journal, interrupted, stopped)
    write_atomic(plan.output / BEST, json.dumps(data, indent=2) + "\n")
    write_atomic(plan.output / "report.html", entries_html(data))
    return data

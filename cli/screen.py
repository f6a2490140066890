"""What a person sees while a campaign runs: a live screen on a terminal, plain lines elsewhere. All on stderr."""

from __future__ import annotations

import sys
import time
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import click
from rich.console import Console, RenderableType
from rich.live import Live

from cli.screen_view import board_view, finish_lines, plain_line, start_line
from evo.campaign import Campaign
from evo.progress import CampaignPhase, CampaignStart, ProgressSnapshot
from evo.result import CampaignResult

_MESSAGES = 5
_QUIET_S = 10.0  # plain lines without news are at least this far apart


class Screen(Protocol):
    """An observer that also shows remarks of the command line. Use as a context manager."""

    def __enter__(self) -> Self:
        """Starts drawing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops drawing, on errors too."""

    def on_start(self, start: CampaignStart) -> None:
        """See ``evo.progress.Observer``."""

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """See ``evo.progress.Observer``."""

    def on_finish(self, result: CampaignResult) -> None:
        """See ``evo.progress.Observer``."""

    def say(self, text: str) -> None:
        """A remark, at once."""

    def written(self, folder: Path) -> None:
        """Results are in the folder."""


def make_screen(campaign: Campaign) -> Screen:
    """A live screen where stderr is a terminal, else plain lines."""
    return LiveScreen(campaign) if sys.stderr.isatty() else PlainScreen(campaign)


class LiveScreen:
    """One screen that is drawn anew about eight times a second."""

    def __init__(self, campaign: Campaign, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._campaign = campaign
        self._start: CampaignStart | None = None
        self._snapshot = ProgressSnapshot(CampaignPhase.STARTING)
        self._messages: deque[str] = deque(maxlen=_MESSAGES)
        self._gains: list[float] = []
        self._live = Live(get_renderable=self._view, console=self._console, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def _view(self) -> RenderableType:
        return board_view(self._campaign.name, self._start, self._snapshot, tuple(self._messages), tuple(self._gains))

    def on_start(self, start: CampaignStart) -> None:
        """Shows device and baseline from now on."""
        self._start = start
        self._messages.extend(text for text in (start.remark, start.known) if text)

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """Takes over the counters."""
        self._snapshot = snapshot
        if snapshot.message:
            self._messages.append(snapshot.message)
        if snapshot.best:
            self._gains.append(snapshot.best.speedup)

    def on_finish(self, result: CampaignResult) -> None:
        """Leaves the summary on the terminal."""
        self._live.stop()
        for line in finish_lines(result):
            self._console.print(line, highlight=False)

    def say(self, text: str) -> None:
        """Shows a remark among the messages."""
        self._messages.append(text)

    def written(self, folder: Path) -> None:
        """Names the folder."""
        self._console.print(f"Results: {folder}", highlight=False)


class PlainScreen:
    """A line on stderr when something happened, or every ten seconds."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._last = 0.0
        self._phase: CampaignPhase | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def on_start(self, start: CampaignStart) -> None:
        """Device, baseline and what the base knows."""
        self.say(start_line(start))
        for text in (start.remark, start.known):
            if text:
                self.say(text)

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """A line if there is news or the last one is old."""
        now = time.monotonic()
        if snapshot.message or snapshot.phase is not self._phase or now - self._last > _QUIET_S:
            self._last, self._phase = now, snapshot.phase
            self.say(plain_line(snapshot))

    def on_finish(self, result: CampaignResult) -> None:
        """The summary."""
        for line in finish_lines(result):
            self.say(line)

    def say(self, text: str) -> None:
        """A line on stderr."""
        click.echo(text, err=True)

    def written(self, folder: Path) -> None:
        """Names the folder."""
        self.say(f"Results: {folder}")

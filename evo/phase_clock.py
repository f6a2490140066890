"""Wall seconds of each phase of a campaign."""

from __future__ import annotations

from collections.abc import Callable

from evo.progress import CampaignPhase, CampaignStart, Observer, ProgressSnapshot
from evo.result import CampaignResult


class PhaseClock:
    """An observer that passes everything on, and notes when one phase gives way to the next.

    Args:
        observer: Whom all is passed on to.
        clock: Monotonic seconds.
    """

    def __init__(self, observer: Observer, clock: Callable[[], float]) -> None:
        self._observer = observer
        self._clock = clock
        self._phase = CampaignPhase.STARTING
        self._since = clock()
        self._spent: dict[CampaignPhase, float] = {}

    def on_start(self, start: CampaignStart) -> None:
        """The search begins."""
        self._enter(CampaignPhase.SEARCHING)
        self._observer.on_start(start)

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """A snapshot of another phase ends the one before it."""
        self._enter(snapshot.phase)
        self._observer.on_event(snapshot)

    def on_finish(self, result: CampaignResult) -> None:
        """Passed on."""
        self._observer.on_finish(result)

    @property
    def seconds(self) -> tuple[tuple[str, float], ...]:
        """(phase, seconds) so far, in the order in which they were entered first."""
        running = {self._phase: self._spent.get(self._phase, 0.0) + self._clock() - self._since}
        spent = {**self._spent, **running}
        return tuple((phase.value, seconds) for phase, seconds in spent.items() if phase is not CampaignPhase.DONE)

    def _enter(self, phase: CampaignPhase) -> None:
        now = self._clock()
        if phase is not self._phase:
            self._spent[self._phase] = self._spent.get(self._phase, 0.0) + now - self._since
            self._phase, self._since = phase, now

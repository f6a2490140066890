"""Seconds of the phases of a campaign: every one counted once, whatever the order of events."""

from __future__ import annotations

from evo.phase_clock import PhaseClock
from evo.progress import CampaignPhase, ProgressSnapshot, SilentObserver


def test_each_second_belongs_to_one_phase() -> None:
    now = 10.0
    phases = PhaseClock(SilentObserver(), lambda: now)
    for phase, seconds in (("starting", 2.0), ("searching", 5.0), ("comparing", 1.0), ("searching", 0.5)):
        phases.on_event(ProgressSnapshot(CampaignPhase(phase)))
        now += seconds
    phases.on_event(ProgressSnapshot(CampaignPhase.DONE))
    now += 100.0
    assert phases.seconds == (("starting", 2.0), ("searching", 5.5), ("comparing", 1.0))


def test_the_running_phase_counts_up_to_now() -> None:
    now = 0.0
    phases = PhaseClock(SilentObserver(), lambda: now)
    now = 3.0
    assert phases.seconds == (("starting", 3.0),)

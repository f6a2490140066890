"""Measuring a handful of variants one after the other, outside of the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evaluator.api import Compiled, Evaluator, Measured
from evaluator.result import Status
from genome.variant import Variant

_POLL_S = 0.5
_FIRST = 1_000_000_000  # tickets above everything that a search hands out


@dataclass(frozen=True)
class Trial:
    """What came of a variant: its measurement, or why there is none and how it failed (None if nobody waited)."""

    measured: Measured | None
    reason: str = ""
    status: Status | None = None


def try_variant(evaluator: Evaluator, variant: Variant, number: int, give_up: Callable[[], bool]) -> Trial:
    """Compiles and measures one variant, and waits for it.

    Args:
        evaluator: An open evaluator with nothing of importance in flight.
        variant: What is measured.
        number: Different for each call on one evaluator.
        give_up: Asked while waiting; True abandons the variant.
    """
    ticket = _FIRST + number
    evaluator.compile(ticket, variant)
    while not give_up():
        for event in evaluator.events(_POLL_S):
            if event.ticket != ticket:
                continue
            if isinstance(event, Measured):
                failure = event.failure
                return Trial(event) if failure is None else _failed(failure.status, failure.message)
            if isinstance(event, Compiled):
                if event.status is not Status.OK:
                    return _failed(event.status, event.message)
                evaluator.measure(ticket)
    evaluator.discard(ticket)
    return Trial(None, "not measured: out of time")


def _failed(status: Status, message: str) -> Trial:
    return Trial(None, f"{status.value}: {message}", status)

"""What a call takes in energy, by a counter of the whole device, while calls follow one another.

Such a counter moves in steps of up to a tenth of a second. A window therefore begins and ends where it moves: what lies
between two of its steps is known to the step, whatever their length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from evaluator.backend import Buffer, Loaded
from evaluator.plan import Call

WINDOW_S = 0.5
_STILL_S = 2.0  # a counter that has not moved for so long does not count


@runtime_checkable
class Metered(Protocol):
    """A backend whose device may count its energy."""

    def energy_mj(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer], seconds: float) -> float | None:
        """Millijoules of a call, with calls one after another for at least so long; None if nothing counts them.

        Nothing is restored between the calls, and the caches stay warm. The device's idle power is part of it.

        Raises:
            BackendFailure: As ``Backend.run``.
        """


def per_call(
    read: Callable[[], int | None], run: Callable[[], int], seconds: float, clock: Callable[[], float]
) -> float | None:
    """Units of the counter for each call; None if it cannot be read, or does not move.

    Args:
        read: The counter.
        run: Runs some calls, waits for their end, and returns how many.
        seconds: Least length of the window.
        clock: Seconds.
    """
    started = _step(read, run, clock)
    if started is None:
        return None
    first, _ = started
    begin, calls, now = clock(), 0, first
    while clock() - begin < seconds:
        calls += run()
    ended = _step(read, run, clock)
    if ended is None:
        return None
    now, more = ended
    return (now - first) / (calls + more)


def _step(read: Callable[[], int | None], run: Callable[[], int], clock: Callable[[], float]) -> tuple[int, int] | None:
    """(what the counter shows right after its next step, calls until then)."""
    before, begin, calls = read(), clock(), 0
    while before is not None and clock() - begin < _STILL_S:
        calls += run()
        now = read()
        if now is not None and now != before:
            return now, calls
    return None

"""Ctrl-C: the first one asks for a clean end, the second one ends at once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from types import FrameType


@dataclass
class StopSwitch:
    """Set once the user asked to stop."""

    _event: Event = field(default_factory=Event)

    def __call__(self) -> bool:
        """True after the first Ctrl-C."""
        return self._event.is_set()

    def set(self) -> None:
        """Asks for the end."""
        self._event.set()


@contextmanager
def stop_on_signals(
    notify: Callable[[str], None], signals: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM)
) -> Iterator[StopSwitch]:
    """While inside, these signals set the switch; a second one raises KeyboardInterrupt. For the main thread only."""
    switch = StopSwitch()

    def handle(number: int, frame: FrameType | None) -> None:
        if switch():
            raise KeyboardInterrupt
        switch.set()
        notify("stopping; the best so far will be written (Ctrl-C again ends at once)")

    previous = {number: signal.signal(number, handle) for number in signals}
    try:
        yield switch
    finally:
        for number, old in previous.items():
            signal.signal(number, old)

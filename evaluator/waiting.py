"""Says what is awaited: soon at first, then less and less often."""

from __future__ import annotations

import time
from collections.abc import Callable

Say = Callable[[str], None]
"""Takes one line for a person."""

_FIRST_S, _MOST_S = 2.0, 10.0


def silent(text: str) -> None:
    """Says nothing."""
    del text


class Pace:
    """Passes lines on to ``say``, with pauses that grow from two seconds to ten. Made when the waiting begins."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._pause_s = _FIRST_S
        self._next = time.monotonic() + self._pause_s

    def __call__(self, text: str) -> None:
        """A line, if it is time for one."""
        if text and time.monotonic() >= self._next:
            self._say(text)
            self._pause_s = min(2.0 * self._pause_s, _MOST_S)
            self._next = time.monotonic() + self._pause_s

"""Several calls at once, each on a stream of its own, timed as a whole.

All streams wait for an event behind a kernel that holds the first one back for longer than this process needs to
enqueue everything. The first event of the window stands right behind that kernel; the last one waits for all streams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cupy.cuda import Event, Stream, get_elapsed_time

from evaluator.backend import BackendFailure
from evaluator.cuda.failures import cuda_calls
from evaluator.cuda.helpers import Helpers

_HOLD_US, _HOLD_STEP_US = 30, 8  # for the whole, and for each step and event of every stream

Enqueue = Callable[[], None]


class StreamSet:
    """Streams beside the one that ``helpers`` hold back."""

    def __init__(self, main: Stream, helpers: Helpers) -> None:
        self._main, self._helpers = main, helpers
        self._streams: list[Stream] = []
        self._ends: list[Event] = []
        self._start, self._stop = Event(), Event()

    def streams(self, count: int) -> Sequence[Stream]:
        """So many streams."""
        while len(self._streams) < count:
            self._streams.append(Stream(non_blocking=True))
            self._ends.append(Event(disable_timing=True))
        return self._streams[:count]

    def time(self, calls: Sequence[Sequence[Enqueue]]) -> float:
        """Milliseconds from the start of the first call to the end of the last.

        Args:
            calls: The steps of each call, bound to the stream of the same place in ``streams``.
        """
        streams = self.streams(len(calls))
        try:
            self._enqueue(streams, calls)
        except BackendFailure as failure:
            if not failure.fatal:
                with cuda_calls("the run"):
                    for stream in streams:  # what was enqueued before must not run beside what comes next
                        stream.synchronize()
            raise
        with cuda_calls("the run"):
            self._main.synchronize()
            return float(get_elapsed_time(self._start, self._stop))

    def _enqueue(self, streams: Sequence[Stream], calls: Sequence[Sequence[Enqueue]]) -> None:
        with cuda_calls("the launch", launch=True):
            self._helpers.hold(_HOLD_US + _HOLD_STEP_US * sum(len(steps) + 2 for steps in calls))
            self._start.record(self._main)
            for stream, steps, end in zip(streams, calls, self._ends, strict=False):
                stream.wait_event(self._start)
                for step in steps:
                    step()
                end.record(stream)
                self._main.wait_event(end)
            self._stop.record(self._main)

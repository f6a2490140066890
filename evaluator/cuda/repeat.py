"""Several timed runs in a row: everything is on its way to the device before the first of them starts.

A run is captured with what goes before it into a CUDA graph of a few runs: restore, evict, event, kernels, event. One
launch of the graph then costs the host less than one kernel, and the device goes from node to node by itself, so that
neither a busy host nor a kernel of two microseconds leaves a gap between the two events. Events inside a graph need a
flag that only the driver's own call takes (``cuEventRecordWithFlags``); where it is missing, and for a single run,
everything is enqueued behind a kernel that holds the stream back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import suppress

from cupy.cuda import Event, Graph, Stream, get_elapsed_time, runtime

from evaluator.cuda.failures import cuda_calls
from evaluator.cuda.helpers import Helpers

BATCH = 5
"""Runs of a graph."""

_EXTERNAL = 1  # CU_EVENT_RECORD_EXTERNAL: a node of the graph, not an edge of it
_RELAXED = 2  # cudaStreamCaptureModeRelaxed
_HOLD_US = 25

Enqueue = Callable[[], None]


class Repeater:
    """Times runs on one stream.

    Args:
        stream: Where everything is enqueued.
        helpers: Hold the stream back.
        graphs: Use graphs if the driver can.
    """

    def __init__(self, stream: Stream, helpers: Helpers, graphs: bool = True) -> None:
        self._stream, self._helpers = stream, helpers
        self._events = [(Event(), Event()) for _ in range(BATCH)]
        self._record = _recorder() if graphs else None

    def times(self, before: Sequence[Enqueue], steps: Sequence[Enqueue], count: int) -> list[float]:
        """Milliseconds of ``count`` runs.

        Args:
            before: What precedes each run, outside of its window.
            steps: The run.
            count: Runs; whole graphs run, so that a few more may be timed than are returned.
        """
        found: list[float] = []
        graph = self._graph(before, steps, min(count, BATCH)) if count > 1 else None
        while len(found) < count:
            width = min(count, BATCH)
            with cuda_calls("the launch", launch=True):
                if graph is not None:
                    graph.launch(self._stream)
                else:
                    self._enqueue(before, steps, width)
            with cuda_calls("the run"):
                self._stream.synchronize()
                found += [float(get_elapsed_time(start, stop)) for start, stop in self._events[:width]]
        return found[:count]

    def _enqueue(self, before: Sequence[Enqueue], steps: Sequence[Enqueue], width: int) -> None:
        for start, stop in self._events[:width]:
            for prepare in before:
                prepare()
            self._helpers.hold(_HOLD_US)
            start.record(self._stream)
            for step in steps:
                step()
            stop.record(self._stream)

    def _graph(self, before: Sequence[Enqueue], steps: Sequence[Enqueue], width: int) -> Graph | None:
        """The runs as a graph; None if this driver or one of the steps cannot be captured."""
        record, graph = self._record, None
        if record is None:
            return None
        try:
            self._stream.begin_capture(_RELAXED)
            try:
                for start, stop in self._events[:width]:
                    for prepare in before:
                        prepare()
                    record(start, self._stream)
                    for step in steps:
                        step()
                    record(stop, self._stream)
            finally:
                graph = self._stream.end_capture()
        except (runtime.CUDARuntimeError, _CaptureRefused):
            self._record = None
            return None
        return graph


class _CaptureRefused(Exception):
    """The driver records no event of its own in a graph."""


def _recorder() -> Callable[[Event, Stream], None] | None:
    """Records an event as a node of the graph that is being captured; None without the driver's call."""
    with suppress(OSError, AttributeError):
        call = ctypes.CDLL("libcuda.so.1").cuEventRecordWithFlags

        def record(event: Event, stream: Stream) -> None:
            code = call(ctypes.c_void_p(event.ptr), ctypes.c_void_p(stream.ptr), ctypes.c_uint(_EXTERNAL))
            if code != 0:
                raise _CaptureRefused(code)

        return record
    return None

"""The baseline timed once more, in the device process."""

from __future__ import annotations

import time

from evaluator.messages import Retimed
from evaluator.station import Station, bind_all
from evaluator.timing import Sampling
from evaluator.trial import Run, time_size

_SAMPLING = Sampling(least=3, most=9, budget_s=0.15, target=0.01)


def retime(station: Station) -> Retimed:
    """Times the baseline at every tuned size, with few samples."""
    if station.baseline is None:
        return Retimed({})
    start = time.monotonic()
    station.variant = station.baseline.variant.digest()
    sizes = station.spec.sizes
    calls = bind_all(station, station.baseline, sizes)
    run = Run(station, station.baseline, station.backend.load(station.baseline.binary), calls)
    timings = {}
    for size in sizes:
        call, bench = calls[size.label], station.bench(size)
        if call is None:
            continue
        station.load_for_timing(bench, call)
        timings[size.label] = time_size(run, bench, call, None, _SAMPLING)
    return Retimed(timings, time.monotonic() - start)

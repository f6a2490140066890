"""One variant on the device: how its runs are timed, and how a stage that refuses it ends the cascade."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from evaluator.accounts import Stopwatch
from evaluator.api import EvaluatorError
from evaluator.backend import BackendFailure, Loaded
from evaluator.bench import Bench
from evaluator.correctness import Verdict
from evaluator.messages import Prepared
from evaluator.plan import Call
from evaluator.resident import Clocked
from evaluator.result import Status, Timing
from evaluator.station import Station
from evaluator.timing import Sampling, sample_batches, warm_up

_WARM_UP_S = 0.1
_RUNGS = ((5, 2.0), (10, 1.5), (20, 1.2))


@dataclass
class Run:
    """What one pass through the cascade carries from stage to stage."""

    station: Station
    prepared: Prepared
    loaded: Loaded
    calls: Mapping[str, Call | None]
    best_ms: Mapping[str, float] = field(default_factory=dict)
    watch: Stopwatch = field(default_factory=Stopwatch)


class Ended(Exception):
    """A stage failed; becomes the last evaluation."""

    def __init__(self, status: Status, message: str, stage: str, error: float | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.stage, self.error = status, message, stage, error


def require(verdict: Verdict, stage: str) -> float:
    """The error of an output that is right.

    Raises:
        Ended: If it is not.
    """
    if verdict.status is not Status.OK:
        raise Ended(verdict.status, verdict.message, stage, verdict.error)
    return verdict.error


def as_ended(error: Exception, stage: str) -> Ended:
    """Any failure of a stage as the end of the cascade."""
    if isinstance(error, Ended):
        return error
    if isinstance(error, BackendFailure):
        return Ended(error.status, error.message, stage)
    if isinstance(error, MemoryError):
        return Ended(Status.OUT_OF_MEMORY, "the host ran out of memory", stage)
    if isinstance(error, EvaluatorError):
        return Ended(Status.LAUNCH_ERROR, str(error), stage)
    raise error


def time_size(run: Run, bench: Bench, call: Call, first: Timing | None, sampling: Sampling) -> Timing:
    """Adaptive timing at a size, alone on the cores of a CPU device.

    Outside of the timed window inout arguments are restored, outputs poisoned again (a variant that finds its result
    there must not be spared the work) and the last-level cache evicted. Scratch stays as the last run left it.
    """
    station, settings = run.station, run.station.settings

    flush_bytes = settings.flush_cap(station.backend.info.kind) if settings.cold_cache else 0

    def runs(count: int) -> list[float]:
        return bench.timed_runs(run.loaded, call, flush_bytes, count)

    station.wait("wait", bench.size)
    with ExitStack() as stack:
        with run.watch.stage("waiting"):
            stack.enter_context(station.turn.timing())
        station.beat("time", bench.size, station.deadline_s(bench.size) * 3 + 2 * sampling.budget_s)
        last_s = warm_up(lambda: runs(1)[0], _WARM_UP_S if sampling.most > 1 else 0.0, time.monotonic) * 1e-3
        most_s = station.deadline_s(bench.size) * 3 + 2 * sampling.budget_s + 2 * sampling.least * last_s
        station.beat("time", bench.size, most_s)
        known = first.samples_ms if first else ()
        timing = sample_batches(runs, sampling, station.setup.seed, time.monotonic, known, bench.batch)
    if isinstance(station.backend, Clocked):
        core, memory = station.backend.clocks()
        return replace(timing, core_mhz=core, memory_mhz=memory)
    return timing


def full_sampling(station: Station, best_ms: float) -> Sampling:
    """Samples of a full timing by the settings, in rungs: more only while the median is near the best time so far."""
    settings = station.settings
    rungs = tuple((runs, factor * best_ms) for runs, factor in _RUNGS)
    return Sampling(
        settings.min_samples, settings.max_samples, settings.sample_budget_s,
        settings.target(station.backend.info.kind), rungs,
    )  # fmt: skip

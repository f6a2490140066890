"""From cheap to dear: limits, small sizes, quick timing, full correctness, full timing. The first failure ends it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from evaluator.api import EvaluatorError
from evaluator.backend import BackendFailure, Loaded, Placement
from evaluator.bench import Bench
from evaluator.correctness import Verdict
from evaluator.messages import Outcome, Prepared
from evaluator.plan import Call, over_limits
from evaluator.profile import bound_ms, place
from evaluator.result import Evaluation, Status, Timing
from evaluator.station import Station, bind_all
from evaluator.timing import Sampling, sample, warm_up
from genome.spec import ProblemSize

_SMALL_SHARE = 0.5  # check sizes below this share of the smallest tuned size's bytes come first
_QUICK = Sampling(least=2, most=3, budget_s=0.1, target=0.0)
_HOPELESS = Sampling(least=1, most=1, budget_s=0.0, target=0.0)
_WARM_UP_S = 0.1
_PEAKS_S = 60.0


@dataclass
class _Run:
    """What one pass through the cascade carries from stage to stage."""

    station: Station
    prepared: Prepared
    loaded: Loaded
    calls: Mapping[str, Call | None]
    best_ms: Mapping[str, float]


class _Ended(Exception):
    """A stage failed; becomes the last evaluation."""

    def __init__(self, status: Status, message: str, stage: str, error: float | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.stage, self.error = status, message, stage, error


def run_cascade(station: Station, prepared: Prepared, best_ms: Mapping[str, float]) -> Outcome:
    """Takes a variant through all stages; failures are values.

    Args:
        station: Of this process.
        prepared: Variant and binary.
        best_ms: Best time so far by size label: a variant that is ``cutoff`` times slower gets few samples.
    """
    spec = station.spec
    station.variant = prepared.variant.digest()
    evaluations: list[Evaluation] = []
    checks: list[Evaluation] = []
    start = time.monotonic()
    try:
        run = _Run(station, prepared, station.backend.load(prepared.binary), _calls(station, prepared), best_ms)
    except (_Ended, BackendFailure, EvaluatorError) as error:
        evaluations.append(_failed(prepared, spec.sizes[0], _ended(error, "load"), start))
        return Outcome(tuple(evaluations), ())
    small, large = _split(station)
    plan = [(size, checks) for size in small] + [(size, evaluations) for size in spec.sizes]
    for size, results in plan + [(size, checks) for size in large]:
        start = time.monotonic()
        try:
            step = _check_size(run, size) if results is checks else _tuned_size(run, size)
        except (_Ended, BackendFailure, EvaluatorError, MemoryError) as error:
            results.append(_failed(prepared, size, _ended(error, "check"), start))
            break
        results.append(replace(step, device_s=time.monotonic() - start))
    return Outcome(tuple(evaluations), tuple(checks))


def time_size(run_once: _Run, bench: Bench, call: Call, first: Timing | None, sampling: Sampling) -> Timing:
    """Adaptive timing at a size, alone on the cores of a CPU device."""
    station, settings = run_once.station, run_once.station.settings

    def once() -> float:
        bench.restore()
        if settings.cold_cache:
            station.backend.flush(settings.flush_cap_bytes)
        return bench.run(run_once.loaded, call)

    station.wait("wait", bench.size)
    with station.turn.timing():
        station.beat("time", bench.size, station.deadline_s(bench.size) * 3 + 2 * sampling.budget_s)
        last_s = warm_up(once, _WARM_UP_S if sampling.most > 1 else 0.0, time.monotonic) * 1e-3
        most_s = station.deadline_s(bench.size) * 3 + 2 * sampling.budget_s + 2 * sampling.least * last_s
        station.beat("time", bench.size, most_s)
        return sample(once, sampling, station.setup.seed, time.monotonic, first.samples_ms if first else ())


def _calls(station: Station, prepared: Prepared) -> dict[str, Call | None]:
    calls = bind_all(station, prepared, (*station.spec.check_sizes, *station.spec.sizes))
    for label, call in calls.items():
        if call is not None and (text := over_limits(call, station.backend.limits)):
            raise _Ended(Status.LIMIT, f"over a limit at {label}: {text}", "limits")
    return calls


def _split(station: Station) -> tuple[list[ProblemSize], list[ProblemSize]]:
    """Check sizes that are cheap enough to come before the tuned ones, and the others; each by bytes."""
    ordered = sorted(station.spec.check_sizes, key=lambda size: station.work(size).bytes)
    bound = _SMALL_SHARE * min(station.work(size).bytes for size in station.spec.sizes)
    small = [size for size in ordered if station.work(size).bytes <= bound] or ordered[:1]
    return small, ordered[len(small) :]


def _check_size(run: _Run, size: ProblemSize) -> Evaluation:
    call = run.calls[size.label]
    digest, resources = run.prepared.variant.digest(), run.prepared.binary.resources
    if call is None:
        return Evaluation(digest, size.label, Status.OK, resources=resources, fallback=True, stage="check")
    bench = run.station.bench(size)
    first = _require(run.station.verify(bench, run.loaded, call, 0, Placement.TIGHT), "check")
    second = _require(run.station.verify(bench, run.loaded, call, 1, Placement.ROOMY), "check")
    return Evaluation(
        digest, size.label, Status.OK, resources=resources, max_error=max(first, second), stage="check",
        compile_s=run.prepared.compile_s,
    )  # fmt: skip


def _tuned_size(run: _Run, size: ProblemSize) -> Evaluation:
    call, digest = run.calls[size.label], run.prepared.variant.digest()
    if call is None:
        known = run.station.baseline_results[size.label]
        return replace(known, variant=digest, fallback=True, compile_s=run.prepared.compile_s)
    station, bench = run.station, run.station.bench(size)
    error = _require(station.verify(bench, run.loaded, call, 1, Placement.ROOMY), "check")
    limit = station.settings.cutoff * run.best_ms.get(size.label, math.inf)
    timing = time_size(run, bench, call, None, _HOPELESS if bench.last_ms > 2 * limit else _QUICK)
    stage = "quick"
    if timing.median_ms <= limit:
        stage = "time"
        error = max(error, _require(station.verify(bench, run.loaded, call, 0, Placement.TIGHT), "check"))
        error = max(error, _require(station.verify(bench, run.loaded, call, 1, Placement.ROOMY), "check"))
        timing = time_size(run, bench, call, timing, full_sampling(station))
        _require_still_right(run, bench, call, len(timing.samples_ms))
        _require_possible(station, size, timing)
    return Evaluation(
        digest, size.label, Status.OK, timing=timing, resources=run.prepared.binary.resources,
        profile=place(station.work(size), timing.median_ms, station.peaks), max_error=error,
        compile_s=run.prepared.compile_s, stage=stage,
    )  # fmt: skip


def full_sampling(station: Station) -> Sampling:
    """Samples of a full timing by the settings."""
    settings = station.settings
    return Sampling(
        settings.min_samples, settings.max_samples, settings.sample_budget_s, settings.target(station.backend.info.kind)
    )


def _require(verdict: Verdict, stage: str) -> float:
    if verdict.status is not Status.OK:
        raise _Ended(verdict.status, verdict.message, stage, verdict.error)
    return verdict.error


def _require_still_right(run: _Run, bench: Bench, call: Call, runs: int) -> None:
    """The last timed output, and then fresh values in the same buffers, must be right as well."""
    allowed = run.station.allowed_error(bench)
    found = bench.verdict(allowed)
    if found.status is Status.OK:
        found = run.station.verify(bench, run.loaded, call, 0, None)
    if found.status is not Status.OK:
        text = f"right at first, no longer after {runs} timed runs: {found.message}"
        raise _Ended(Status.UNSTABLE, text, "after timing", found.error)


def _require_possible(station: Station, size: ProblemSize, timing: Timing) -> None:
    """Refuses a time that the roofline forbids, where the baseline shows that the roofline's figures hold."""
    settings, info = station.settings, station.backend.info
    work = station.work(size)
    evicted = settings.cold_cache and info.l2_bytes <= settings.flush_cap_bytes
    if not evicted and work.bytes <= 4 * info.l2_bytes:
        work = replace(work, bytes=0.0)
    if not work.exact:
        work = replace(work, flops=0.0)
    if timing.median_ms >= settings.impossible_margin * bound_ms(work, station.peaks):
        return
    station.beat("peaks", size, _PEAKS_S)
    station.measure_peaks_again()
    least = settings.impossible_margin * bound_ms(work, station.peaks)
    baseline = station.baseline_results.get(size.label)
    trusted = baseline is not None and baseline.timing is not None and baseline.timing.median_ms >= least
    if trusted and timing.median_ms < least:
        text = (
            f"impossible at {size.label}: {timing.median_ms:.4g} ms is below {least:.4g} ms, which {work.bytes:.3g} "
            f"bytes and {work.flops:.3g} operations take at the device's measured peaks"
        )
        raise _Ended(Status.IMPOSSIBLE, text, "time")


def _ended(error: Exception, stage: str) -> _Ended:
    if isinstance(error, _Ended):
        return error
    if isinstance(error, BackendFailure):
        return _Ended(error.status, error.message, stage)
    if isinstance(error, MemoryError):
        return _Ended(Status.OUT_OF_MEMORY, "the host ran out of memory", stage)
    return _Ended(Status.LAUNCH_ERROR, str(error), stage)


def _failed(prepared: Prepared, size: ProblemSize, ended: _Ended, start: float) -> Evaluation:
    message = ended.message if size.label in ended.message else f"at {size.label}: {ended.message}"
    return Evaluation(
        prepared.variant.digest(), size.label, ended.status, message, resources=prepared.binary.resources,
        max_error=ended.error, compile_s=prepared.compile_s, device_s=time.monotonic() - start, stage=ended.stage,
    )  # fmt: skip

"""From cheap to dear: limits, small sizes, quick timing, full correctness, full timing. The first failure ends it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace

from evaluator.accounts import Stopwatch
from evaluator.api import EvaluatorError
from evaluator.backend import BackendFailure, Placement
from evaluator.bench import Bench
from evaluator.bounds import energy_of, is_baseline, require_bounds, require_fallback
from evaluator.correctness import Verdict
from evaluator.inputs import EXTREME
from evaluator.messages import Outcome, Prepared
from evaluator.objective import Kind
from evaluator.plan import Call, over_limits, over_memory
from evaluator.profile import bound_ms, place
from evaluator.result import Evaluation, Status, Timing
from evaluator.station import Station, bind_all
from evaluator.timing import Sampling
from evaluator.trial import Ended, Run, as_ended, full_sampling, require, time_size
from genome.spec import ProblemSize

_SMALL_SHARE = 0.5  # check sizes below this share of the smallest tuned size's bytes come first
_QUICK = Sampling(least=2, most=3, budget_s=0.1, target=0.0)
_HOPELESS = Sampling(least=1, most=1, budget_s=0.0, target=0.0)
_PEAKS_S = 60.0


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
    watch = Stopwatch()
    start, kernel_s = time.monotonic(), station.kernel_s
    try:
        with watch.stage("load"):
            calls = _calls(station, prepared)
            run = Run(station, prepared, station.backend.load(prepared.binary), calls, best_ms, watch)
    except (Ended, BackendFailure, EvaluatorError) as error:
        evaluations.append(_failed(prepared, spec.sizes[0], as_ended(error, "load"), start))
        return Outcome(tuple(evaluations), (), watch.spent())
    small, large = split_checks(station)
    dead = False
    plan = [(size, "small sizes") for size in small] + [(size, "") for size in spec.sizes]
    for size, stage in plan + [(size, "large sizes") for size in large]:
        start = time.monotonic()
        results = checks if stage else evaluations
        try:
            step = _check_size(run, size, stage) if stage else _tuned_size(run, size)
        except (Ended, BackendFailure, EvaluatorError, MemoryError) as error:
            results.append(_failed(prepared, size, as_ended(error, "check"), start))
            dead = isinstance(error, BackendFailure) and error.fatal
            break
        if not stage or size not in spec.sizes:  # a tuned size that is checked first counts once, when it is timed
            results.append(replace(step, device_s=time.monotonic() - start))
    if not dead and station.damaged():
        text = f"stray write at {size.label}: memory that belongs to no argument changed"
        results[-1:] = [_failed(prepared, size, Ended(Status.STRAY_WRITE, text, "check", math.inf), start)]
    return Outcome(tuple(evaluations), tuple(checks), watch.spent(station.kernel_s - kernel_s))


def _calls(station: Station, prepared: Prepared) -> dict[str, Call | None]:
    calls = bind_all(station, prepared, (*station.spec.check_sizes, *station.spec.sizes))
    memory = station.backend.info.memory_bytes if station.settings.defences.memory else 0
    for label, call in calls.items():
        if call is not None and (text := over_limits(call, station.backend.limits)):
            raise Ended(Status.LIMIT, f"over a limit at {label}: {text}", "limits")
        if call is not None and (text := over_memory(call, memory)):
            raise Ended(Status.OUT_OF_MEMORY, f"out of memory at {label}: {text}", "limits")
    return calls


def split_checks(station: Station) -> tuple[list[ProblemSize], list[ProblemSize]]:
    """Check sizes that are cheap enough to come before the tuned ones, and the others; each by bytes.

    A kernel that is compiled for its one size is checked there.
    """
    if not station.settings.defences.check_sizes:
        return [], []
    ordered = sorted(station.spec.check_sizes or station.spec.sizes, key=lambda size: station.work(size).bytes)
    bound = _SMALL_SHARE * min(station.work(size).bytes for size in station.spec.sizes)
    small = [size for size in ordered if station.work(size).bytes <= bound] or ordered[:1]
    return small, ordered[len(small) :]


def _check_size(run: Run, size: ProblemSize, stage: str) -> Evaluation:
    call = run.calls[size.label]
    digest, resources = run.prepared.variant.digest(), run.prepared.binary.resources
    if call is None:
        return Evaluation(digest, size.label, Status.OK, resources=resources, fallback=True, stage="check")
    station, worst = run.station, 0.0
    with run.watch.stage(stage):
        bench = station.bench(size)
        for which, placement in ((0, Placement.TIGHT), (1, Placement.ROOMY), (EXTREME, Placement.ROOMY)):
            if which == EXTREME and not bench.exponent:
                continue
            worst = max(worst, require(station.verify(bench, run.loaded, call, which, placement), "check"))
        if stage == "small sizes" and station.settings.defences.repeats:
            _require_repeatable(run, bench, call)
    return Evaluation(
        digest, size.label, Status.OK, resources=resources, max_error=worst, stage="check",
        compile_s=run.prepared.compile_s,
    )  # fmt: skip


def _require_repeatable(run: Run, bench: Bench, call: Call) -> None:
    """The same inputs once more, and once more: a race shows in some launches only."""
    repeats = run.station.settings.repeats
    for number in range(repeats):
        found = run.station.verify(bench, run.loaded, call, number % 2, None)
        if found.status is not Status.OK:
            text = f"right at first, not in run {number + 1} of {repeats} more with the same inputs: {found.message}"
            raise Ended(Status.UNSTABLE, text, "check", found.error)


def _tuned_size(run: Run, size: ProblemSize) -> Evaluation:
    """Timed with the first input set, which is as the campaign describes it; the second one is for correctness."""
    call, digest = run.calls[size.label], run.prepared.variant.digest()
    if call is None:
        if run.station.settings.objective.bounded:
            with run.watch.stage("bounds"):
                require_fallback(run, size)
        known = run.station.baseline_results[size.label]
        return replace(known, variant=digest, fallback=True, compile_s=run.prepared.compile_s)
    station, watch = run.station, run.watch
    best = run.best_ms.get(size.label, math.inf)
    with watch.stage("correctness"):
        bench = station.bench(size)
    timing, error, stage = None, 0.0, "time"
    if math.isfinite(best):  # the baseline, which comes first, has nothing to be hopeless against
        limit = station.settings.cutoff * best
        with watch.stage("correctness"):
            error = require(station.verify(bench, run.loaded, call, 0, Placement.ROOMY), "check")
        with watch.stage("quick timing"):
            timing = time_size(run, bench, call, None, _HOPELESS if bench.last_ms > 2 * limit else _QUICK)
        stage = "time" if timing.median_ms <= limit else "quick"
    if timing is None or stage == "time":
        with watch.stage("correctness"):
            error = max(error, require(station.verify(bench, run.loaded, call, 1, Placement.TIGHT), "check"))
            error = max(error, require(station.verify(bench, run.loaded, call, 0, Placement.ROOMY), "check"))
        with watch.stage("timing"):
            timing = time_size(run, bench, call, timing, full_sampling(station, best))
    with watch.stage("after timing"):
        _require_still_right(run, bench, call, len(timing.samples_ms), fresh=stage == "time")
        _require_possible(station, size, timing)
    energy_mj = None
    if station.settings.objective.measures_more:
        with watch.stage("bounds"):
            energy_mj = energy_of(run, bench, call)
            promising = stage == "time" or station.settings.objective.kind is Kind.ENERGY  # which a slow one may save
            if promising and not is_baseline(station, digest):
                require_bounds(run, bench, call, timing, energy_mj)
    return Evaluation(
        digest, size.label, Status.OK, timing=timing, resources=run.prepared.binary.resources,
        profile=place(station.work(size), timing.median_ms, station.peaks), max_error=error,
        compile_s=run.prepared.compile_s, stage=stage, energy_mj=energy_mj,
    )  # fmt: skip


def _require_still_right(run: Run, bench: Bench, call: Call, runs: int, fresh: bool) -> None:
    """The last timed output must be right, and then (``fresh``) new values in the same buffers, scratch untouched."""
    defences, station = run.station.settings.defences, run.station
    found, what = Verdict(), "right at first, no longer"
    if defences.after_timing:
        found = bench.verdict(station.allowed_error(bench))
    if found.status is Status.OK and fresh and defences.fresh_values:
        found = station.verify(bench, run.loaded, call, 1, None, keep=True)
        what = "right with the same inputs, not with new ones at the same addresses"
    if found.status is not Status.OK:
        raise Ended(Status.UNSTABLE, f"{what} after {runs} timed runs: {found.message}", "after timing", found.error)


def _require_possible(station: Station, size: ProblemSize, timing: Timing) -> None:
    """Refuses a time that the roofline forbids, where the baseline shows that the roofline's figures hold."""
    settings, info = station.settings, station.backend.info
    if not settings.defences.roofline:
        return
    work = station.work(size)
    evicted = settings.cold_cache and info.l2_bytes <= settings.flush_cap(info.kind)
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
        raise Ended(Status.IMPOSSIBLE, text, "time")


def _failed(prepared: Prepared, size: ProblemSize, ended: Ended, start: float) -> Evaluation:
    message = ended.message if size.label in ended.message else f"at {size.label}: {ended.message}"
    return Evaluation(
        prepared.variant.digest(), size.label, ended.status, message, resources=prepared.binary.resources,
        max_error=ended.error, compile_s=prepared.compile_s, device_s=time.monotonic() - start, stage=ended.stage,
    )  # fmt: skip

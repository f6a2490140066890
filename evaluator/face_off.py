"""One fresh process's part of the final proof: verify every champion at every size, time all of them interleaved."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evaluator.api import EvaluatorError
from evaluator.backend import BackendFailure, Loaded, Placement
from evaluator.bench import Bench
from evaluator.correctness import POISONS
from evaluator.messages import Compared, CompareJob, Prepared
from evaluator.plan import Call
from evaluator.result import Evaluation, Status
from evaluator.station import Station, bind_all
from evaluator.timing import summarise
from genome.spec import ProblemSize

_LEAST_ROUNDS = 3
_MOST_ROUNDS = 15


@dataclass
class _Runner:
    """One variant in the face-off."""

    prepared: Prepared
    loaded: Loaded | None = None
    calls: Mapping[str, Call | None] = field(default_factory=dict)
    failure: str = ""
    checks: list[Evaluation] = field(default_factory=list)
    samples: dict[str, list[float]] = field(default_factory=dict)


def face_off(station: Station, job: CompareJob) -> Compared:
    """Runs the job; the first variant is the baseline. A failing variant is left out of the timing."""
    spec = station.spec
    runners = [_Runner(prepared) for prepared in job.prepared]
    for runner in runners:
        station.variant = runner.prepared.variant.digest()
        try:
            runner.loaded = station.backend.load(runner.prepared.binary)
            runner.calls = bind_all(station, runner.prepared, (*spec.check_sizes, *spec.sizes))
        except (BackendFailure, EvaluatorError) as error:
            runner.failure = str(error)
    for runner in runners[1:]:
        for size in (*spec.check_sizes, *spec.sizes):
            _verify(station, runner, size, keep=size in spec.check_sizes)
    share = job.budget_s / len(spec.sizes)
    for size in spec.sizes:
        _time(station, runners, size, share, job.turn)
        for runner in runners[1:]:
            _verify_after(station, runner, size)
    seed = station.setup.seed + job.turn
    timings = tuple(
        {label: summarise(samples, seed) for label, samples in runner.samples.items()} for runner in runners
    )
    return Compared(timings, tuple(r.failure for r in runners), tuple(tuple(r.checks) for r in runners))


def _verify(station: Station, runner: _Runner, size: ProblemSize, keep: bool) -> None:
    if runner.failure or runner.loaded is None:
        return
    digest = station.variant = runner.prepared.variant.digest()
    call = runner.calls[size.label]
    start, status, message, worst = time.monotonic(), Status.OK, "", 0.0
    if call is not None:
        try:
            bench = station.bench(size)
            for which, placement in ((0, Placement.TIGHT), (1, Placement.ROOMY)):
                verdict = station.verify(bench, runner.loaded, call, which, placement)
                worst = max(worst, verdict.error)
                if verdict.status is not Status.OK:
                    status, message = verdict.status, verdict.message
                    break
        except BackendFailure as failure:
            status, message = failure.status, f"at {size.label}: {failure.message}"
    runner.failure = message
    if keep:
        evaluation = Evaluation(
            digest, size.label, status, message, max_error=worst, fallback=call is None,
            resources=runner.prepared.binary.resources, device_s=time.monotonic() - start, stage="proof",
        )  # fmt: skip
        runner.checks.append(evaluation)


def _time(station: Station, runners: list[_Runner], size: ProblemSize, budget_s: float, turn: int) -> None:
    """Rounds of one run each, in an order that rotates, until the budget is used."""
    bench = station.bench(size)
    entrants = [runner for runner in runners if not runner.failure and runner.calls.get(size.label) is not None]
    calls = _common_alignment([call for runner in entrants if (call := runner.calls[size.label]) is not None])
    bench.load(calls[0], 1, Placement.ROOMY, POISONS[1])
    station.wait("wait", size)
    with station.turn.timing():
        start = time.monotonic()
        for number in range(_MOST_ROUNDS + 1):
            if number > _LEAST_ROUNDS and time.monotonic() - start >= budget_s:
                break
            for position in range(len(entrants)):
                which = (position + number + turn) % len(entrants)
                ms = _once(station, entrants[which], bench, calls[which])
                if number > 0:  # the first round warms up
                    entrants[which].samples.setdefault(size.label, []).append(ms)


def _once(station: Station, runner: _Runner, bench: Bench, call: Call) -> float:
    assert runner.loaded is not None
    station.variant = runner.prepared.variant.digest()
    bench.prepare_scratch(call)
    bench.restore()
    if station.settings.cold_cache:
        station.backend.flush(station.settings.flush_cap_bytes)
    station.beat("time", bench.size)
    return bench.run(runner.loaded, call)


def _verify_after(station: Station, runner: _Runner, size: ProblemSize) -> None:
    call = runner.calls.get(size.label)
    if runner.failure or runner.loaded is None or call is None:
        return
    station.variant = runner.prepared.variant.digest()
    verdict = station.verify(station.bench(size), runner.loaded, call, 0, Placement.ROOMY)
    if verdict.status is not Status.OK:
        runner.failure = f"right before the timing, not after it: {verdict.message}"


def _common_alignment(calls: list[Call]) -> list[Call]:
    """The same base pointers for everybody: each as aligned as the most demanding variant asks."""
    union: dict[str, int] = {}
    for call in calls:
        for name, alignment in call.alignments.items():
            union[name] = max(union.get(name, 1), alignment)
    return [replace(call, alignments=dict(union)) for call in calls]

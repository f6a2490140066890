"""One fresh process's part of the final proof: verify every champion at every size, time all of them interleaved."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evaluator.api import EvaluatorError
from evaluator.backend import BackendFailure, Loaded, Placement
from evaluator.bench import Bench
from evaluator.bounds import energy_of, require_bounds, require_fallback
from evaluator.building import OracleBuilder
from evaluator.coverage import covering_sizes
from evaluator.inputs import EXTREME
from evaluator.messages import Compared, CompareJob, Prepared
from evaluator.objective import Kind
from evaluator.plan import Call, bind
from evaluator.result import Evaluation, Status
from evaluator.station import Station, bind_all
from evaluator.store import has_oracle
from evaluator.timing import summarise
from evaluator.trial import Ended, Run
from genome.spec import ProblemSize, Role

_LEAST_ROUNDS = 3
_MOST_ROUNDS = 15
_MOST_SOAKED = 2000


@dataclass
class _Runner:
    """One variant in the face-off."""

    prepared: Prepared
    loaded: Loaded | None = None
    calls: Mapping[str, Call | None] = field(default_factory=dict)
    failure: str = ""
    checks: list[Evaluation] = field(default_factory=list)
    samples: dict[str, list[float]] = field(default_factory=dict)
    energies: dict[str, float] = field(default_factory=dict)


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
            runner.failure = _blame(error)
    for runner in runners[1:]:
        more = _cover(station, runners[0], runner)
        for size in (*spec.check_sizes, *more, *spec.sizes):
            _verify(station, runner, size, keep=size not in spec.sizes)
    share = job.budget_s / len(spec.sizes)
    for size in spec.sizes:
        _time(station, runners, size, share, job.turn)
        for runner in runners:
            _measure_more(station, runner, size, baseline=runner is runners[0])
        for runner in runners[1:]:
            if job.turn == 0 and station.settings.defences.soak:
                _soak(station, runner, size, station.settings.soak_s / len(spec.sizes))
            _verify_after(station, runner, size)
    seed = station.setup.seed + job.turn
    timings = tuple(
        {label: summarise(samples, seed) for label, samples in runner.samples.items()} for runner in runners
    )
    energies = tuple(r.energies for r in runners) if station.settings.objective.kind is Kind.ENERGY else ()
    return Compared(timings, tuple(r.failure for r in runners), tuple(tuple(r.checks) for r in runners), energies)


def rehearse(station: Station, prepared: Prepared, sizes: Sequence[ProblemSize]) -> str:
    """Verifies a variant at some sizes and times nothing: its failure, empty if there is none."""
    runner = _Runner(prepared)
    station.variant = prepared.variant.digest()
    try:
        runner.loaded = station.backend.load(prepared.binary)
        runner.calls = bind_all(station, prepared, tuple(sizes))
    except (BackendFailure, EvaluatorError) as error:
        return str(error)
    for size in sizes:
        _verify(station, runner, size, keep=False)
    return runner.failure


def _verify(station: Station, runner: _Runner, size: ProblemSize, keep: bool) -> None:
    if runner.failure or runner.loaded is None:
        return
    digest = station.variant = runner.prepared.variant.digest()
    call = runner.calls[size.label]
    start, status, message, worst = time.monotonic(), Status.OK, "", 0.0
    if call is not None:
        try:
            bench = station.bench(size)
            for which, placement in ((0, Placement.TIGHT), (1, Placement.ROOMY), (EXTREME, Placement.ROOMY)):
                if which == EXTREME and not bench.exponent:
                    continue
                verdict = station.verify(bench, runner.loaded, call, which, placement)
                worst = max(worst, verdict.error)
                if verdict.status is not Status.OK:
                    status, message = verdict.status, verdict.message
                    break
        except BackendFailure as failure:
            status, message = failure.status, f"at {size.label}: {_blame(failure)}"
    runner.failure = message
    if keep:
        evaluation = Evaluation(
            digest, size.label, status, message, max_error=worst, fallback=call is None,
            resources=runner.prepared.binary.resources, device_s=time.monotonic() - start, stage="proof",
        )  # fmt: skip
        runner.checks.append(evaluation)


def _cover(station: Station, baseline: _Runner, runner: _Runner) -> tuple[ProblemSize, ...]:
    """Further check sizes at which the evolved kernel runs, with the oracle that the baseline gives there."""
    if runner.failure or baseline.loaded is None or not station.settings.defences.coverage:
        return ()
    spec, guard = station.spec, runner.prepared.variant.guard
    have = sum(runner.calls[size.label] is not None for size in spec.check_sizes)
    covered = []
    for size in covering_sizes(spec, guard, have):
        try:
            if not has_oracle(station.setup.session, size):
                station.variant = baseline.prepared.variant.digest()
                OracleBuilder(station, baseline.loaded).build(size, bind(spec, baseline.prepared.variant, size))
            call = bind(spec, runner.prepared.variant, size)
        except (EvaluatorError, BackendFailure) as error:
            _blame(error)
            continue  # the campaign never promised that its kernel runs there
        runner.calls = {**runner.calls, size.label: call}
        covered.append(size)
    return tuple(covered)


def _blame(error: Exception) -> str:
    """The message of a failure. A fatal one ends this process: what comes after it would be blamed on others."""
    if isinstance(error, BackendFailure) and error.fatal:
        raise error
    return str(error)


def _time(station: Station, runners: list[_Runner], size: ProblemSize, budget_s: float, turn: int) -> None:
    """Rounds of one run each, in an order that rotates, until the budget is used."""
    bench = station.bench(size)
    entrants = [runner for runner in runners if not runner.failure and runner.calls.get(size.label) is not None]
    calls = _common_alignment([call for runner in entrants if (call := runner.calls[size.label]) is not None])
    station.load_for_timing(bench, calls[0])
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
        station.backend.flush(station.settings.flush_cap(station.backend.info.kind))
    station.beat("time", bench.size)
    return bench.run(runner.loaded, call)


def _measure_more(station: Station, runner: _Runner, size: ProblemSize, baseline: bool) -> None:
    """Energy, and bounds on what is not optimised; a champion beyond one of them fails.

    Raises:
        EvaluatorError: If the baseline's energy cannot be read.
        BackendFailure: As ``Backend.run``.
    """
    call, samples = runner.calls.get(size.label), runner.samples.get(size.label)
    if runner.failure or runner.loaded is None:
        return
    station.variant = runner.prepared.variant.digest()
    run, bench = Run(station, runner.prepared, runner.loaded, runner.calls), station.bench(size)
    try:
        if call is None or not samples:
            require_fallback(run, size)
            return
        energy_mj = energy_of(run, bench, call)
        if not baseline:
            require_bounds(run, bench, call, summarise(samples, station.setup.seed), energy_mj)
    except (Ended, EvaluatorError) as ended:
        if baseline:
            raise  # there is nothing to compare with: another process tries again
        runner.failure = f"at {size.label}: {ended}"
        return
    if energy_mj is not None:
        runner.energies[size.label] = energy_mj


def _soak(station: Station, runner: _Runner, size: ProblemSize, budget_s: float) -> None:
    """Runs one after the other as an application would do: something may go wrong after many calls only."""
    call = runner.calls.get(size.label)
    if runner.failure or runner.loaded is None or call is None:
        return
    station.variant = runner.prepared.variant.digest()
    bench = station.bench(size)
    station.load_for_timing(bench, call)
    start, runs, last = time.monotonic(), 0, False
    while not last:
        runs += 1
        last = runs >= _MOST_SOAKED or time.monotonic() - start >= budget_s
        if last or any(arg.role is Role.INOUT for arg in station.spec.args):
            bench.restore()
        station.beat("soak", size)
        bench.run(runner.loaded, call)
    verdict = bench.verdict(station.allowed_error(bench))
    if verdict.status is not Status.OK:
        runner.failure = f"right at first, no longer after {runs} runs in a row: {verdict.message}"


def _verify_after(station: Station, runner: _Runner, size: ProblemSize) -> None:
    call = runner.calls.get(size.label)
    if runner.failure or runner.loaded is None or call is None:
        return
    station.variant = runner.prepared.variant.digest()
    verdict = station.verify(station.bench(size), runner.loaded, call, 1, Placement.ROOMY)
    if verdict.status is not Status.OK:
        runner.failure = f"right before the timing, not after it: {verdict.message}"


def _common_alignment(calls: list[Call]) -> list[Call]:
    """The same base pointers for everybody: each as aligned as the most demanding variant asks."""
    union: dict[str, int] = {}
    for call in calls:
        for name, alignment in call.alignments.items():
            union[name] = max(union.get(name, 1), alignment)
    return [replace(call, alignments=dict(union)) for call in calls]

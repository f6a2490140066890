"""What else of a variant is measured than the time that is optimised, and the bounds on it."""

from __future__ import annotations

from collections.abc import Mapping

from evaluator.api import EvaluatorError
from evaluator.at_once import AtOnce
from evaluator.bench import Bench
from evaluator.correctness import Verdict
from evaluator.energy import WINDOW_S
from evaluator.objective import Kind
from evaluator.plan import Call
from evaluator.result import Status, Timing
from evaluator.station import Station, bind_all
from evaluator.timing import Sampling
from evaluator.trial import Ended, Run, time_size
from genome.spec import ProblemSize

_SAMPLING = Sampling(least=5, most=9, budget_s=0.3, target=0.02)
_PATIENCE_S = 10.0  # of a counter that moves seldom, on top of the window itself


def energy_of(run: Run, bench: Bench, call: Call) -> float | None:
    """Millijoules of a call, where the objective asks for them and the device tells.

    Raises:
        EvaluatorError: If the objective depends on them and the device does not tell.
        BackendFailure: As ``Backend.run``.
    """
    station, objective = run.station, run.station.settings.objective
    if not objective.metered:
        return None
    station.load_for_timing(bench, call)
    station.beat("time", bench.size, WINDOW_S + _PATIENCE_S + 3 * station.deadline_s(bench.size))
    with station.turn.timing():
        found = bench.energy_mj(run.loaded, call, WINDOW_S)
    if found is None and (objective.kind is Kind.ENERGY or Kind.ENERGY in objective.bounded):
        raise EvaluatorError("this device does not tell its energy: choose another objective, or lift its bound")
    return found


def require_bounds(run: Run, bench: Bench, call: Call, timing: Timing, energy_mj: float | None) -> None:
    """Ends the cascade where a measure is beyond its bound.

    Raises:
        Ended: With LIMIT, or as a run that turns out wrong.
        BackendFailure: As ``Backend.run``.
    """
    for kind, text in broken(run, bench, call, timing, energy_mj).items():
        raise Ended(Status.LIMIT, f"over the bound of its {kind}: {text}", "time")


def require_fallback(run: Run, size: ProblemSize) -> None:
    """Ends the cascade where a variant leaves a size to the kernel as it is, which breaks a bound there.

    One that leaves all of them to it is that kernel, which may.

    Raises:
        Ended, BackendFailure: As ``require_bounds``.
    """
    station, baseline = run.station, run.station.baseline
    evolved = any(run.calls[other.label] is not None for other in station.spec.sizes)
    if not station.settings.objective.bounded or not evolved or baseline is None:
        return
    own = Run(station, baseline, station.backend.load(baseline.binary), bind_all(station, baseline, (size,)))
    known, call = station.baseline_results[size.label], own.calls[size.label]
    if known.timing is None or call is None:
        return
    for kind, text in broken(own, station.bench(size), call, known.timing, known.energy_mj).items():
        reason = f"the kernel as it is runs at {size.label}, over the bound of its {kind}: {text}"
        raise Ended(Status.LIMIT, reason, "time")


def broken(run: Run, bench: Bench, call: Call, timing: Timing, energy_mj: float | None) -> Mapping[Kind, str]:
    """Measures that are beyond their bounds, and by how much, for a person. Times them where nobody has.

    Args:
        run: The variant.
        bench: Its size, with inputs loaded.
        call: Of that size.
        timing: What is optimised.
        energy_mj: See ``energy_of``.
    """
    objective, found = run.station.settings.objective, dict[Kind, str]()
    if objective.latency_ms is not None:
        ms = _time_of(run, bench, call, 1, timing)
        if ms > objective.latency_ms:
            found[Kind.LATENCY] = f"{ms:.4g} ms a call, at most {objective.latency_ms:g} ms"
    if objective.throughput is not None:
        rate = 1e3 / _time_of(run, bench, call, objective.at_once, timing)
        if rate < objective.throughput:
            found[Kind.THROUGHPUT] = f"{rate:.4g} calls a second, at least {objective.throughput:g}"
    if objective.energy_mj is not None and energy_mj is not None and energy_mj > objective.energy_mj:
        found[Kind.ENERGY] = f"{energy_mj:.4g} mJ a call, at most {objective.energy_mj:g} mJ"
    return found


def _time_of(run: Run, bench: Bench, call: Call, calls: int, timing: Timing) -> float:
    """Milliseconds a call with so many under way. Runs that nobody has looked at are judged as well."""
    station, backend = run.station, run.station.backend
    if calls == station.settings.objective.timed_at_once or not isinstance(backend, AtOnce):
        return timing.median_ms
    with backend.running(calls):
        station.load_for_timing(bench, call)
        found = time_size(run, bench, call, None, _SAMPLING)
        verdict = bench.verdict(station.allowed_error(bench))
    _require_right(verdict, calls)
    return found.median_ms


def _require_right(verdict: Verdict, calls: int) -> None:
    if verdict.status is not Status.OK:
        text = f"right before, not with {calls} calls under way: {verdict.message}"
        raise Ended(Status.UNSTABLE, text, "time", verdict.error)


def is_baseline(station: Station, digest: str) -> bool:
    """True for the kernel as it is, which may break the bounds that variants keep to."""
    return station.baseline is None or station.baseline.variant.digest() == digest

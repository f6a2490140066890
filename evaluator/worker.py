"""The device process: serves jobs one after another with resident inputs and oracles, until its parent goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod

from evaluator.api import EvaluatorError
from evaluator.at_once import for_objective
from evaluator.backend import BackendFailure, Loaded, Placement
from evaluator.building import OracleBuilder
from evaluator.cascade import run_cascade, split_checks
from evaluator.correctness import POISONS
from evaluator.devices import open_backend
from evaluator.face_off import face_off, rehearse
from evaluator.messages import (
    CompareJob,
    CountJob,
    Fatal,
    FillJob,
    MeasureJob,
    OpenJob,
    Outcome,
    Prepared,
    Rehearsed,
    RehearseJob,
    RestoreJob,
    RetimeJob,
    Settled,
    SettleJob,
    Setup,
)
from evaluator.plan import Call, bind, over_limits
from evaluator.process import attach
from evaluator.result import Evaluation
from evaluator.retime import retime
from evaluator.standing import Standing
from evaluator.station import Station, bind_all
from evaluator.unwritten import left_alone, nothing_written, unwritten_remarks
from genome.spec import ProblemSize


def open_baseline(station: Station, baseline: Prepared) -> Outcome | Fatal:
    """Builds every oracle with the baseline, then takes the baseline itself through the cascade."""
    spec = station.spec
    sizes = (*spec.check_sizes, *spec.sizes)
    station.variant = baseline.variant.digest()
    try:
        loaded = station.backend.load(baseline.binary)
        calls = bind_all(station, baseline, sizes)
        small, _ = split_checks(station)
        builder, awaited = OracleBuilder(station, loaded), []
        for size in sizes:
            call = calls[size.label]
            if call is None:
                raise EvaluatorError(f"the untransformed kernel has a guard that fails at {size.label}")
            if text := over_limits(call, station.backend.limits):
                raise EvaluatorError(f"the untransformed kernel cannot run at {size.label}: {text}")
            if not station.setup.beside or size not in spec.sizes:
                builder.build(size, call, extremes=size in small)
            elif builder.build_beside(size, call) is Standing.AWAITED:
                awaited.append(size)
        notes = (*_unwritten(station, sizes), *_lenient(station, loaded, calls))
    except (EvaluatorError, BackendFailure) as error:
        return Fatal(str(error))
    with station.opening.stage("opening: cascade"):
        outcome = run_cascade(station, baseline, {})
    remember(station, baseline, outcome.evaluations)
    return replace(outcome, spent=station.opening.spent(), awaited=tuple(awaited), notes=notes)


def _unwritten(station: Station, sizes: Sequence[ProblemSize]) -> tuple[str, ...]:
    """Remarks on outputs that the baseline leaves alone, in part.

    Raises:
        EvaluatorError: If there is nothing to compare.
    """
    reference = station.setup.reference
    if reference is not None and reference.kind == "checker":
        return ()  # it sees the whole buffers
    found = [left for size in sizes for left in left_alone(station.spec, size, station.oracle(size))]
    if text := nothing_written(found, referenced=reference is not None):
        raise EvaluatorError(text)
    return unwritten_remarks(found, {size.label for size in station.spec.sizes})


def _lenient(station: Station, loaded: Loaded, calls: Mapping[str, Call | None]) -> tuple[str, ...]:
    """A remark on a checker that takes the right outputs of other inputs: it may take anything."""
    size = max(station.spec.check_sizes or station.spec.sizes, key=lambda size: prod(size.env.values()))
    bench, call = station.bench(size), calls[size.label]
    if bench.checker is None or call is None or len(station.sets) == 1:
        return ()
    bench.load(call, station.sets[0], Placement.ROOMY, POISONS[0])
    station.beat("check", size)
    bench.run(loaded, call)
    if not bench.accepts_for(station.sets[1]):
        return ()
    return (
        f"the checker accepts the outputs of other inputs at {size.label}: a wrong variant may pass for a right one",
    )


def settle(station: Station, size: ProblemSize) -> Settled:
    """Lets the reference judge a size from now on, if the baseline agrees with it there."""
    baseline = station.baseline
    if baseline is None:
        raise RuntimeError("a process that does not know the baseline was asked to compare it")
    station.variant = baseline.variant.digest()
    try:
        loaded = station.backend.load(baseline.binary)
        OracleBuilder(station, loaded).settle(size, bind(station.spec, baseline.variant, size))
    except (EvaluatorError, BackendFailure) as error:
        return Settled(size, str(error))
    return Settled(size)


def remember(station: Station, baseline: Prepared, evaluations: tuple[Evaluation, ...]) -> None:
    """Keeps the baseline and its times: deadlines, fallbacks and the roofline's sanity depend on them."""
    station.baseline = baseline
    station.baseline_results = {evaluation.size: evaluation for evaluation in evaluations}


def run_once(station: Station, prepared: Prepared, size: ProblemSize) -> str:
    """Runs a variant at a size as timed runs do. Empty, or why not."""
    station.variant = prepared.variant.digest()
    try:
        bench, call = station.bench(size), bind_all(station, prepared, (size,))[size.label]
        if call is None:
            return f"the variant does not run at {size.label}"
        station.load_for_timing(bench, call)
        bench.run(station.backend.load(prepared.binary), call)
    except (BackendFailure, EvaluatorError) as error:
        return str(error)
    return ""


def _get_ready(station: Station, baseline: Prepared) -> None:
    """Opens a GPU, which takes the better part of a second, before the first variant comes."""
    if station.backend.info.kind == "gpu":
        with suppress(BackendFailure):  # the first variant meets it again, with somebody who listens
            station.backend.load(baseline.binary)


def main() -> None:
    """Entry of the process."""
    connection = attach()
    setup: Setup = connection.recv()
    backend = open_backend(setup.device, setup.settings.compilations())
    station = Station(for_objective(backend, setup.settings.objective), setup, connection)
    station.turn.wake()  # the one before it may have been killed while it timed
    while True:
        job = connection.recv()
        match job:
            case FillJob():
                with suppress(EvaluatorError):  # the baseline meets it again, with somebody who listens
                    station.fill(station.spec.sizes)
            case OpenJob(baseline=baseline):
                connection.send(open_baseline(station, baseline))
            case RestoreJob(baseline=baseline, evaluations=evaluations):
                remember(station, baseline, evaluations)
                _get_ready(station, baseline)
            case MeasureJob(prepared=prepared, best_ms=best_ms):
                connection.send(run_cascade(station, prepared, best_ms))
            case SettleJob(size=size):
                connection.send(settle(station, size))
            case RetimeJob():
                connection.send(retime(station))
            case RehearseJob(prepared=prepared):
                small, _ = split_checks(station)
                connection.send(Rehearsed(rehearse(station, prepared, small)))
                return
            case CountJob(prepared=prepared, size=size):
                connection.send(run_once(station, prepared, size))
                return
            case CompareJob():
                connection.send(face_off(station, job))


if __name__ == "__main__":
    main()

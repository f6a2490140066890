"""Accounts of the cascade, drift of the machine, further check sizes, rungs of sampling, generated inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.accounts import STAGES, Accounts, Spent, Stopwatch
from evaluator.api import Comparison, Coverage, EvaluatorError, Measured
from evaluator.coverage import covering_sizes
from evaluator.defences import Defences
from evaluator.drift import DriftWatch, corrected, drift_of
from evaluator.inputs import make_inputs
from evaluator.messages import Retimed
from evaluator.oracle import Reference, ReferenceProcess
from evaluator.plan import bind, memory_problem, over_memory
from evaluator.result import Evaluation, Status
from evaluator.settings import EvaluatorSettings
from evaluator.timing import Sampling, sample, summarise
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, Initialiser, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.variant import GridAxis, Guard, Launch, Scratch, Target, Variant

N = SizeExpr("N")
ARGS = (ArgSpec("a", "float32", Role.OUT, (N,)), ArgSpec("n", "int32", value=N))
SIZE = ProblemSize((("N", 1024),))
SPEC = KernelSpec("k", "", "k", ARGS, LaunchSpec((64, 1, 1), domain=(N,)), (SIZE,), (ProblemSize((("N", 7),)),))


def test_every_defence_is_on_by_default() -> None:
    assert all(getattr(Defences(), name) for name in Defences.__dataclass_fields__)
    assert EvaluatorSettings().defences == Defences()


def test_a_stopwatch_counts_each_second_once() -> None:
    watch = Stopwatch()
    with watch.stage("correctness"):
        pass
    with pytest.raises(ValueError), watch.stage("quick timing"), watch.stage("waiting"):
        raise ValueError
    spent = watch.spent()
    assert [stage for stage, _ in spent.seconds] == ["correctness", "quick timing", "waiting"]
    assert spent.refused == "waiting"


def test_accounts_sum_over_variants() -> None:
    accounts = Accounts()
    accounts.book(Spent((("load", 0.5), ("timing", 2.0))))
    accounts.book(Spent((("load", 0.25), ("small sizes", 1.0)), "small sizes"))
    costs = {cost.stage: cost for cost in accounts.costs()}
    assert tuple(costs) == STAGES
    assert (costs["load"].entered, costs["load"].refused, costs["load"].seconds) == (2, 0, 0.75)
    assert (costs["small sizes"].refused, costs["timing"].seconds) == (1, 2.0)


def steady(ms: float) -> list[float]:
    return [ms * factor for factor in (1.0, 1.002, 0.998, 1.001, 0.999)]


def measured(ms: float) -> Measured:
    return Measured(1, (Evaluation("v", "N=1", Status.OK, timing=summarise(steady(ms), 0)),))


def test_drift_is_seen_only_beyond_the_noise() -> None:
    first = summarise(steady(10.0), 0)
    assert drift_of(first, summarise(steady(10.2), 0), False) == 1.0
    assert drift_of(first, summarise(steady(15.0), 0), False) == pytest.approx(1.5)
    assert drift_of(first, summarise(steady(15.0), 0), True) == pytest.approx(1.5)
    assert drift_of(first, summarise([9.0, 11.0, 15.0, 8.0, 14.0], 0), False) == 1.0


def test_corrected_timings_keep_their_shape_and_the_factor() -> None:
    (evaluation,) = measured(15.0).evaluations
    changed = corrected(evaluation, {"N=1": 1.5})
    assert changed.timing is not None and changed.timing.median_ms == pytest.approx(10.0) and changed.drift == 1.5
    assert changed.timing.low_ms <= changed.timing.median_ms <= changed.timing.high_ms
    assert corrected(replace(evaluation, fallback=True), {"N=1": 1.5}).drift == 1.0


def test_the_baseline_is_timed_again_after_so_many_variants_and_for_records() -> None:
    watch = DriftWatch(3, False)
    watch.start(measured(10.0).evaluations)
    assert not watch.due(measured(12.0)) and not watch.due(measured(10.0))
    assert watch.due(measured(12.0))
    watch.look(Retimed({"N=1": summarise(steady(20.0), 0)}))
    assert watch.factors == {"N=1": pytest.approx(2.0)} and watch.looks == 1
    assert not watch.due(measured(21.0))
    assert watch.due(measured(19.0))  # a record: 9.5 ms by the first timing's measure
    watch.look(Retimed({"N=1": summarise(steady(20.0), 0)}))
    watch.apply(measured(19.0))
    assert not watch.due(measured(19.1))
    failed = Measured(1, (Evaluation("v", "N=1", Status.WRONG),))
    assert not watch.due(failed)


def test_sampling_ends_on_a_rung_that_is_out_of_reach() -> None:
    rungs = ((5, 20.0), (10, 15.0))
    for ms, runs in ((30.0, 5), (18.0, 10), (12.0, 40)):
        times = iter(ms * (1 + 0.2 * (k % 2)) for k in range(100))
        plan = Sampling(5, 40, 1e9, 0.0, rungs)
        assert len(sample(lambda times=times: next(times), plan, 0, lambda: 0.0).samples_ms) == runs  # type: ignore[misc]


def test_further_check_sizes_obey_guard_and_promises() -> None:
    by_four = Guard((SizeExpr("N % 4 == 0"),))
    assert [size.env["N"] for size in covering_sizes(SPEC, by_four, 0)] == [512, 256, 768]
    assert [size.env["N"] for size in covering_sizes(SPEC, by_four, 2)] == [512]
    assert covering_sizes(SPEC, by_four, 3) == ()
    assert covering_sizes(SPEC, Guard((SizeExpr("N == 1024"),)), 0) == ()
    promised = replace(SPEC, assumptions=Assumptions(divisible=(("n", 512),), ranges=(("n", 300, 4096),)))
    assert [size.env["N"] for size in covering_sizes(promised, by_four, 0)] == [512]


def test_a_kernel_compiled_for_some_sizes_is_checked_with_those_held() -> None:
    def size(m: int, n: int, k: int) -> ProblemSize:
        return ProblemSize((("M", m), ("N", n), ("K", k)))

    spec = replace(SPEC, args=ARGS[:1], sizes=(size(4096, 4096, 512),), check_sizes=(size(97, 131, 61), size(17, 1, 3)))
    spec = replace(spec, args=(replace(ARGS[0], shape=(SizeExpr("M"),)),))
    for text in ("N == 4096", "N == 4096 and K == 512", "M == 4096 and N == 4096", "K == 512 and M % 64 == 0"):
        guard = Guard((SizeExpr(text),))
        found = covering_sizes(spec, guard, 0)
        assert len(found) == 3, text
        assert all(guard.holds(size.env) for size in found)
        assert not {size.label for size in found} & {size.label for size in (*spec.sizes, *spec.check_sizes)}
        assert len({size.label for size in found}) == 3


def test_coverage_says_where_the_evolved_kernel_ran() -> None:
    checks = tuple(Evaluation("v", f"N={n}", Status.OK, fallback=n % 2 == 1) for n in (2, 3, 4, 6))
    comparison = Comparison("v", (), 1.0, 1.0, 1.0, True, checks=checks)
    assert comparison.coverage == Coverage(("N=2", "N=4", "N=6"), ("N=3",)) and comparison.coverage.enough


def test_buffers_must_fit_the_memory() -> None:
    one = GridAxis(SizeExpr("1"))
    launch = Launch("k", (one, one, one), (64, 1, 1), ("a", "t", "n"))
    variant = Variant("k", Target.OPENCL, "", (launch,), (Scratch("t", "float64", SizeExpr("N * N")),))
    call = bind(SPEC, variant, SIZE)
    assert over_memory(call, 0) == "" and over_memory(call, 1 << 30) == ""
    assert "'t' alone" in over_memory(call, 1 << 20)
    assert memory_problem(SPEC, variant, 1 << 20).startswith("out of memory at N=1024: its buffers take 8.393e+06")


def test_a_generator_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "fill.py"
    path.write_text("import numpy as np\ndef values(shape, sizes, seed): return np.full(shape, sizes['N'] + seed)\n")
    arg = ArgSpec("a", "float32", Role.IN, (N,), init=Initialiser("generator", path=f"{path}:values"))
    spec = replace(SPEC, args=(arg, *ARGS[1:]))
    process = ReferenceProcess(Reference(str(path), "values"), tmp_path / "log", 20.0)
    try:
        made = make_inputs(spec, SIZE, 3, 1, generate=lambda arg, size, which: process.generate(arg, size, 10 + which))
        assert made["a"].dtype == np.float32 and (made["a"] == 1035.0).all()
        with pytest.raises(EvaluatorError, match=r"has shape \(3,\), the campaign says \(1024,\)"):
            make_inputs(spec, SIZE, 3, 1, generate=lambda arg, size, which: np.ones(3))
    finally:
        process.close()

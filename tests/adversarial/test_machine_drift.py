"""Load while the baseline is timed: every figure of the search that follows is too good."""

from __future__ import annotations

from evaluator.api import Measured
from evaluator.drift import DriftWatch
from evaluator.messages import Retimed
from evaluator.result import Evaluation, Status, Timing
from evaluator.timing import summarise


def timing(ms: float) -> Timing:
    return summarise([ms * factor for factor in (1.0, 1.002, 0.998, 1.001, 0.999)], 0)


def measured(ms: float) -> Measured:
    return Measured(1, (Evaluation("v", "N=1", Status.OK, timing=timing(ms)),))


def speedup(every: int) -> tuple[float, float]:
    """The baseline took 20 ms on a busy machine; it takes 10 on a quiet one, as its copy does."""
    watch = DriftWatch(every, fastest=False)
    watch.start([Evaluation("b", "N=1", Status.OK, timing=timing(20.0))])
    copy = measured(10.0)
    if watch.due(copy):
        watch.look(Retimed({"N=1": timing(10.0)}))
    (evaluation,) = watch.apply(copy).evaluations
    assert evaluation.timing is not None
    return 20.0 / evaluation.timing.median_ms, evaluation.drift


def test_a_new_best_time_has_the_baseline_timed_again() -> None:
    assert speedup(every=0) == (2.0, 1.0)
    assert speedup(every=10) == (1.0, 0.5)

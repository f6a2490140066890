"""A row of a profile says which of its figures were measured."""

from __future__ import annotations

from evaluator.backend import Peaks
from evaluator.cuda.counters import counted_profile
from evaluator.messages import Work
from evaluator.profile import place
from evaluator.result import Resources
from evo.profiling import Row

PLACED = place(Work(flops=1e6, bytes=4e6), 0.5, Peaks(100.0, 1000.0))


def test_rates_are_the_models_and_times_are_measured() -> None:
    assert Row("as it is", "n=8", 0.5, PLACED, Resources()).measured == ("ms",)
    assert Row("as it is", "n=8", 0.5, PLACED, Resources(), energy_mj=2.0).measured == ("ms", "energy_mj")


def test_what_counters_gave_is_added() -> None:
    counted = counted_profile(PLACED, {"dram_percent": 90.0, "l2_percent": 10.0, "issue_percent": 20.0})
    row = Row("as it is", "n=8", 0.5, counted, Resources())
    assert row.measured == ("ms", "bottleneck", "evidence", "counters")

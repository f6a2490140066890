"""Gain inside the noise: the same kernel against itself, in processes that differ by chance."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.compare import summarise_proof
from evaluator.messages import Compared
from evaluator.result import Timing
from genome.spec import ProblemSize

SIZES = (ProblemSize((("N", 1),)),)


def process(ratio: float) -> Compared:
    baseline, other = (Timing((ms,), ms, ms, ms) for ms in (10.0 * ratio, 10.0))
    return Compared(({"N=1": baseline}, {"N=1": other}), ("", ""), ((), ()))


def proof(ratios: Sequence[float], believe: bool) -> tuple[bool, str]:
    found = summarise_proof("v", 1, [process(ratio) for ratio in ratios], SIZES, 0, "", believe)
    return found.gain, found.note


def test_a_ratio_above_one_is_not_a_gain() -> None:
    lucky = (1.06, 0.97, 1.04, 1.02, 0.99)
    assert proof(lucky, believe=True) == (True, "")
    gain, note = proof(lucky, believe=False)
    assert not gain and note == "no gain: 1.020x lies inside the noise, its 95% interval is 0.970 to 1.060"


def test_a_gain_beyond_its_interval_is_one() -> None:
    assert proof((1.06, 1.03, 1.04, 1.05, 1.03), believe=False) == (True, "")


def test_a_loss_is_called_a_loss() -> None:
    gain, note = proof((0.9, 0.91, 0.92, 0.9, 0.89), believe=True)
    assert not gain and note.startswith("no gain: 0.900x the speed of the original kernel")

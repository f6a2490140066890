"""What a campaign makes of a reference that is late: it is waited for before the proof, and its absence is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evaluator.api import EvaluatorError
from evo.evolve import evolve
from evo.progress import CampaignPhase
from evo.result import StopReason

REMARK = "reference not computed at N=64"


def test_the_reference_is_waited_for_before_the_proof_and_the_screen_says_so(bench: Any) -> None:
    evaluator, watcher = bench.evaluator(), bench.watcher()

    def settle(say: Callable[[str], None], give_up: Callable[[], bool]) -> str:
        assert not evaluator.proofs and not give_up()
        say("waiting for reference.py:f at N=64, 4 s so far")
        return ""

    evaluator.settle = settle
    result = evolve(bench.campaign(), bench.parts(evaluator), observer=watcher)
    assert result.improved and evaluator.proofs
    said = [snapshot.message for snapshot in watcher.snapshots if snapshot.phase is CampaignPhase.COMPARING]
    assert "waiting for reference.py:f at N=64, 4 s so far" in said


def test_a_kernel_that_nothing_beats_carries_the_remark_too(bench: Any) -> None:
    evaluator = bench.evaluator(time_of=lambda variant: 100.0, remark=REMARK)
    result = evolve(bench.campaign(evaluations=10), bench.parts(evaluator), observer=bench.watcher())
    assert not result.improved
    assert REMARK in result.notes


def test_a_reference_that_contradicts_the_kernel_ends_the_campaign(bench: Any) -> None:
    evaluator = bench.evaluator()

    def settle(say: Callable[[str], None], give_up: Callable[[], bool]) -> str:
        raise EvaluatorError("the untransformed kernel does not match the reference")

    evaluator.settle = settle
    with pytest.raises(EvaluatorError, match="does not match the reference"):
        evolve(bench.campaign(), bench.parts(evaluator), observer=bench.watcher())


@pytest.mark.parametrize("ms", [None, 100.0])
def test_a_stop_while_it_is_awaited_leaves_the_proof_to_a_resumed_run(bench: Any, ms: float | None) -> None:
    """Also where nothing beat the kernel (every variant takes ``ms``): the reference has not confirmed that one."""
    times = {} if ms is None else {"time_of": lambda variant: ms}
    evaluator, memory, stopped = bench.evaluator(**times), bench.memory_type(), False

    def settle(say: Callable[[str], None], give_up: Callable[[], bool]) -> str:
        nonlocal stopped
        stopped = True
        assert give_up()
        return ""

    evaluator.settle = settle
    parts, campaign = bench.parts(evaluator, memory), bench.campaign(evaluations=10)
    cut = evolve(campaign, parts, observer=bench.watcher(), stop=lambda: stopped)
    assert cut.stop is StopReason.INTERRUPTED and not cut.comparison.verified
    assert memory.finished == {} and not evaluator.proofs
    result = evolve(campaign, bench.parts(bench.evaluator(**times), memory), observer=bench.watcher(), resume=True)
    assert result.stop is StopReason.EVALUATIONS and result.comparison.verified
    assert result.improved is (ms is None)
    assert result.counts.evaluations == cut.counts.evaluations

"""The queue in front of a device process that has two variants at a time, and what a loss does to it."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from evaluator.accounts import Accounts
from evaluator.api import Measured
from evaluator.backend import Binary
from evaluator.desk import DeviceDesk
from evaluator.drift import DriftWatch
from evaluator.lane import Lost
from evaluator.messages import Beat, MeasureJob, Outcome, Prepared, Retimed, RetimeJob
from evaluator.result import Evaluation, Status
from evaluator.timing import summarise
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize
from genome.variant import Target, Variant

SIZE = ProblemSize((("N", 8),))
SPEC = KernelSpec("k", "", "k", (ArgSpec("n", "int32", value=SizeExpr("N")),), LaunchSpec((64, 1, 1)), (SIZE,))


class Script:
    """A lane whose answers are written down. ``given`` are the jobs of the process that lives now."""

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.answers: deque[Any] = deque()
        self.processes = 1
        self.busy, self.connection = True, None

    def give(self, job: Any) -> None:
        self.given.append(job)

    def poll(self) -> Any:
        answer = self.answers.popleft() if self.answers else None
        if isinstance(answer, Lost):
            self.given = []
        return answer

    def start(self) -> None:
        self.processes += not self.given

    def replace(self) -> None:
        self.given, self.processes = [], self.processes + 1

    def tickets(self) -> list[int]:
        return [job.ticket if isinstance(job, MeasureJob) else 0 for job in self.given]


def timed(ms: float, status: Status = Status.OK) -> Outcome:
    timing = summarise([ms * factor for factor in (0.999, 1.0, 1.001)], 0)
    return Outcome((Evaluation("v", SIZE.label, status, timing=timing if status is Status.OK else None),), ())


def lost(killed: bool = True, timed_out: bool = False) -> Lost:
    return Lost(Beat("check", SIZE.label), timed_out, "died", killed)


@pytest.fixture
def lane() -> Script:
    return Script()


def desk_with(lane: Script, count: int, every: int = 0, ahead: int = 2) -> DeviceDesk:
    drift = DriftWatch(every, fastest=False)
    drift.start(timed(10.0).evaluations)
    desk = DeviceDesk(lane, SPEC, drift, Accounts(), ahead)  # type: ignore[arg-type]  # a lane that is written down
    for ticket in range(1, count + 1):
        variant = Variant(f"k{ticket}", Target.CUDA, f"// {ticket}", ())
        desk.submit(ticket, Prepared(variant, Binary(variant.digest(), b"")))
    desk.dispatch()
    return desk


def drained(desk: DeviceDesk) -> list[Measured]:
    found = []
    for _ in range(20):
        while (measured := desk.collect()) is not None:
            found.append(measured)
        desk.dispatch()
    return found


def test_the_process_has_the_next_variant_before_it_ends_with_one(lane: Script) -> None:
    desk = desk_with(lane, 4)
    assert lane.tickets() == [1, 2]
    lane.answers.append(timed(10.0))
    assert [measured.ticket for measured in drained(desk)] == [1]
    assert lane.tickets() == [1, 2, 3]
    lane.answers.extend([timed(10.0)] * 3)
    assert [measured.ticket for measured in drained(desk)] == [2, 3, 4]
    assert not desk.pending


def test_each_variant_comes_with_the_best_times_so_far(lane: Script) -> None:
    desk = desk_with(lane, 3, ahead=1)
    lane.answers.extend([timed(12.0), timed(14.0)])
    drained(desk)
    assert [dict(job.best_ms) for job in lane.given] == [{}, {SIZE.label: 12.0}, {SIZE.label: 12.0}]


def test_a_cpu_device_gets_one_at_a_time(lane: Script) -> None:
    desk_with(lane, 3, ahead=1)
    assert lane.tickets() == [1]


def test_what_had_not_begun_goes_to_the_next_process(lane: Script) -> None:
    desk = desk_with(lane, 3)
    lane.answers.append(lost())
    assert drained(desk) == []
    assert lane.tickets() == [1, 2] and lane.processes == 2  # the one that died has a second chance, before the others
    lane.answers.append(lost())
    (blamed,) = drained(desk)
    assert blamed.ticket == 1 and blamed.failure is not None and blamed.failure.status is Status.CRASH
    assert lane.tickets() == [2, 3]


def test_a_hang_is_blamed_at_once_on_the_variant_that_ran(lane: Script) -> None:
    desk = desk_with(lane, 2)
    lane.answers.extend([timed(10.0), lost(killed=False, timed_out=True)])
    first, second = drained(desk)
    assert first.failure is None
    assert second.ticket == 2 and second.failure is not None and second.failure.status is Status.TIMEOUT


def test_after_a_stray_write_nobody_runs_in_that_process(lane: Script) -> None:
    desk = desk_with(lane, 3)
    lane.answers.append(timed(1.0, Status.STRAY_WRITE))
    (measured,) = drained(desk)
    assert measured.failure is not None
    assert lane.processes == 2 and lane.tickets() == [2, 3]


def test_measurements_wait_for_the_baseline_in_order(lane: Script) -> None:
    desk = desk_with(lane, 3, every=10)
    lane.answers.append(timed(5.0))  # a new best time: the baseline is timed again before it is believed
    assert drained(desk) == []
    assert [type(job) for job in lane.given] == [MeasureJob, MeasureJob, RetimeJob]
    lane.answers.append(timed(9.0))
    assert drained(desk) == []
    lane.answers.append(Retimed({SIZE.label: summarise([5.0, 5.001, 5.002], 0)}))
    found = drained(desk)
    assert [measured.ticket for measured in found] == [1, 2]
    assert all(measured.evaluations[0].drift == pytest.approx(0.5, rel=1e-2) for measured in found)


def test_a_loss_while_the_baseline_is_timed_loses_no_measurement(lane: Script) -> None:
    desk = desk_with(lane, 1, every=10)
    lane.answers.extend([timed(5.0), lost()])
    (measured,) = drained(desk)
    assert measured.ticket == 1 and measured.failure is None
    assert not desk.pending

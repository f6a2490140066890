"""Several calls at once, on a device made of numpy: what they are given, how they are timed, that all are judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.api import EvaluatorError, Measured
from evaluator.at_once import AtOnce, ComparingAtOnce, Copies, for_objective
from evaluator.backend import Backend, Buffer, Bytes, Loaded
from evaluator.cascade import run_cascade
from evaluator.compare import summarise_proof
from evaluator.energy import per_call
from evaluator.face_off import face_off
from evaluator.messages import Compared, CompareJob, Fatal, Prepared, Setup
from evaluator.objective import Kind, Objective
from evaluator.plan import Call
from evaluator.resident import Canaries, Close, Finding, Intact, Kept, Question
from evaluator.result import Evaluation, Status
from evaluator.settings import EvaluatorSettings
from evaluator.station import Station
from evaluator.worker import open_baseline, remember
from genome.sizes import SizeExpr
from genome.variant import Guard, Target
from tests.adversarial.arena import AXPB, SEED, Silent
from tests.adversarial.model_device import Memory, ModelDevice, Rule, right

CALLS = 3


@dataclass
class TwoQueues(ModelDevice):
    """Calls that overlap take half of their times together. ``spends`` are millijoules of a call by rule."""

    spends: Mapping[str, float] = field(default_factory=dict)
    alone: int = 0
    together: int = 0

    def run(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer]) -> float:
        self.alone += 1
        return super().run(loaded, call, buffers)

    def run_together(self, loaded: Loaded, call: Call, copies: Sequence[Mapping[str, Buffer]]) -> float:
        self.together += 1
        assert len({id(buffer) for buffers in copies for buffer in buffers.values()}) == 3 * len(copies)
        return sum(super(TwoQueues, self).run(loaded, call, buffers) for buffers in copies) / 2

    def energy_mj(self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer], seconds: float) -> float | None:
        del call, buffers, seconds
        assert isinstance(loaded, Rule)
        return self.spends.get(loaded.name)


RuleOf = Callable[[ModelDevice, Mapping[str, Memory]], float]
Spends = Mapping[str, float]  # millijoules of a call by rule


def fast(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    right(device, memory)
    return 4.0


def second_call_wrong(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    """Right unless another call is under way: every other launch of a group goes wrong."""
    right(device, memory)
    if device.launches % CALLS == 2:
        memory["C"].floats()[0] += 1.0
    return 4.0


def stray_in_the_third(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    right(device, memory)
    if device.launches % CALLS == 0:
        memory["A"].floats()[:] = 0.0
    return 4.0


def opened(
    rule: RuleOf, folder: Path, objective: Objective, spends: Mapping[str, float] | None = None
) -> tuple[Station, Prepared, TwoQueues]:
    """A station on which the right kernel was opened, and the rule's variant."""
    device = TwoQueues({"right": right, "rule": rule}, spends=spends or {})
    backend: Backend = for_objective(device, objective)
    settings = EvaluatorSettings(min_samples=3, max_samples=6, objective=objective)
    session = folder / str(len(list(folder.iterdir())))
    session.mkdir()
    station = Station(backend, Setup(AXPB.spec, "model:0", settings, None, SEED, session), Silent())  # type: ignore[arg-type]
    baseline = prepared(device, "right")
    outcome = open_baseline(station, baseline)
    assert not isinstance(outcome, Fatal), outcome.message
    remember(station, baseline, outcome.evaluations)
    return station, prepared(device, "rule"), device


def prepared(device: Backend, rule: str) -> Prepared:
    variant = replace(AXPB.variant("", Target.OPENCL), source=rule)
    return Prepared(variant, device.compile(variant, [], "", lambda stage: None))


def judged(
    rule: RuleOf, folder: Path, objective: Objective, spends: Mapping[str, float] | None = None
) -> tuple[Evaluation | None, Evaluation]:
    """(failure or None, evaluation at the tuned size or the last one) of a rule."""
    station, variant, _ = opened(rule, folder, objective, spends)
    outcome = run_cascade(station, variant, {})
    return Measured(0, outcome.evaluations, outcome.checks).failure, (*outcome.evaluations, *outcome.checks)[0]


THROUGHPUT = Objective(Kind.THROUGHPUT, at_once=CALLS)


def test_an_ordinary_objective_leaves_the_backend_alone() -> None:
    device = TwoQueues({"right": right})
    assert for_objective(device, Objective()) is device
    assert for_objective(device, Objective(Kind.ENERGY, latency_ms=3.0)) is device
    wrapped = for_objective(device, THROUGHPUT)
    assert isinstance(wrapped, AtOnce) and wrapped.info.memory_bytes == device.info.memory_bytes // CALLS


def test_a_timing_is_the_whole_divided_by_the_calls(tmp_path: Path) -> None:
    failure, evaluation = judged(fast, tmp_path, THROUGHPUT)
    assert failure is None and evaluation.timing is not None
    assert evaluation.timing.median_ms == pytest.approx(4.0 / 2)  # each takes 4 ms, and two fit at a time
    failure, evaluation = judged(fast, tmp_path, Objective())
    assert failure is None and evaluation.timing is not None
    assert evaluation.timing.median_ms == pytest.approx(4.0)


@pytest.mark.parametrize(("rule", "status"), [
    (second_call_wrong, {Status.WRONG, Status.UNSTABLE}), (stray_in_the_third, {Status.STRAY_WRITE, Status.UNSTABLE}),
])  # fmt: skip
def test_every_call_is_judged(rule: RuleOf, status: set[Status], tmp_path: Path) -> None:
    failure, _ = judged(rule, tmp_path, THROUGHPUT)
    assert failure is not None and failure.status in status


def test_copies_take_turns_in_being_read() -> None:
    device = TwoQueues({"right": right})
    backend = AtOnce(device, CALLS, CALLS)
    buffers = {name: backend.allocate(16) for name in "ABC"}
    for number, part in enumerate(buffers["A"].parts):
        part.fill(number)
    seen = []
    for _ in range(2 * CALLS):
        backend.run(Rule("", "right"), Call((), {}, {}, {}), buffers)
        seen.append(int(buffers["A"].read()[0]))
    assert sorted(seen[:CALLS]) == sorted(seen[CALLS:]) == list(range(CALLS))


def test_damage_names_the_call() -> None:
    class Damaged(Memory):
        def damage(self) -> str:
            return "4 bytes past the end"

    copies = Copies((Memory(8), Damaged(8)), lambda: 0)
    assert copies.damage() == "4 bytes past the end (call 2 of 2)"


@dataclass
class Comparing(TwoQueues):
    """Compares by a rule: canaries changed by as much as the buffer's first byte, outputs off by it."""

    asked: list[Question] = field(default_factory=list)

    def keep(self, data: Bytes) -> Kept | None:
        return None

    def restore(self, buffer: Buffer, kept: Kept) -> None:
        buffer.fill(kept.nbytes)

    def examine(self, questions: Sequence[Question]) -> tuple[Finding, ...]:
        self.asked = list(questions)
        firsts = [int(q.buffer.read()[0]) if not isinstance(q, Intact) else 0 for q in questions]
        return tuple(
            Finding(worst=first / 10, distance=float(first), size=1.0, finite=1) if isinstance(question, Close)
            else Finding(changed=first)
            for question, first in zip(questions, firsts, strict=True)
        )  # fmt: skip


@dataclass(frozen=True)
class Copy:
    nbytes: int
    held: bool = True

    def release(self) -> None:
        return


def test_where_the_device_compares_every_copy_is_asked_about() -> None:
    device = Comparing({"right": right})
    backend = for_objective(device, Objective(Kind.LATENCY, CALLS, throughput=1.0))
    assert isinstance(backend, ComparingAtOnce)
    buffer = backend.allocate(8)
    for number, part in enumerate(buffer.parts):
        part.fill(number + 1)
    kept = Copy(8)
    questions = (Canaries(buffer), Close(buffer, kept, None, "float32", 0.0, 0.0, None), Intact(kept))
    alone = backend.examine(questions)
    assert [finding.changed for finding in alone] == [1 + 2 + 3, 0, 0]  # canaries stand around all copies
    assert alone[1].worst == pytest.approx(0.1)  # the others took no part in the last run
    with backend.running(CALLS):
        found = backend.examine(questions)
    assert len(device.asked) == CALLS + CALLS + 1
    assert (found[1].worst, found[1].distance) == (pytest.approx(0.3), 3.0)
    backend.restore(buffer, kept)
    assert [int(part.read()[0]) for part in buffer.parts] == [8, 8, 8]


@pytest.mark.parametrize(("objective", "said"), [
    (Objective(Kind.THROUGHPUT, CALLS, latency_ms=5.0), None),
    (Objective(Kind.THROUGHPUT, CALLS, latency_ms=3.0), "latency: 4 ms a call, at most 3 ms"),
    (Objective(Kind.LATENCY, CALLS, throughput=400.0), None),
    (Objective(Kind.LATENCY, CALLS, throughput=600.0), "throughput: 500 calls a second, at least 600"),
    (Objective(Kind.LATENCY, energy_mj=8.0), None),
    (Objective(Kind.LATENCY, energy_mj=6.0), "energy: 7 mJ a call, at most 6 mJ"),
    (Objective(Kind.ENERGY, latency_ms=3.5), "latency: 4 ms a call, at most 3.5 ms"),
    (Objective(Kind.ENERGY, CALLS, throughput=499.0, latency_ms=4.5), None),
])  # fmt: skip
def test_bounds_hold_for_variants(objective: Objective, said: str | None, tmp_path: Path) -> None:
    """4 ms alone, 2 ms a call (500 a second) with several under way, 7 mJ."""
    failure, evaluation = judged(fast, tmp_path, objective, {"rule": 7.0, "right": 9.0})
    if said is None:
        assert failure is None
        return
    assert failure is not None and failure.status is Status.LIMIT and said in failure.message
    assert evaluation.size in failure.message


@pytest.mark.parametrize(("kind", "refused"), [(Kind.ENERGY, True), (Kind.LATENCY, False)])
def test_a_slow_variant_may_save_energy_and_keeps_to_bounds(kind: Kind, refused: bool, tmp_path: Path) -> None:
    """4 ms, 40 times the best so far: of no use where time counts, so nothing more is measured there."""
    objective = Objective(Kind.ENERGY, latency_ms=3.5) if kind is Kind.ENERGY else Objective(energy_mj=6.0)
    station, variant, _ = opened(fast, tmp_path, objective, {"rule": 7.0, "right": 5.0})
    outcome = run_cascade(station, variant, {size.label: 0.1 for size in station.spec.sizes})
    failure = Measured(0, outcome.evaluations, outcome.checks).failure
    assert (failure is not None and "over the bound of its latency" in failure.message) is refused


def test_bounds_are_a_stage_of_their_own(tmp_path: Path) -> None:
    for objective in (Objective(), Objective(Kind.LATENCY, CALLS, throughput=600.0)):
        station, variant, device = opened(fast, tmp_path, objective)
        together = device.together
        spent = run_cascade(station, variant, {}).spent
        bounded = bool(objective.bounded)
        assert ("bounds" in dict(spent.seconds)) is bounded
        assert spent.refused == ("bounds" if bounded else "")
        assert (device.together > together) is bounded


def test_the_kernel_as_it_is_may_break_a_bound(tmp_path: Path) -> None:
    """It takes 10 ms: ``opened`` asserts that it is opened all the same."""
    opened(fast, tmp_path, Objective(Kind.THROUGHPUT, CALLS, latency_ms=5.0))


@pytest.mark.parametrize(("left", "refused"), [(1, True), (2, False)])
def test_a_size_that_is_left_to_a_kernel_over_a_bound_is_not_within_it(
    left: int, refused: bool, tmp_path: Path
) -> None:
    """The kernel as it is takes 10 ms. A variant that leaves every tuned size to it is that kernel."""
    objective = Objective(Kind.THROUGHPUT, CALLS, latency_ms=5.0)
    station, variant, _ = opened(fast, tmp_path, objective)
    away = tuple(SizeExpr(f"N != {size.env['N']}") for size in station.spec.sizes[:left])
    assert len(station.spec.sizes) == 2 and station.baseline is not None
    guarded = Prepared(replace(variant.variant, guard=Guard(away)), variant.binary)
    outcome = run_cascade(station, guarded, {})
    failure = Measured(0, outcome.evaluations, outcome.checks).failure
    assert (failure is not None and "the kernel as it is runs at N=" in failure.message) is refused
    compared = face_off(station, CompareJob((station.baseline, guarded), 0.05, 1))
    assert ("over the bound of its latency" in compared.failures[1]) is refused


def test_a_device_that_does_not_tell_its_energy_is_named(tmp_path: Path) -> None:
    device = TwoQueues({"right": right})
    settings = EvaluatorSettings(min_samples=3, max_samples=6, objective=Objective(Kind.ENERGY))
    station = Station(device, Setup(AXPB.spec, "model:0", settings, None, SEED, tmp_path), Silent())  # type: ignore[arg-type]
    outcome = open_baseline(station, prepared(device, "right"))
    assert not isinstance(outcome, Fatal)
    failure = Measured(0, outcome.evaluations, outcome.checks).failure
    assert failure is not None and "does not tell its energy" in failure.message


def test_the_final_proof_measures_what_is_optimised(tmp_path: Path) -> None:
    """Three times less energy in half of the time: the ratio of an energy campaign is 3, its bounds hold there too."""
    for objective, holds in ((Objective(Kind.ENERGY), True), (Objective(Kind.ENERGY, latency_ms=3.0), False)):
        station, variant, _ = opened(fast, tmp_path, objective, {"rule": 3.0, "right": 9.0})
        assert station.baseline is not None
        compared = face_off(station, CompareJob((station.baseline, variant), 0.05, 1))
        found = summarise_proof("", 1, [compared], station.spec.sizes, SEED, "")
        assert found.verified is holds
        if holds:
            assert found.speedup == pytest.approx(3.0)
            assert (found.sizes[0].baseline_mj, found.sizes[0].best_mj) == (9.0, 3.0)
        else:
            assert "over the bound of its latency" in found.message


def test_a_proof_without_the_kernel_as_it_is_is_none(tmp_path: Path) -> None:
    """Its energy cannot be read for once, or it does not run: neither is a figure, nor the champion's fault."""
    station, variant, device = opened(fast, tmp_path, Objective(Kind.ENERGY), {"rule": 3.0, "right": 9.0})
    assert station.baseline is not None
    device.spends = {"rule": 3.0}
    with pytest.raises(EvaluatorError, match="does not tell its energy"):
        face_off(station, CompareJob((station.baseline, variant), 0.05, 1))
    gone = Compared(({}, {}), ("it does not load", ""), ((), ()))
    found = summarise_proof("", 1, [gone], station.spec.sizes, SEED, "")
    assert not found.verified and found.message == "the kernel as it is: it does not load"


@dataclass
class Counter:
    """A counter that moves every 0.1 s on a device of 50 W where a call takes 3 ms."""

    now: float = 0.0

    def read(self) -> int | None:
        return int(50_000 * (int(self.now * 10 + 1e-9) / 10))

    def run(self) -> int:
        self.now += 4 * 0.003
        return 4

    def clock(self) -> float:
        return self.now


def test_energy_is_counted_between_two_steps_of_the_counter() -> None:
    """50 W for 3 ms are 150 mJ. A window that ended anywhere would be off by up to a step in five."""
    for begin in np.linspace(0.0, 0.1, 7):
        counter = Counter(float(begin))
        found = per_call(counter.read, counter.run, 0.5, counter.clock)
        assert found == pytest.approx(150.0, rel=0.03)


@pytest.mark.parametrize("shown", [None, 7])
def test_a_counter_that_does_not_move_tells_nothing(shown: int | None) -> None:
    counter = Counter()
    assert per_call(lambda: shown, counter.run, 0.5, counter.clock) is None

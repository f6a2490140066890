"""A device that compares: what is right stays there, what is wrong is judged as everywhere, and damage is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from evaluator.backend import Buffer, Bytes, Peaks
from evaluator.cascade import run_cascade
from evaluator.correctness import POISONS, poisoned, relative_errors
from evaluator.messages import Fatal, Outcome, Prepared, Setup
from evaluator.resident import Canaries, Close, Comparing, Finding, Intact, Kept, Question, Same
from evaluator.result import Evaluation, Status
from evaluator.settings import EvaluatorSettings
from evaluator.station import Station
from evaluator.tolerance import Bound
from evaluator.worker import open_baseline
from genome.variant import Target
from tests.adversarial.arena import AXPB, SEED, Silent
from tests.adversarial.model_device import Memory, ModelDevice, right


@dataclass
class Copy:
    data: Bytes
    stored: Bytes
    held: bool = True

    @property
    def nbytes(self) -> int:
        return self.data.size

    def release(self) -> None:
        self.held = False


class Counting(Memory):
    """Notes when a buffer comes back to the host."""

    def __init__(self, nbytes: int, reads: list[int]) -> None:
        super().__init__(nbytes)
        self.reads = reads

    def read(self) -> Bytes:
        self.reads.append(self.nbytes)
        return super().read()


@dataclass
class Comparer(ModelDevice):
    """The model device, comparing with numpy."""

    copies: list[Copy] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    room: bool = True

    def allocate(self, nbytes: int) -> Memory:
        return Counting(nbytes, self.reads)

    def keep(self, data: Bytes) -> Copy | None:
        if not self.room:
            return None
        self.copies.append(Copy(data.copy(), data.copy()))
        return self.copies[-1]

    def restore(self, buffer: Buffer, kept: Kept) -> None:
        assert isinstance(kept, Copy) and kept.held
        buffer.write(kept.data)

    def examine(self, questions: Sequence[Question]) -> tuple[Finding, ...]:
        return tuple(map(answer, questions))


def answer(question: Question) -> Finding:
    match question:
        case Canaries():
            return Finding()
        case Same(buffer=Memory() as memory, kept=Copy() as copy):
            return Finding(int((memory.data != copy.data).sum()))
        case Intact(kept=Copy() as copy):
            return Finding(int((copy.data != copy.stored).any()))
        case Close(buffer=Memory() as memory, values=Copy() as values, written=None):
            output = memory.data.view(question.dtype)
            right = values.data.view(np.float64 if question.wide else question.dtype).astype(np.float64)
            errors = relative_errors(output, right, Bound(question.rtol, question.atol, 0.0))
            apart = output.astype(np.float64) - right
            return Finding(0, float(errors.max()), float((apart**2).sum()), float((right**2).sum()), right.size)
    raise AssertionError(question)


def damaging(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    """Right, and writes into a copy that another size or set is compared with."""
    ms = right(device, memory)
    assert isinstance(device, Comparer)
    device.copies[0].data[0] ^= 1
    return ms


def wrong(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    ms = right(device, memory)
    memory["C"].floats()[3] += 1.0
    return ms


def unwritten(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    old = memory["C"].data[:4].copy()
    ms = right(device, memory)
    if any(poisoned(old.view(np.float32), byte).all() for byte in POISONS):
        memory["C"].data[:4] = old
    return ms


RULES = {"right": right, "damaging": damaging, "wrong": wrong, "unwritten": unwritten}


def opened(device: ModelDevice, folder: Path) -> Station:
    settings = EvaluatorSettings(min_samples=3, max_samples=6)
    setup = Setup(AXPB.spec, "model:0", settings, None, SEED, folder, Peaks())
    station = Station(device, setup, Silent())  # type: ignore[arg-type]  # only ``send`` is used
    baseline = open_baseline(station, prepared(device, "right"))
    assert not isinstance(baseline, Fatal)
    return station


def prepared(device: ModelDevice, rule: str) -> Prepared:
    variant = AXPB.variant(rule, Target.OPENCL)
    return Prepared(variant, device.compile(variant, [], "", lambda stage: None))


def failure(outcome: Outcome) -> Evaluation | None:
    return next((e for e in (*outcome.checks, *outcome.evaluations) if e.status is not Status.OK), None)


def test_what_is_right_never_comes_back(tmp_path: Path) -> None:
    device = Comparer(RULES)
    assert isinstance(device, Comparing)
    station = opened(device, tmp_path)
    device.reads.clear()
    assert failure(run_cascade(station, prepared(device, "right"), {})) is None
    assert device.reads == []


@pytest.mark.parametrize("rule", ["wrong", "unwritten"])
def test_what_is_wrong_is_told_in_the_same_words(tmp_path: Path, rule: str) -> None:
    found = []
    for number, device in enumerate((ModelDevice(RULES), Comparer(RULES))):
        folder = tmp_path / str(number)
        folder.mkdir()
        station = opened(device, folder)
        found.append(failure(run_cascade(station, prepared(device, rule), {})))
    host, resident = found
    assert host is not None and resident is not None
    assert (resident.status, resident.message, resident.size) == (host.status, host.message, host.size)
    assert resident.status in (Status.WRONG, Status.UNWRITTEN)


def test_who_writes_into_a_copy_is_found_though_all_results_are_right(tmp_path: Path) -> None:
    device = Comparer(RULES)
    station = opened(device, tmp_path)
    refused = failure(run_cascade(station, prepared(device, "damaging"), {}))
    assert refused is not None and refused.status is Status.STRAY_WRITE
    assert "memory that belongs to no argument" in refused.message


def test_without_room_the_host_compares(tmp_path: Path) -> None:
    device = Comparer(RULES)
    station = opened(device, tmp_path)
    device.room = False
    for copy in device.copies:
        copy.release()
    device.reads.clear()
    assert failure(run_cascade(station, prepared(device, "right"), {})) is None
    assert device.reads
    assert failure(run_cascade(station, prepared(device, "wrong"), {})) is not None

"""An answer that arrives late is compared where the data is, and judges from then on."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.cascade import run_cascade
from evaluator.messages import Fatal, Outcome, Setup
from evaluator.oracle import Reference
from evaluator.result import Evaluation, Status
from evaluator.session_inputs import session_inputs
from evaluator.settings import EvaluatorSettings
from evaluator.standing import Standing
from evaluator.station import Station
from evaluator.store import kept, load_oracle, save_answer
from evaluator.worker import open_baseline, remember, settle
from genome.spec import ProblemSize
from tests.adversarial.arena import AXPB, SEED, Silent
from tests.adversarial.model_device import Memory, ModelDevice, right
from tests.unit.test_evaluator_resident import Comparer, failure, prepared

TUNED = AXPB.spec.sizes
LARGE = 4 * TUNED[0].env["N"]  # bytes of an array at the first tuned size
REFERENCE = "def axpb(inputs, sizes): return 1.5 * inputs['A'] + inputs['B']\n"


def slightly_off(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    """Four times the tolerance from the reference, at the first tuned size alone."""
    ms = right(device, memory)
    if memory["C"].nbytes == LARGE:
        memory["C"].floats()[:] *= np.float32(1.0002)
    return ms


@pytest.fixture
def opened(tmp_path: Path) -> tuple[Comparer, Station, Outcome]:
    (tmp_path / "reference.py").write_text(REFERENCE)
    device = Comparer({"right": right, "off": slightly_off})
    reference = Reference(str(tmp_path / "reference.py"), "axpb")
    settings = EvaluatorSettings(min_samples=3, max_samples=6, reference_patience_s=0.0)
    setup = Setup(AXPB.spec, "model:0", settings, reference, SEED, tmp_path, beside=True)
    station = Station(device, setup, Silent())  # type: ignore[arg-type]  # only ``send`` is used
    outcome = open_baseline(station, prepared(device, "right"))
    station.close()
    assert isinstance(outcome, Outcome)
    return device, station, outcome


def answer(station: Station, size: ProblemSize, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Leaves what a reference gives, changed."""
    setup = station.setup
    for which in station.sets:
        inputs = session_inputs(setup.session, setup.spec, size, setup.seed, which, True, 0, lambda *_: np.zeros(0))
        values = 1.5 * inputs["A"].astype(float) + inputs["B"].astype(float)
        save_answer(setup.session, setup.spec, size, which, {"C": change(values)})


def found(station: Station, device: Comparer, rule: str) -> Evaluation | None:
    return failure(run_cascade(station, prepared(device, rule), {}))


def test_an_answer_is_compared_on_the_device_and_judges_from_then_on(
    opened: tuple[Comparer, Station, Outcome],
) -> None:
    device, station, outcome = opened
    assert outcome.awaited == TUNED
    assert found(station, device, "off") is None
    answer(station, TUNED[0], lambda values: values)
    device.reads.clear()
    assert settle(station, TUNED[0]).failure == ""
    assert device.reads == [], "the comparison was the host's"
    refused = found(station, device, "off")
    assert refused is not None and refused.status is Status.WRONG and refused.size == TUNED[0].label
    assert found(station, device, "right") is None
    standings = [load_oracle(station.setup.session, station.spec, size).standing for size in TUNED]
    assert standings == [Standing.SETTLED, Standing.AWAITED]


def test_an_answer_that_the_kernel_contradicts_names_the_difference(opened: tuple[Comparer, Station, Outcome]) -> None:
    _, station, _ = opened
    answer(station, TUNED[1], lambda values: np.where(np.arange(values.size) == 7, values + 1.0, values))
    text = settle(station, TUNED[1]).failure
    assert "does not match the reference, wrong at N=2048" in text and "worst C[7]" in text
    assert load_oracle(station.setup.session, station.spec, TUNED[1]).standing is Standing.AWAITED


def all_but_two(device: ModelDevice, memory: Mapping[str, Memory]) -> float:
    """Leaves the ends of its output alone."""
    ends = memory["C"].floats()[[0, -1]]
    ms = right(device, memory)
    memory["C"].floats()[[0, -1]] = ends
    return ms


def test_a_process_that_took_over_settles_from_what_the_first_one_left(tmp_path: Path) -> None:
    """Oracles on disk are mapped while they are replaced; what the kernel leaves alone stays what it was."""
    device = ModelDevice({"right": all_but_two})
    (tmp_path / "reference.py").write_text(REFERENCE)
    reference = Reference(str(tmp_path / "reference.py"), "axpb")
    settings = EvaluatorSettings(min_samples=3, max_samples=6, reference_patience_s=0.0)
    spec = replace(AXPB.spec, sizes=(ProblemSize((("N", 1 << 16),)),))
    setup = Setup(spec, "model:0", settings, reference, SEED, tmp_path, beside=True)
    baseline = prepared(device, "right")
    first, second = (Station(device, setup, Silent()) for _ in range(2))  # type: ignore[arg-type]
    outcome = open_baseline(first, baseline)
    assert isinstance(outcome, Outcome)
    assert outcome.awaited == spec.sizes
    remember(second, baseline, outcome.evaluations)
    answer(second, spec.sizes[0], lambda values: values)
    assert settle(second, spec.sizes[0]).failure == ""
    (written,) = {bytes(outputs["C"].written) for outputs in load_oracle(tmp_path, spec, spec.sizes[0]).expected}
    assert written == bytes([0, *[1] * ((1 << 16) - 2), 0])
    first.close(), second.close()


def full(file: Path, *_: object, **__: object) -> None:
    Path(file).write_bytes(b"half")
    raise OSError(errno.ENOSPC, "No space left on device", str(file))


def test_an_oracle_that_the_disk_has_no_room_for_ends_the_start_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = ModelDevice({"right": right})
    setup = Setup(AXPB.spec, "model:0", EvaluatorSettings(), None, SEED, tmp_path)
    station = Station(device, setup, Silent())  # type: ignore[arg-type]  # only ``send`` is used
    monkeypatch.setattr(np, "save", full)
    fatal = open_baseline(station, prepared(device, "right"))
    assert isinstance(fatal, Fatal)
    assert f"cannot be kept in {tmp_path}" in fatal.message and "No space left on device" in fatal.message
    assert "XDG_CACHE_HOME" in fatal.message


def test_an_array_that_the_disk_has_no_room_for_is_made_by_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(1 << 19, dtype=np.float32)
    monkeypatch.setattr(np, "save", full)
    assert kept(tmp_path / "x.npy", values.nbytes, lambda: values) is values
    assert {path.name for path in tmp_path.iterdir()} == {"x.lock"}


def test_a_kept_array_is_read_without_waiting_for_whoever_draws_others(tmp_path: Path) -> None:
    """Its lock may be held by a process that is stopped."""
    values = np.arange(1 << 19, dtype=np.float32)
    kept(tmp_path / "x.npy", values.nbytes, lambda: values)
    with (tmp_path / "x.lock").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        again = kept(tmp_path / "x.npy", values.nbytes, lambda: np.zeros(0))
        assert again is not values and np.array_equal(again, values)

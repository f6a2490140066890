"""Kernels that leave their own outputs alone: nothing is compared there, and a person hears of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyopencl")

from evaluator.api import Measured
from evaluator.devices import list_devices
from evaluator.messages import Fatal, Outcome, Setup
from evaluator.oracle import Reference
from evaluator.result import Status
from evaluator.station import Station
from evaluator.worker import open_baseline
from genome.spec import Role
from tests.adversarial.arena import SEED, Bout, Ring, Silent, array, bout, reference_of, ring_on

pytestmark = pytest.mark.skipif(
    not any(info.id == "opencl:0" for info in list_devices()), reason="no OpenCL device answers"
)

HEAD = "KERNEL void twice(GLOBAL const float *A, GLOBAL float *C, GLOBAL float *D, int N) { int i = GID; if (i < N) {"
REFERENCE = 'def twice(inputs, sizes):\n    return {"C": 2 * inputs["A"], "D": 3 * inputs["A"]}\n'


def twice(body: str, reference: str = REFERENCE) -> Bout:
    """A kernel that should store 2 A in C and 3 A in D."""
    args = (array("A"), array("C", Role.OUT), array("D", Role.OUT))
    return bout("twice", args, f"{HEAD} {body} }} }}", tuned=(1024,), reference=reference)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Ring:
    folder = tmp_path_factory.mktemp("ring")
    os.environ.setdefault("POCL_CACHE_DIR", str(folder / "pocl"))
    return ring_on("opencl:0", folder)


def opened(ring: Ring, kernel: Bout, folder: Path, reference: Reference | None = None) -> Outcome | Fatal:
    """What comes of the kernel as it is."""
    judge = reference or reference_of(kernel, folder)
    setup = Setup(kernel.spec, ring.device, ring.settings, judge, SEED, folder, ring.peaks, {})
    station = Station(ring.backend, setup, Silent())  # type: ignore[arg-type]  # only ``send`` is used
    try:
        return open_baseline(station, ring.compiled(kernel.variant(kernel.good, ring.target)))
    finally:
        station.close()


@pytest.mark.parametrize(
    ("body", "reference", "silent"),
    [
        ("", REFERENCE, "C, D"),
        ("", "", "C, D"),
        ("C[i] = 2.0f * A[i];", REFERENCE, "D"),
        ("C[i] = 2.0f * A[i]; if (i > 5000) D[i] = 3.0f * A[i];", REFERENCE, "D"),
        ("C[0] += A[i]; D[0] += A[i];", "", "C, D"),  # added to what is there: both patterns absorb it
    ],
)
def test_there_is_nothing_to_verify_where_nothing_is_written(
    ring: Ring, tmp_path: Path, body: str, reference: str, silent: str
) -> None:
    found = opened(ring, twice(body, reference), tmp_path)
    assert isinstance(found, Fatal)
    assert f"writes no element of {silent} at any size" in found.message
    assert "role: inout" in found.message


def test_an_output_that_is_left_alone_beside_another_one_needs_no_word(ring: Ring, tmp_path: Path) -> None:
    found = opened(ring, twice("C[i] = 2.0f * A[i];", reference=""), tmp_path)
    assert isinstance(found, Outcome)
    assert len(found.notes) == 1
    assert "leaves 1024 of 1024 elements of D unwritten at N=1024" in found.notes[0]


def test_elements_that_are_left_alone_are_counted_whatever_the_reference_says(ring: Ring, tmp_path: Path) -> None:
    found = opened(ring, twice("if (i < N - 3) C[i] = 2.0f * A[i]; D[i] = 3.0f * A[i];"), tmp_path)
    assert isinstance(found, Outcome)
    assert Measured(0, found.evaluations, found.checks).failure is None
    assert len(found.notes) == 1
    assert "leaves 3 of 1024 elements of C unwritten at N=1024" in found.notes[0]


def test_nothing_is_said_of_a_kernel_that_writes_everything(ring: Ring, tmp_path: Path) -> None:
    found = opened(ring, twice("C[i] = 2.0f * A[i]; D[i] = 3.0f * A[i];"), tmp_path)
    assert isinstance(found, Outcome)
    assert found.notes == ()


@pytest.mark.parametrize(
    ("judgement", "lenient"),
    [
        ("True", True),
        ("bool(np.isfinite(outputs['C']).all())", True),
        ("bool(np.allclose(outputs['C'], 2 * inputs['A'], rtol=1e-4))", False),
        ("True if abs(outputs['C'] - 2 * inputs['A']).max() < 1e-3 else 1 / 0", False),
    ],
)
def test_a_checker_judges_the_whole_buffers_itself(ring: Ring, tmp_path: Path, judgement: str, lenient: bool) -> None:
    text = f"import numpy as np\ndef fine(inputs, outputs, sizes):\n    return {judgement}\n"
    (tmp_path / "checker.py").write_text(text)
    checker = Reference(str(tmp_path / "checker.py"), "fine", "checker")
    found = opened(ring, twice("C[i] = 2.0f * A[i];", ""), tmp_path, checker)
    assert isinstance(found, Outcome)
    assert ["accepts the outputs of other inputs at N=1009" in note for note in found.notes] == [True] * lenient
    assert all(evaluation.status is Status.OK for evaluation in found.evaluations)

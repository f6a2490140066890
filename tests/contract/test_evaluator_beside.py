"""References that are slow at the tuned size: the search does not wait, the proof does, and nothing slips through.

The kernel is y = 1.5 x + b. The tuned size is the only one at which the references here are slow or different.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyopencl")

from evaluator.api import Compiled, EvaluatorError, Measured
from evaluator.devices import list_devices
from evaluator.oracle import Reference
from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from evaluator.settings import EvaluatorSettings
from tests.adversarial.arena import AXPB, AXPB_BODY, SEED, axpb, size_of

pytestmark = pytest.mark.skipif(
    not any(info.id == "opencl:0" for info in list_devices()), reason="no OpenCL device answers"
)

TUNED = 4096
SPEC = replace(AXPB.spec, sizes=(size_of(TUNED),))
GATED = """import os, time
def axpb(inputs, sizes):
    if sizes["N"] == 4096:
        while not os.path.exists({gate!r}):
            time.sleep(0.02)
        {then}
    return 1.5 * inputs["A"] + inputs["B"]
"""
SLIGHTLY = f"C[i] = (1.5f * A[i] + B[i]) * (N == {TUNED} ? 1.0002f : 1.0f);"  # four times the tolerance off
BADLY = f"C[i] = (1.5f * A[i] + B[i]) * (N == {TUNED} ? 1.01f : 1.0f);"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@contextmanager
def opened(folder: Path, cache: Path, then: str = "pass", **settings: float) -> Iterator[tuple[LocalEvaluator, Path]]:
    """An evaluator with the baseline opened, and the file whose appearance lets the reference go on."""
    gate = folder / "gate"
    (folder / "reference.py").write_text(GATED.format(gate=str(gate), then=then))
    chosen = EvaluatorSettings(
        min_samples=3, max_samples=6, sample_budget_s=0.01, flush_cap_bytes=1 << 20, proof_budget_s=0.02, compilers=1,
        cache_dir=cache, reference_patience_s=0.1, **settings,  # type: ignore[arg-type]  # seconds all of them
    )  # fmt: skip
    reference = Reference(str(folder / "reference.py"), "axpb")
    with LocalEvaluator(SPEC, "opencl:0", chosen, reference, SEED) as evaluator:
        measured = evaluator.open(AXPB.variant(AXPB.good, evaluator.target))
        assert measured.failure is None
        yield evaluator, gate


def judged(evaluator: LocalEvaluator, body: str) -> tuple[Status, str]:
    """What the search says of a variant."""
    evaluator.compile(1, AXPB.variant(axpb(body), evaluator.target))
    events = evaluator.events(None)
    assert [type(event) for event in events] == [Compiled]
    evaluator.measure(1)
    found: list[Measured] = []
    while not found:
        found = [event for event in evaluator.events(None) if isinstance(event, Measured)]
    failure = found[0].failure
    return (failure.status, failure.message) if failure else (Status.OK, "")


def test_a_slow_reference_delays_the_proof_alone_and_then_judges(tmp_path: Path, cache: Path) -> None:
    said: list[str] = []
    with opened(tmp_path, cache) as (evaluator, gate):
        assert judged(evaluator, AXPB_BODY)[0] is Status.OK
        assert judged(evaluator, SLIGHTLY)[0] is Status.OK, "the reference might accept it: it may not be refused yet"
        assert judged(evaluator, BADLY)[0] is Status.WRONG
        stop_at = time.monotonic() + 60.0
        evaluator.settle(said.append, lambda: bool(said) or time.monotonic() > stop_at)
        assert said and said[0].startswith("waiting for reference.py:axpb at N=4096")
        gate.touch()
        assert evaluator.settle() == ""
        status, message = judged(evaluator, SLIGHTLY)
        assert status is Status.WRONG and "wrong at N=4096" in message
        slight, right = (AXPB.variant(axpb(body) + "\n", evaluator.target) for body in (SLIGHTLY, AXPB_BODY))
        refused, proven = evaluator.compare(
            AXPB.variant(AXPB.good, evaluator.target), [slight, right], 1, lambda done, of: None
        )
        assert not refused.verified and "N=4096" in refused.message
        assert proven.verified and "reference" not in proven.note


def test_a_kernel_that_is_wrong_at_the_tuned_size_alone_stops_the_campaign(tmp_path: Path, cache: Path) -> None:
    with opened(tmp_path, cache, then="return 1.6 * inputs['A'] + inputs['B']") as (evaluator, gate):
        assert judged(evaluator, AXPB_BODY)[0] is Status.OK
        gate.touch()
        with pytest.raises(EvaluatorError, match=r"does not match the reference, wrong at N=4096.*mend one of them"):
            evaluator.compare(AXPB.variant(AXPB.good, evaluator.target), [], 1, lambda done, of: None)


def test_so_does_one_whose_reference_is_fast(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "gate").touch()
    with (
        pytest.raises(EvaluatorError, match=r"does not match the reference, wrong at N=4096.*mend one of them"),
        opened(tmp_path, cache, then="return 1.6 * inputs['A'] + inputs['B']"),
    ):
        pass


def test_a_reference_that_fails_at_the_tuned_size_stops_the_campaign(tmp_path: Path, cache: Path) -> None:
    with opened(tmp_path, cache, then="raise ValueError('too large')") as (evaluator, gate):
        gate.touch()
        with pytest.raises(EvaluatorError, match=r"reference.py:axpb at N=4096: raised ValueError: too large \(line 6"):
            evaluator.settle()


def test_without_an_answer_in_time_the_proof_says_so(tmp_path: Path, cache: Path) -> None:
    with opened(tmp_path, cache, reference_timeout_s=3.0) as (evaluator, _):
        slight, right = (AXPB.variant(axpb(body) + "\n", evaluator.target) for body in (SLIGHTLY, AXPB_BODY))
        refused, proven = evaluator.compare(
            AXPB.variant(AXPB.good, evaluator.target), [slight, right], 1, lambda done, of: None
        )
    assert not refused.verified
    assert proven.verified and "reference not computed at N=4096 (reference.py:axpb gave no answer" in proven.note
    assert "agrees with the reference at N=512; N=1009; N=17" in proven.note


def test_killed_processes_are_made_up_for_or_named(tmp_path: Path, cache: Path) -> None:
    with opened(tmp_path, cache) as (evaluator, gate):
        assert evaluator.worker_pid is not None
        os.kill(evaluator.worker_pid, signal.SIGKILL)
        assert judged(evaluator, AXPB_BODY)[0] is Status.OK
        gate.touch()
        assert evaluator.settle() == ""
    gate.unlink()
    with opened(tmp_path, cache) as (evaluator, _):
        (child,) = children("evaluator.beside_child")
        os.kill(child, signal.SIGKILL)
        assert "its process died of SIGKILL" in evaluator.settle()


def children(module: str) -> list[int]:
    """Processes of this one that run a module."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and module in (folder / "cmdline").read_text().split("\0"):
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended meanwhile
    return found

"""The judge of a size: what it may refuse while the reference is awaited, and that processes agree on its files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.correctness import judge
from evaluator.drawing import Streams, drawn
from evaluator.session_inputs import session_inputs
from evaluator.standing import Oracle, Standing
from evaluator.store import give_up_answer, load_answer, load_oracle, save_answer, save_oracle
from evaluator.tolerance import Expected, bound_for, root_mean_square
from evaluator.turn import Turn
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role, Tolerance

N = SizeExpr("N")
SIZE = ProblemSize((("N", 3_000_000),))
ARGS = (ArgSpec("x", "float32", Role.IN, (N,)), ArgSpec("y", "float32", Role.OUT, (N,)))
SPEC = KernelSpec("k", "", "k", ARGS, LaunchSpec((64, 1, 1), domain=(N,)), (SIZE,))
FACTOR = 4.0


@given(
    right=st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=4, max_size=40),
    own=st.floats(0.0, 0.999), seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_nothing_is_refused_early_that_the_reference_would_accept(right: list[float], own: float, seed: int) -> None:
    """Whatever baseline passes, and whatever variant passes after it, that variant passed against the baseline."""
    rng = np.random.default_rng(seed)
    values = np.asarray(right)
    settled = oracle_of(values, own, Standing.SETTLED)
    baseline = off_by(own, values, settled, rng)
    variant = off_by(0.999 * settled.allowed(own, FACTOR), values, settled, rng)
    assert error_of(variant, settled) <= settled.allowed(own, FACTOR)
    early = oracle_of(baseline, 0.0, Standing.AWAITED)
    assert error_of(variant, early) <= early.allowed(0.0, FACTOR)


def oracle_of(values: np.ndarray, own: float, standing: Standing) -> Oracle:
    return Oracle(({"y": Expected(values, None, values.shape)},), (own,), standing=standing)


def off_by(error: float, values: np.ndarray, oracle: Oracle, rng: np.random.Generator) -> np.ndarray:
    """Values that are off by an error, as the judge counts it."""
    direction = rng.normal(size=values.size) * (1e-3 + np.abs(values))
    return values + error / error_of(values + direction, oracle) * direction


def error_of(output: np.ndarray, oracle: Oracle) -> float:
    expected = oracle.expected[0]["y"]
    bound = bound_for(Tolerance(rtol=1e-3, atol=1e-2), "float64", expected)
    return judge("y", output, expected, bound, None, np.inf, "N").error


def test_an_oracle_comes_back_from_disk_with_its_standing(tmp_path: Path) -> None:
    values = np.linspace(0.0, 1.0, 3_000_000, dtype=np.float32)
    written = values > 0.5
    oracle = Oracle(({"y": Expected(values, written, (values.size,))},), (0.0,), standing=Standing.AWAITED)
    save_oracle(tmp_path, SPEC, SIZE, oracle)
    found = load_oracle(tmp_path, SPEC, SIZE)
    assert found.standing is Standing.AWAITED
    np.testing.assert_array_equal(found.expected[0]["y"].values, values)
    np.testing.assert_array_equal(found.expected[0]["y"].written, written)
    assert found.expected[0]["y"].scale == pytest.approx(float(np.sqrt(np.mean(values.astype(float) ** 2))))
    give_up_answer(tmp_path, SPEC, SIZE)
    assert load_oracle(tmp_path, SPEC, SIZE).standing is Standing.MISSING
    assert load_answer(tmp_path, SPEC, SIZE, 0) is None
    save_answer(tmp_path, SPEC, SIZE, 0, {"y": values.astype(float)})
    answer = load_answer(tmp_path, SPEC, SIZE, 0)
    assert answer is not None
    settled = Oracle(({"y": Expected(answer["y"], written, (values.size,))},), (0.25,), answered=True)
    save_oracle(tmp_path, SPEC, SIZE, settled)
    found = load_oracle(tmp_path, SPEC, SIZE)
    assert (found.standing, found.errors) == (Standing.SETTLED, (0.25,))
    assert found.expected[0]["y"].values.dtype == np.float64


def test_inputs_are_drawn_once_a_session_and_the_same_whoever_draws(tmp_path: Path) -> None:
    def never(*_: object) -> np.ndarray:
        raise AssertionError("there is no generator here")

    first, again, other = (
        session_inputs(tmp_path / folder, SPEC, SIZE, 5, which, True, 0, never)["x"]
        for folder, which in (("a", 0), ("b", 0), ("a", 1))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    for file in (tmp_path / "a").rglob("0-x.npy"):
        np.save(file, np.zeros(3, np.float32))
    assert session_inputs(tmp_path / "a", SPEC, SIZE, 5, 0, True, 0, never)["x"].shape == (3,), "it was drawn again"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "uint64"])
@pytest.mark.parametrize("kind", ["uniform", "normal", "wide", "integers"])
def test_draws_keep_their_promises_in_every_block(kind: str, dtype: str) -> None:
    bounds = {"uniform": {"low": 2.0, "high": 5.0}, "normal": {"mean": 20.0, "std": 2.0},
              "wide": {"low": 1.0, "high": 100.0}, "integers": {"low": 1.0, "high": 100.0}}  # fmt: skip
    count = (1 << 20) + 1000 if dtype == "float32" else 5000
    values = drawn(kind, dtype, count, bounds[kind], Streams(1, 0, "N=1", "a"))
    assert values.dtype == dtype and values.size == count
    wide = values.astype(np.float64)
    match kind:
        case "uniform":
            assert wide.min() >= 2.0 and wide.max() < 5.0
        case "normal":
            assert abs(wide.mean() - 20.0) < 0.3 and abs(wide.std() - 2.0) < 0.3
        case "wide":
            assert np.abs(wide).min() >= 0.99 and np.abs(wide).max() <= 101.0
        case "integers":
            assert set(np.unique(wide)) == set(range(1, 100))
    if count > 1 << 20:
        assert not np.array_equal(values[:1000], values[1 << 20 :]), "blocks repeat"


@given(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), max_size=50))
def test_the_scale_of_an_array_counts_its_finite_values(values: list[float]) -> None:
    array = np.asarray(values, np.float32)
    finite = array[np.isfinite(array)].astype(np.float64)
    right = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    assert root_mean_square(array) == pytest.approx(right)


def test_a_reference_in_the_background_is_stopped_with_all_it_started_while_somebody_times(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, time; from pathlib import Path; from evaluator.turn import Turn\n"
        f"with Turn(Path({str(tmp_path)!r}), True).background():\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "    print(child.pid, flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as leader:
        assert leader.stdout is not None
        pids = [leader.pid, int(leader.stdout.readline())]
        started = time.monotonic()
        with Turn(tmp_path, True).timing():
            assert time.monotonic() - started < 30.0, "a timer does not wait for a reference"
            assert all(comes_to("T", pid) for pid in pids)
        assert all(comes_to("S", pid) for pid in pids)
        os.killpg(leader.pid, signal.SIGSTOP)  # as a timer leaves it that is killed
        assert all(comes_to("T", pid) for pid in pids)
        Turn(tmp_path, True).wake()
        assert all(comes_to("S", pid) for pid in pids)
        for pid in pids:
            subprocess.run(["kill", "-9", str(pid)], check=True)


def comes_to(state: str, pid: int) -> bool:
    """Signals are delivered a moment later."""
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == state:
            return True
        time.sleep(0.01)
    return False

"""References and checkers in their own process, and what is said when they are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluator.api import EvaluatorError
from evaluator.oracle import Reference, ReferenceProcess, normalise, widen
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role

N = SizeExpr("N")
ARGS = (
    ArgSpec("x", "float32", Role.IN, (N,)),
    ArgSpec("y", "float32", Role.OUT, (N,)),
    ArgSpec("count", "int32", Role.OUT, (SizeExpr("1"),)),
)
SIZE = ProblemSize((("N", 3),))
SPEC = KernelSpec("k", "", "k", ARGS, LaunchSpec((64, 1, 1), domain=(N,)), (SIZE,))
INPUTS = {"x": np.array([1.0, 2.0, 3.0])}
SOURCE = """import sys, time
import numpy as np
def both(inputs, sizes): return {"y": inputs["x"] * sizes["N"], "count": np.array([sizes["N"]])}
def pair(inputs, sizes): return inputs["x"], np.array([7])
def raises(inputs, sizes):
    return inputs["z"]
def hangs(inputs, sizes): time.sleep(60)
def leaves(inputs, sizes): sys.exit(3)
def dies(inputs, sizes):
    import os
    os.kill(os.getpid(), 9)
def yes(inputs, outputs, sizes): return bool((outputs["y"] == inputs["x"]).all())
def complains(inputs, outputs, sizes): return "y must grow"
def odd(inputs, outputs, sizes): return 3
def prints(inputs, sizes):
    print("hello")
    return both(inputs, sizes)
number = 5
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "reference.py").write_text(SOURCE)
    return tmp_path / "reference.py"


def outputs(path: Path, function: str, timeout_s: float = 10.0) -> dict[str, np.ndarray]:
    process = ReferenceProcess(Reference(str(path), function), path.parent / "log", timeout_s)
    try:
        return process.outputs(SPEC, SIZE, INPUTS)
    finally:
        process.close()


@pytest.mark.parametrize("function", ["both", "prints"])
def test_a_dict_by_names(path: Path, function: str) -> None:
    found = outputs(path, function)
    np.testing.assert_array_equal(found["y"], [3.0, 6.0, 9.0])
    assert found["count"].dtype == np.int32 and found["count"][0] == 3


def test_a_tuple_in_order(path: Path) -> None:
    assert outputs(path, "pair")["count"][0] == 7


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("raises", r"reference.py:raises at N=3: raised KeyError: 'z' \(line 6\)"),
        ("leaves", "raised SystemExit: 3"),
        ("dies", "SIGKILL"),
        ("missing", "raised AttributeError"),
        ("number", "number is not a function"),
    ],
)
def test_failures_are_told(path: Path, function: str, words: str) -> None:
    with pytest.raises(EvaluatorError, match=words):
        outputs(path, function)


def test_a_hanging_reference_is_killed(path: Path) -> None:
    with pytest.raises(EvaluatorError, match="no answer within 1 s"):
        outputs(path, "hangs", 1.0)


def test_a_file_that_does_not_parse(tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text("def f(:")
    with pytest.raises(EvaluatorError, match="SyntaxError"):
        outputs(tmp_path / "reference.py", "f")
    with pytest.raises(EvaluatorError, match="FileNotFoundError"):
        outputs(tmp_path / "absent.py", "f")


def test_checkers(path: Path) -> None:
    def ask(function: str, y: np.ndarray) -> str:
        process = ReferenceProcess(Reference(str(path), function, "checker"), path.parent / "log", 10.0)
        try:
            return process.check(SIZE, INPUTS, {"y": y})
        finally:
            process.close()

    assert ask("yes", INPUTS["x"]) == ""
    assert "says no" in ask("yes", INPUTS["x"] + 1)
    assert ask("complains", INPUTS["x"]) == "y must grow"
    with pytest.raises(EvaluatorError, match="returned int"):
        ask("odd", INPUTS["x"])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros(3), "returned 1 arrays; the outputs are y, count"),
        (None, "returned nothing"),
        ("y", "returned text"),
        ({"y": np.zeros(3)}, "did not return 'count'"),
        ({"y": np.zeros(3), "count": np.zeros(1), "z": 0}, "'z', which is no output"),
        ((np.zeros(4), np.zeros(1)), r"'y' with shape \(4,\) at N=3; the campaign says \(3,\)"),
        ((np.array(["a"] * 3), np.zeros(1)), "expected real numbers"),
    ],
)
def test_wrong_forms(value: object, words: str) -> None:
    with pytest.raises(EvaluatorError, match=words):
        normalise(SPEC, SIZE, value, "reference.py:f")


def test_references_see_wide_types() -> None:
    found = widen({"a": np.zeros(2, np.float16), "b": np.zeros(2, np.int8), "c": np.zeros(2, np.uint64)})
    assert [array.dtype for array in found.values()] == [np.float64, np.int64, np.uint64]

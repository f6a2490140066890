"""The comparison with the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from evaluator.correctness import POISONS, Verdict, judge, poisoned
from evaluator.result import Status
from evaluator.tolerance import Bound, Expected, bound_for
from genome.spec import Tolerance

RNG = np.random.default_rng(5)
VALUES = RNG.normal(size=(30, 20)).reshape(-1)
BOUND = bound_for(Tolerance(), "float32", VALUES)


def verdict(
    output: np.ndarray, written: np.ndarray | None = None, poison: int | None = POISONS[0], allowed: float = 1.0
) -> Verdict:
    return judge("C", output, Expected(VALUES, written, (30, 20)), BOUND, poison, allowed, "N=30")


def test_rounding_passes() -> None:
    found = verdict(VALUES.astype(np.float32))
    assert found.status is Status.OK and 0.0 < found.error < 0.1


def test_one_wrong_element_is_named() -> None:
    output = VALUES.astype(np.float32)
    output[45] += 1.0
    found = verdict(output)
    assert found.status is Status.WRONG
    assert found.message.startswith("wrong at N=30: 1 of 600 elements of C differ, worst C[2,5] = ")
    assert found.error > 100.0


def test_lost_precision_everywhere_is_seen_by_the_norm() -> None:
    half = VALUES.astype(np.float16).astype(np.float32)
    loose = Bound(1e-2, 1e-2, BOUND.norm)
    found = judge("C", half, Expected(VALUES, None, (600,)), loose, None, 1.0, "N=30")
    assert found.status is Status.WRONG and "lost precision" in found.message


def test_a_larger_error_of_the_baseline_is_allowed() -> None:
    output = (VALUES * (1 + 9e-5)).astype(np.float32)
    assert verdict(output).status is Status.WRONG
    assert verdict(output, allowed=4.0).status is Status.OK


@pytest.mark.parametrize("poison", POISONS)
def test_unwritten_elements(poison: int) -> None:
    output = VALUES.astype(np.float32)
    output.view(np.uint8).reshape(600, 4)[100:150] = poison
    found = verdict(output, poison=poison)
    assert found.status is Status.UNWRITTEN
    assert "50 of 600 elements of C" in found.message and "C[5,0]" in found.message


def test_elements_that_the_baseline_leaves_alone() -> None:
    written = np.ones(600, bool)
    written[:20] = False
    output = VALUES.astype(np.float32)
    output.view(np.uint8).reshape(600, 4)[:20] = POISONS[0]
    assert verdict(output, written).status is Status.OK
    output[3] = 0.0
    found = verdict(output, written)
    assert found.status is Status.STRAY_WRITE and "C[0,3]" in found.message


def test_nan_and_infinity_must_match() -> None:
    values = np.array([1.0, np.nan, np.inf, -np.inf])
    bound = bound_for(Tolerance(), "float32", values)
    expected = Expected(values, None, (4,))
    right = values.astype(np.float32)
    assert judge("C", right, expected, bound, None, 1.0, "").status is Status.OK
    for place, wrong in ((0, np.nan), (0, np.inf), (1, 0.0), (2, -np.inf), (3, 1.0)):
        output = right.copy()
        output[place] = wrong
        assert judge("C", output, expected, bound, None, 1.0, "").status is Status.WRONG


def test_integers_are_exact() -> None:
    values = np.arange(10, dtype=np.int32)
    bound = bound_for(Tolerance(rtol=0.5), "int32", values)
    expected = Expected(values, None, (10,))
    assert judge("h", values.copy(), expected, bound, 0xFF, 1.0, "").status is Status.OK
    output = values.copy()
    output[9] = 8
    found = judge("h", output, expected, bound, 0xFF, 1.0, "n=10")
    assert found.status is Status.WRONG and "h[9] = 8, expected 9 (exact)" in found.message


def test_a_small_integer_equal_to_the_poison_is_not_unwritten() -> None:
    values = np.full(4, -1, np.int8)
    expected = Expected(values, None, (4,))
    assert judge("h", values.copy(), expected, Bound(0, 0, 0), 0xFF, 1.0, "").status is Status.OK
    assert poisoned(values, 0xFF).all()


def test_tolerances_of_a_campaign() -> None:
    assert bound_for(Tolerance(rtol=1e-3, atol=1e-4), "float32", VALUES) == Bound(1e-3, 1e-4, 1e-3, 1e-4)
    assert bound_for(Tolerance(norm=1e-3), "float32", VALUES).norm == 1e-3
    scale = float(np.sqrt(np.mean(VALUES**2)))
    assert bound_for(Tolerance(), "float32", VALUES).atol == pytest.approx(1e-4 * scale)
    assert bound_for(Tolerance(), "float64", VALUES).rtol == 1e-10


def test_float32_sums_of_many_terms_pass_and_half_sums_do_not() -> None:
    a, b = RNG.uniform(-1, 1, (2, 64, 4096))
    exact = np.einsum("ik,ik->i", a, b)
    single = np.zeros(64, np.float32)
    half = np.zeros(64, np.float16)
    for k in range(4096):
        single += a[:, k].astype(np.float32) * b[:, k].astype(np.float32)
        half += (a[:, k] * b[:, k]).astype(np.float16)
    bound = bound_for(Tolerance(), "float32", exact)
    rounded = np.einsum("ik,ik->i", a.astype(np.float32), b.astype(np.float32), dtype=np.float64)
    expected = Expected(rounded, None, (64,))
    assert judge("y", single, expected, bound, None, 1.0, "").status is Status.OK
    assert judge("y", half.astype(np.float32), expected, bound, None, 1.0, "").status is Status.WRONG

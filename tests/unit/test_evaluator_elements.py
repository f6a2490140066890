"""16-bit floats on the host: rounding, inputs, files, scalars and tolerances, against all 65536 values of a type."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.api import EvaluatorError
from evaluator.correctness import POISONS, judge, poisoned
from evaluator.elements import device_scalar, largest, next_towards, packed, rounded, unpacked
from evaluator.inputs import EXTREME, make_inputs
from evaluator.oracle import widen
from evaluator.plan import bind, scalar_value
from evaluator.result import Status
from evaluator.tolerance import Expected, bound_for
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Initialiser, KernelSpec, LaunchSpec, ProblemSize, Role, Tolerance
from genome.variant import GridAxis, Launch, Target, Variant
from tests.contract.halves import BFLOAT16, HALF, Format

SIZE = ProblemSize((("N", 2000),))
N = SizeExpr("N")
BOTH = pytest.mark.parametrize(("dtype", "kind"), [("bfloat16", BFLOAT16), ("float16", HALF)])


def spec_with(*args: ArgSpec) -> KernelSpec:
    return KernelSpec("k", "", "k", args, LaunchSpec((64, 1, 1), domain=(N,)), (SIZE,))


def filled(dtype: str, init: Initialiser, which: int = 0, exponent: int = 0) -> np.ndarray:
    spec = spec_with(ArgSpec("a", dtype, Role.IN, (N,), init=init))
    return make_inputs(spec, SIZE, 3, which, exponent=exponent)["a"].astype(np.float64)


def hard_numbers(kind: Format) -> np.ndarray:
    """Values, midpoints between neighbours, the numbers next to those in float64 and float32, and any others."""
    rng = np.random.default_rng(2)
    grid = kind.values[: 1 << 15]
    at = rng.integers(0, np.flatnonzero(np.isfinite(grid))[-1], 150)
    ties = (grid[at] + grid[at + 1]) / 2.0
    single = ties.astype(np.float32)
    near = [np.nextafter(ties, 0.0), np.nextafter(ties, np.inf), np.nextafter(single, np.float32(0)).astype(float)]
    beyond = [largest("bfloat16" if kind is BFLOAT16 else "float16") * np.array([1.0, 1.001, 1.01, 4.0])]
    return np.concatenate([grid[at], ties, *near, *beyond, rng.normal(size=100), [0.0, np.inf, 1e-45, 1e-320]])


@BOTH
def test_numbers_round_once_to_the_nearest_value(dtype: str, kind: Format) -> None:
    numbers = hard_numbers(kind)
    numbers = np.concatenate([numbers, -numbers])
    wanted = np.array([kind.nearest(float(x)) for x in numbers])
    np.testing.assert_array_equal(rounded(numbers, dtype).astype(float), wanted)
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32)
    wanted = np.array([kind.nearest(float(x)) for x in single])
    np.testing.assert_array_equal(rounded(single, dtype).astype(float), wanted)
    assert np.isnan(rounded(np.array([np.nan]), dtype)).all()


@BOTH
def test_every_value_goes_to_the_device_and_back(dtype: str, kind: Format) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    held = unpacked(bits.view(np.uint8), dtype)
    with np.errstate(invalid="ignore"):  # some patterns are signalling NaNs
        np.testing.assert_array_equal(held.astype(float), kind.values)
    np.testing.assert_array_equal(packed(held, dtype).view(np.uint16), bits)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(rounded(held, dtype).astype(float), kind.values)
    for at in (0, 1, 77, 0x3C00, 0x3F80):
        assert next_towards(kind.values[at], np.inf, dtype) == kind.values[at + 1]
        assert next_towards(-kind.values[at + 1], 0.0, dtype) == -kind.values[at]


@BOTH
@pytest.mark.parametrize(
    "init",
    [
        Initialiser(), Initialiser("uniform", (("low", 0.5), ("high", 1.0))), Initialiser("normal"),
        Initialiser("wide"), Initialiser("integers"), Initialiser("monotone"), Initialiser("permutation"),
        Initialiser("arange"), Initialiser("constant", (("value", 0.1),)), Initialiser("zeros"),
    ],
    ids=lambda init: init.kind,
)  # fmt: skip
def test_inputs_of_every_kind_are_finite_values_of_the_type(dtype: str, kind: Format, init: Initialiser) -> None:
    known = kind.values[np.isfinite(kind.values)]
    sets = [filled(dtype, init), filled(dtype, init, which=1), filled(dtype, init, EXTREME, 2)]
    for values in sets:
        assert np.isin(values, known).all()
    if init.kind not in ("permutation", "arange", "monotone"):
        assert init.kind == "integers" or not np.array_equal(sets[0], sets[1])
    if init.kind == "uniform":
        low, high = (dict(init.params).get(name, bound) for name, bound in (("low", -1.0), ("high", 1.0)))
        assert all(values.min() >= low and values.max() < high for values in sets[:2])
        assert not init.params or (sets[2].min() >= low and sets[2].max() <= high)
    if init.kind == "constant":
        assert set(sets[0]) == {kind.nearest(0.1)}


def test_files_of_bfloat16(tmp_path: Path) -> None:
    """Floats are rounded; uint16, and the two bytes that ml_dtypes saves, are bits."""
    numbers = np.linspace(-3.0, 3.0, 2000)
    wanted = rounded(numbers, "bfloat16")
    bits = packed(wanted, "bfloat16").view(np.uint16)
    np.savez(tmp_path / "a.npz", a=bits)
    for name, array in (("double", numbers), ("bits", bits), ("ml_dtypes", bits.view("V2"))):
        np.save(tmp_path / f"{name}.npy", array)
    for name in ("double.npy", "bits.npy", "ml_dtypes.npy", "a.npz"):
        np.testing.assert_array_equal(filled("bfloat16", Initialiser("file", path=str(tmp_path / name))), wanted)
    with pytest.raises(EvaluatorError, match="expected real numbers"):
        filled("float16", Initialiser("file", path=str(tmp_path / "ml_dtypes.npy")))


@BOTH
def test_scalars_are_rounded_and_passed_as_they_are_stored(dtype: str, kind: Format) -> None:
    arg = ArgSpec("s", dtype, value=0.3)
    value = scalar_value(arg, {})
    assert float(value) == kind.nearest(0.3)
    assert widen({"s": np.asarray(value)})["s"] == kind.nearest(0.3)
    axis = GridAxis(SizeExpr("1"))
    variant = Variant("k", Target.CUDA, "", (Launch("k", (axis, axis, axis), (64, 1, 1), ("s",)),))
    (passed,) = bind(spec_with(arg), variant, SIZE).launches[0].args
    assert isinstance(passed, np.generic)
    assert kind.values[np.asarray(passed).view(np.uint16)] == kind.nearest(0.3)
    assert np.asarray(device_scalar(value, dtype)).nbytes == 2
    with pytest.raises(EvaluatorError, match="beyond"):
        scalar_value(replace(arg, value=1e39), {})


@BOTH
@pytest.mark.parametrize("byte", POISONS)
def test_unwritten_elements_are_seen_by_their_bits(dtype: str, kind: Format, byte: int) -> None:
    held = np.full(20, byte, np.uint8)
    held[4:6] = packed(rounded(np.array([1.0]), dtype), dtype)
    output = unpacked(held, dtype)
    assert list(np.flatnonzero(~poisoned(output, byte, dtype))) == [2]
    expected = Expected(np.ones(10), None, (10,), None, dtype)
    found = judge("y", output, expected, bound_for(Tolerance(), dtype, expected), byte, 1.0, "N")
    assert found.status is Status.UNWRITTEN and "9 of 10" in found.message
    written = np.arange(10) == 2
    expected = replace(expected, written=written)
    assert judge("y", output, expected, bound_for(Tolerance(), dtype, expected), byte, 1.0, "N").status is Status.OK


@BOTH
def test_default_tolerances_take_a_few_roundings_and_no_more(dtype: str, kind: Format) -> None:
    """A scaled residual rounded at every step is right; one with two bits less is not, nor is a lost term."""
    rng = np.random.default_rng(4)
    x, r = (np.array([kind.nearest(float(v)) for v in rng.normal(size=400)]) for _ in range(2))
    exact = Expected(x * 0.7 + r, None, (400,), None, dtype)
    bound = bound_for(Tolerance(), dtype, exact)

    def status(values: np.ndarray) -> Status:
        return judge("y", rounded(values, dtype), exact, bound, None, 1.0, "N").status

    steps = np.array(
        [kind.nearest(kind.nearest(float(v) * kind.nearest(0.7)) + float(w)) for v, w in zip(x, r, strict=True)]
    )
    assert status(steps) is Status.OK
    coarse = Format("", "", "", kind.exponent, kind.mantissa - 3)
    grid = coarse.values[: 1 << 15]
    grid = np.sort(grid[np.isfinite(grid)])
    cut = np.sign(steps) * grid[np.searchsorted(grid, np.abs(steps), side="right") - 1]
    assert status(cut) is Status.WRONG
    assert status(steps - 0.02 * x) is Status.WRONG

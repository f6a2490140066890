"""Seeded inputs, bound scalars and calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.api import EvaluatorError
from evaluator.fillings import perturbed, tiers
from evaluator.inputs import EXTREME, fixed_inputs, make_inputs
from evaluator.plan import argument_bytes, bind, compulsory_bytes, over_limits, scalar_value, static_problem, tighter
from genome.limits import DeviceLimits
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Initialiser, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.variant import GridAxis, Guard, Launch, Memset, Scratch, Target, Variant

SIZE = ProblemSize((("N", 1000),))
N = SizeExpr("N")


def spec_with(*args: ArgSpec) -> KernelSpec:
    return KernelSpec("k", "", "k", args, LaunchSpec((64, 1, 1), domain=(N,)), (SIZE,))


def filled(kind: str, dtype: str = "float32", **params: float) -> np.ndarray:
    arg = ArgSpec("a", dtype, Role.IN, (N,), init=Initialiser(kind, tuple(sorted(params.items()))))
    return make_inputs(spec_with(arg), SIZE, 3, 0)["a"]


def test_the_same_seed_gives_the_same_values_and_another_set_gives_others() -> None:
    arg = ArgSpec("a", "float32", Role.IN, (N,))
    spec = spec_with(arg, replace(arg, name="b"))
    first, again, second = (make_inputs(spec, SIZE, 3, which) for which in (0, 0, 1))
    np.testing.assert_array_equal(first["a"], again["a"])
    assert not np.array_equal(first["a"], second["a"])
    assert not np.array_equal(first["a"], first["b"])
    assert not np.array_equal(first["a"], make_inputs(spec, SIZE, 4, 0)["a"])


def test_initialisers() -> None:
    uniform = filled("uniform", low=2, high=5)
    assert uniform.dtype == np.float32 and uniform.min() >= 2 and uniform.max() < 5
    assert abs(filled("normal", mean=10, std=2).mean() - 10) < 0.5
    integers = filled("integers", "int32", low=-3, high=4)
    assert set(np.unique(integers)) == set(range(-3, 4))
    assert (filled("constant", value=2.5) == 2.5).all()
    assert not filled("zeros").any()
    np.testing.assert_array_equal(filled("arange", "int64"), np.arange(1000))
    np.testing.assert_array_equal(np.sort(filled("permutation", "int32")), np.arange(1000))
    assert (np.diff(filled("monotone")) >= 0).all()


def test_wide_magnitudes_have_both_signs_and_every_decade() -> None:
    wide = filled("wide", low=1e-8, high=1e8)
    assert 350 < np.count_nonzero(wide < 0) < 650
    decades, _ = np.histogram(np.log10(np.abs(wide)), bins=16, range=(-8, 8))
    assert decades.min() > 20
    assert filled("wide", "uint32").min() >= 1


def test_fixed_inputs_differ_between_the_sets_unless_told_otherwise() -> None:
    for kind in ("constant", "zeros", "arange"):
        spec = spec_with(ArgSpec("a", "float32", Role.IN, (N,), init=Initialiser(kind, (("value", 3.0),))))
        first, second, same = (make_inputs(spec, SIZE, 3, which, perturb=on)["a"]
                               for which, on in ((0, True), (1, True), (1, False)))  # fmt: skip
        assert not np.array_equal(first, second)
        np.testing.assert_array_equal(first, same)
        assert fixed_inputs(spec) == ("a",)


def test_perturbed_values_stay_in_their_range() -> None:
    rng = np.random.default_rng(1)
    index = np.arange(100, dtype=np.int32)
    assert sorted(perturbed(index, rng)) == list(index)
    flags = perturbed(np.full(100, 7, np.uint8), rng)
    assert set(np.unique(flags)) == {0, 7}
    assert set(np.unique(perturbed(np.zeros(100, np.int64), rng))) == {0, 1}
    scaled = perturbed(np.full(100, -2.0, np.float32), rng)
    assert scaled.min() >= -2.5 and scaled.max() <= -1.5 and np.unique(scaled).size > 90
    assert perturbed(np.zeros(1, np.int32), rng)[0] == 1


def test_extreme_magnitudes_keep_the_promises_of_the_campaign() -> None:
    def extremes(kind: str, **params: float) -> np.ndarray:
        arg = ArgSpec("a", "float32", Role.IN, (N,), init=Initialiser(kind, tuple(params.items())))
        return make_inputs(spec_with(arg), SIZE, 3, EXTREME, exponent=36)["a"].astype(float)

    free = extremes("uniform")
    assert np.abs(free).max() > 1e30 and np.abs(free).min() < 1e-30 and (free < 0).any()
    share = extremes("uniform", low=0.0, high=1.0)
    assert share.min() >= 0.0 and share.max() < 1.0 and share.min() < 1e-30
    mass = extremes("uniform", low=0.5, high=1.5)
    assert mass.min() >= 0.5 and mass.max() <= 1.5
    assert np.abs(extremes("normal", mean=0.0, std=2.0)).max() <= 8.0
    np.testing.assert_array_equal(extremes("monotone"), np.sort(extremes("monotone")))


def test_tiers_of_extreme_magnitudes() -> None:
    assert tiers(("float32",)) == (36, 18, 9, 4)
    assert tiers(("float64", "float16")) == (2, 1)
    assert tiers(("int32",)) == ()


def test_outputs_get_no_input_and_inouts_do() -> None:
    args = (ArgSpec("a", "float32", Role.INOUT, (N,)), ArgSpec("b", "float32", Role.OUT, (N,)))
    assert set(make_inputs(spec_with(*args), SIZE, 0, 0)) == {"a"}


def test_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(1000.0))
    np.savez(tmp_path / "a.npz", a=np.arange(1000.0) + 1)
    arg = ArgSpec("a", "float32", Role.IN, (N,), init=Initialiser("file", path=str(tmp_path / "a.npy")))
    assert make_inputs(spec_with(arg), SIZE, 0, 0)["a"][7] == 7.0
    packed = replace(arg, init=Initialiser("file", path=str(tmp_path / "a.npz")))
    assert make_inputs(spec_with(packed), SIZE, 0, 0)["a"][7] == 8.0
    with pytest.raises(EvaluatorError, match=r"shape \(1000,\), the campaign says \(10,\)"):
        make_inputs(spec_with(arg), ProblemSize((("N", 10),)), 0, 0)
    missing = replace(arg, init=Initialiser("file", path=str(tmp_path / "no.npy")))
    with pytest.raises(EvaluatorError, match="cannot read"):
        make_inputs(spec_with(missing), SIZE, 0, 0)


def test_an_unknown_initialiser_names_the_known_ones() -> None:
    with pytest.raises(EvaluatorError, match="uniform, normal"):
        filled("gaussian")


def test_scalars_are_cast_and_must_fit() -> None:
    assert scalar_value(ArgSpec("n", "int32", value=SizeExpr("N // 3")), SIZE.env) == np.int32(333)
    assert scalar_value(ArgSpec("s", "float32", value=0.1), {}) == np.float32(0.1)
    with pytest.raises(EvaluatorError, match="'n'"):
        scalar_value(ArgSpec("n", "int8", value=SizeExpr("N")), SIZE.env)
    with pytest.raises(EvaluatorError, match="does not fit int32"):
        scalar_value(ArgSpec("n", "int32", value=0.5), {})
    with pytest.raises(EvaluatorError, match="no value"):
        scalar_value(ArgSpec("n", "int32"), {})


def variant_of(block: tuple[int, int, int] = (64, 1, 1), args: tuple[str, ...] = ("a", "t", "n")) -> Variant:
    axis, one = GridAxis(N, 64), GridAxis(SizeExpr("1"))
    steps = (Memset("t"), Launch("k", (axis, one, one), block, args, SizeExpr("4 * N")))
    scratch = (Scratch("t", "float64", SizeExpr("2 * N")),)
    return Variant("k", Target.OPENCL, "", steps, scratch, Guard((SizeExpr("N >= 10"),), (("a", 32),)))


SPEC = spec_with(ArgSpec("a", "float32", Role.INOUT, (N,)), ArgSpec("n", "int32", value=N))


def test_binding_a_variant() -> None:
    call = bind(SPEC, variant_of(), SIZE)
    (launch,) = call.launches
    assert launch.grid == (16, 1, 1) and launch.args == ("a", "t", np.int32(1000)) and launch.shared_bytes == 4000
    assert call.buffers == {"a": 4000} and call.scratch == {"t": 16000} and call.alignments["a"] == 32
    assert argument_bytes(SPEC, SIZE) == {"a": 4000} and compulsory_bytes(SPEC, SIZE) == 8000.0


def test_an_unknown_argument_is_an_error() -> None:
    with pytest.raises(EvaluatorError, match="'b', which is no argument"):
        bind(SPEC, variant_of(args=("b",)), SIZE)


def test_limits() -> None:
    call = bind(SPEC, variant_of((512, 4, 1)), SIZE)
    assert "2048 threads" in over_limits(call, DeviceLimits())
    assert "along y" in over_limits(bind(SPEC, variant_of((1, 4, 1)), SIZE), DeviceLimits(max_block=(64, 2, 2)))
    assert "16 blocks" in over_limits(bind(SPEC, variant_of(), SIZE), DeviceLimits(max_grid=(15, 1, 1)))
    assert "4000 bytes" in over_limits(bind(SPEC, variant_of(), SIZE), DeviceLimits(shared_bytes=3999))
    assert over_limits(bind(SPEC, variant_of(), SIZE), DeviceLimits()) == ""
    assert "N=1000" in static_problem(SPEC, variant_of((512, 4, 1)), DeviceLimits())
    small = replace(SPEC, sizes=(ProblemSize((("N", 9),)),))  # the guard fails: the baseline runs there
    assert static_problem(small, variant_of((512, 4, 1)), DeviceLimits()) == ""


def test_a_campaign_can_only_tighten_limits() -> None:
    device = DeviceLimits(max_threads=1024, registers=0)
    merged = tighter(device, DeviceLimits(max_threads=256, shared_bytes=2**31 - 1))
    assert merged.max_threads == 256 and merged.shared_bytes == device.shared_bytes and merged.registers == 0
    assert tighter(device, None) is device

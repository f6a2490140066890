"""Downgraded precision: sums in half, inputs cut to half, hidden in a result of full width."""

from __future__ import annotations

from evaluator.result import Status
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Role, Tolerance
from tests.adversarial.arena import Bout, N, Ring, array, bout

TERMS = SizeExpr("256")
HEAD = (
    "KERNEL void dots(GLOBAL const float *A, GLOBAL const float *x, GLOBAL float *y, int N) { int i = GID; if (i < N) "
)
SUM = "{{ float s = 0.0f; for (int k = 0; k < 256; k++) {{ {step} }} y[i] = s; }} }}"
HALF = "FLOAT((BITS({0}) + 0x1000u) & 0xffffe000u)"  # 11 bits of significand, as half has
REFERENCE = """def dots(inputs, sizes):
    return inputs["A"] @ inputs["x"]
"""


def dots(tolerance: Tolerance) -> Bout:
    args = (ArgSpec("A", "float32", Role.IN, (N, TERMS)), ArgSpec("x", "float32", Role.IN, (TERMS,)))
    return bout(
        "dots", (*args, array("y", Role.OUT)), HEAD + SUM.format(step="s += A[i * 256 + k] * x[k];"),
        tuned=(256,), checks=(96, 61, 8), reference=REFERENCE, tolerance=tolerance,
    )  # fmt: skip


def test_a_sum_in_half(ring: Ring) -> None:
    """Single elements are granted much, because terms cancel; the error as a whole is not."""
    step = f"s = {HALF.format('s + A[i * 256 + k] * x[k]')};"
    refused = ring.both(dots(Tolerance(rtol=5e-2, norm=5e-5)), HEAD + SUM.format(step=step), "norm")
    assert refused.status is Status.WRONG
    assert "of its norm" in refused.message and "lost precision" in refused.message


def test_inputs_cut_to_half(ring: Ring) -> None:
    """A comparison that asks for no dtype accepts a hundredth of error anywhere."""
    step = f"s += {HALF.format('A[i * 256 + k]')} * x[k];"
    refused = ring.both(dots(Tolerance()), HEAD + SUM.format(step=step), "own_tolerance")
    assert refused.status is Status.WRONG
    assert "y" in refused.message and "tolerance" in refused.message

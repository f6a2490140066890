"""What a call at a size promises of its pointers."""

from __future__ import annotations

import pytest

from evaluator.plan import bind
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.variant import GridAxis, Guard, Launch, Target, Variant

N = SizeExpr("N")
SIZE = ProblemSize((("N", 64),))
WIDE = "__global__ void k(const float* a, double* b) { b[0] = reinterpret_cast<const float4*>(a)[0].y; }"
NARROW = "__global__ void k(const float* a, double* b) { b[0] = a[0]; }  // not float42"
AXIS = GridAxis(SizeExpr("1"))


@pytest.mark.parametrize(
    ("source", "granted", "guard", "expected"),
    [
        (WIDE, 4, (), {"a": 4, "b": 8}),
        (WIDE, 1, (), {"a": 4, "b": 8}),
        (WIDE, 16, (), {"a": 16, "b": 16}),
        (WIDE, 16, (("a", 32),), {"a": 32, "b": 16}),
        (WIDE, 64, (("a", 32),), {"a": 64, "b": 64}),
        (NARROW, 64, (), {"a": 4, "b": 8}),
        (NARROW, 64, (("a", 16),), {"a": 16, "b": 8}),
    ],
)
def test_pointers_are_as_aligned_as_anybody_may_expect(
    source: str, granted: int, guard: tuple[tuple[str, int], ...], expected: dict[str, int]
) -> None:
    args = (ArgSpec("a", "float32", Role.IN, (N,)), ArgSpec("b", "float64", Role.OUT, (N,)))
    spec = KernelSpec(
        "k", source, "k", args, LaunchSpec((64, 1, 1)), (SIZE,), assumptions=Assumptions(alignment=granted)
    )
    launch = Launch("k", (AXIS, AXIS, AXIS), (64, 1, 1), ("a", "b"))
    call = bind(spec, Variant("k", Target.CUDA, "", (launch,), guard=Guard((), guard)), SIZE)
    assert call.alignments == expected

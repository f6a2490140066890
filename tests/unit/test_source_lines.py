"""Lines of the sites of a kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genome.ir.stmt import Loop, flatten
from genome.sizes import SizeExpr
from genome.source.frontend import parse_kernel
from genome.source.lines import extent, lines_of
from genome.spec import KernelSpec, LaunchSpec, ProblemSize, Tunable

KERNEL = """#define TILE 4

__global__ void k(const float* x, float* y, int n, int K) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0.0f;
    __FIRST__
    for (int j = 0; j < K; j++) { s += x[i + j] * TILE; }
    y[i] = s;
  }
}
"""


def spec(first: str = "", **changes: object) -> KernelSpec:
    launch = LaunchSpec((32, 1, 1), (SizeExpr("n"),))
    plain = KernelSpec("k", KERNEL.replace("__FIRST__", first), "k", (), launch, (ProblemSize((("n", 64), ("K", 8))),))
    return replace(plain, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("first, lines", [
    ("for (int j = 0; j < K; j++) { if (x[j] > 0.5f) break; s += 1.0f; }", {"j_2": 8, "j_2_outer": 8}),
    ("{ int j = K; s += x[j]; }", {"j_2": 8, "j_2_inner": 8}),
    ("for (int j = 0; j < K; j++) s += x[j];", {"j": 7, "j_2": 8, "j_2_outer": 8, "j_rest_2": 7}),
    ("for (int t = 0; t < TILE; t++) s += x[t];", {"t": 7, "j": 8}),
])  # fmt: skip
def test_a_loop_stands_where_its_site_was_written(first: str, lines: dict[str, int]) -> None:
    """Other declarations of the name, and loops that nothing counts, shift nothing."""
    for label, line in lines.items():
        assert lines_of(spec(first), label) == {line}, label


def test_other_names_stand_on_each_line_that_uses_them() -> None:
    assert lines_of(spec(), "s") == {6, 8, 9}
    assert lines_of(spec(), "instances") == frozenset()
    tunable = spec(tunables=(Tunable("TILE", ("8", "16")),))
    assert lines_of(tunable, "TILE") == {1, 8}
    assert extent(tunable) == (3, 11)


def test_a_line_tells_no_two_loops_apart() -> None:
    loops = [
        next(s for s in flatten(parse_kernel(text, "k").body) if isinstance(s, Loop))
        for text in (spec().source, "\n" + spec().source)
    ]
    assert [loop.line for loop in loops] == [8, 9]
    assert loops[0] == loops[1]
    assert hash(loops[0]) == hash(loops[1])
    assert repr(loops[0]) == repr(loops[1])

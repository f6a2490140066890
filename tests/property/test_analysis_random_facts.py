"""Facts about random kernels against their runs: addresses, strides, agreement of threads, barriers, work, reuse."""

from __future__ import annotations

from hypothesis import assume, given, settings

from tests.interpret.c_values import Undefined, Unsupported
from tests.interpret.kernels import BLOCK, GRID, Taste, kernels
from tests.interpret.trace import OutOfBounds
from tests.interpret.truth import Truth, check_all, kernel_of


@settings(max_examples=30, deadline=None)
@given(kernels(Taste(straight=True)))
def test_random_kernels_do_what_their_facts_say(text: str) -> None:
    kernel = kernel_of(text, "k")
    for n, m in ((3, 2), (5, 1)):
        try:
            truth = Truth(kernel, GRID, BLOCK, {"n": n, "m": m})
        except (OutOfBounds, Undefined, Unsupported):
            assume(False)
        if not truth.trace.diverged:
            check_all(truth)

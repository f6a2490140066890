"""A real race on a GPU: the warps of a block read what another one is still to write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.result import Status
from genome.spec import Role
from tests.adversarial.arena import Ring, array, bout

pytestmark = pytest.mark.gpu

HEAD = "KERNEL void flip(GLOBAL const float *A, GLOBAL float *C, int N) { SHARED float t[1024]; int i = GID; "
TAIL = "if (i < N) C[i] = t[1023 - LID]; }"
FLIP = replace(bout(
    "flip", (array("A"), array("C", Role.OUT)), f"{HEAD} t[LID] = i < N ? A[i] : 0.0f; BARRIER; {TAIL}",
    tuned=(1 << 20,), checks=(4096, 10007, 1000),
), block=1024)  # fmt: skip


def test_warps_that_do_not_wait(ring: Ring, on_gpu: bool) -> None:
    if not on_gpu:
        pytest.skip("a CPU device runs the threads of a block in a fixed order: choose a GPU with --device cuda:0")
    late = "if (LID / 32 % 2) for (int k = 0; k < 200; k++) t[LID] += 1e-30f * k; "
    text = f"{HEAD} t[LID] = i < N ? A[i] : 0.0f; {late} {TAIL}"
    failure = ring.failure(FLIP, FLIP.variant(text, ring.target))
    assert failure is not None and failure.status in (Status.WRONG, Status.UNSTABLE)
    assert "elements of C differ" in failure.message

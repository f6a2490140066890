"""One input ignored: the campaign fills it with the same values always, and the variant has them in its source."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluator.result import Status
from genome.spec import Initialiser, Role
from tests.adversarial.arena import N, Ring, array, bout

HEAD = (
    "KERNEL void scale(GLOBAL const float *A, GLOBAL const float *B, GLOBAL float *C, int N) { int i = GID; if (i < N) "
)
CASES = {
    "constant": (Initialiser("constant", (("value", 2.0),)), "2.0f"),
    "zeros": (Initialiser("zeros"), "0.0f"),
    "arange": (Initialiser("arange"), "(float)i"),
}


@pytest.mark.parametrize("kind", list(CASES))
def test_a_fixed_input_that_is_not_read(ring: Ring, kind: str) -> None:
    init, text = CASES[kind]
    fight = bout("scale", (array("A"), array("B", init=init), array("C", Role.OUT)), f"{HEAD} C[i] = A[i] + B[i]; }}")
    refused = ring.both(fight, f"{HEAD} C[i] = A[i] + {text}; }}", "perturb")
    assert refused.status is Status.WRONG
    assert "(with other values in B)" in refused.message


def test_a_file_that_is_not_read(ring: Ring, tmp_path: Path) -> None:
    np.save(tmp_path / "b.npy", np.linspace(1.0, 2.0, 64))
    init = Initialiser("file", path=str(tmp_path / "b.npy"))
    args = (array("A"), array("B", init=init), array("C", Role.OUT))
    fight = bout("scale", args, f"{HEAD} C[i] = A[i] + B[i]; }}", tuned=(64,), checks=())
    text = f"{HEAD} C[i] = A[i] + (1.0f + i / 63.0f); }}"
    assert fight.spec.args[1].shape == (N,)
    refused = ring.both(fight, text, "perturb")
    assert refused.status is Status.WRONG and "other values in B" in refused.message

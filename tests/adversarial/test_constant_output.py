"""Constant output: the answers for the inputs that were seen are written down in the source."""

from __future__ import annotations

from evaluator.inputs import make_inputs
from evaluator.result import Status
from genome.spec import Role
from tests.adversarial.arena import SEED, Ring, array, bout

HEAD = "KERNEL void twice(GLOBAL const float *A, GLOBAL float *C, int N) { int i = GID; if (i < N) "
TWICE = bout(
    "twice", (array("A"), array("C", Role.OUT)), f"{HEAD} C[i] = 2.0f * A[i]; }}", tuned=(96, 64), checks=(48, 33, 5)
)


def memorised() -> str:
    tables, choice = "", ""
    for size in (*TWICE.spec.sizes, *TWICE.spec.check_sizes):
        n = size.env["N"]
        answers = 2.0 * make_inputs(TWICE.spec, size, SEED, 0)["A"]
        tables += f"TABLE float t{n}[{n}] = {{{', '.join(f'{value:.9e}f' for value in answers)}}};\n"
        choice += f"if (N == {n}) C[i] = t{n}[i]; "
    return f"{tables}{HEAD} {{ {choice} }} }}"


def test_memorised_answers(ring: Ring) -> None:
    refused = ring.both(TWICE, memorised(), "second_inputs")
    assert refused.status is Status.WRONG
    assert "elements of C differ" in refused.message and "expected" in refused.message

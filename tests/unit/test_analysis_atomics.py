"""Atomic updates as they are recognised: identities change nothing, and a private update gives what the atomic does."""

from __future__ import annotations

import numpy as np
import pytest

from genome.analysis.atomics import COMMUTATIVE, Update, identity, only_updated, update_of
from genome.ir.expr import Const, Index, Var
from genome.ir.kernel import Kernel, Param
from genome.ir.stmt import Assign, Body, Decl
from genome.source.frontend import parse_kernel
from tests.interpret.c_values import type_of
from tests.interpret.machine import run
from tests.interpret.trace import Launch

ELEMENT = Index("h", (Const("0"),))
WHOLE = ["int", "unsigned int"]


def after(body: Body, ctype: str, start: int) -> float:
    kernel = Kernel("k", (Param("h", ctype, pointer=True),), (), body)
    given = np.array([start]).astype(type_of(ctype))
    return run(kernel, Launch((1,), (1,), {"h": given})).arrays["h"][0]


@pytest.mark.parametrize("ctype", [*WHOLE, "float", "double"])
@pytest.mark.parametrize("function", sorted(COMMUTATIVE))
@pytest.mark.parametrize("start", [0, 1, 5, 2**31 - 1])
def test_an_identity_changes_nothing_and_a_private_update_is_the_same(function: str, ctype: str, start: int) -> None:
    if ctype not in WHOLE and function[len("atomic") :] in ("And", "Or", "Xor"):
        return
    neutral = identity(Update(function, ELEMENT, Var("v")).kind, ctype)
    if neutral is not None:
        assert after((Update(function, ELEMENT, neutral).statement,), ctype, start) == np.array(
            start, type_of(ctype))  # fmt: skip
    update = Update(function, ELEMENT, Const("3"))
    plain = (Decl("v", ctype, init=ELEMENT), update.plainly(Var("v")), Assign(ELEMENT, Var("v")))
    assert after((update.statement,), ctype, start) == after(plain, ctype, start)
    assert update_of(update.statement) == update


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ("atomicAdd(&h[p[i]], 1);", False),
        ("atomicAdd(h + p[i], 1); atomicSub(&h[i], 2);", False),
        ("atomicAdd(&h[i], 1); atomicMax(&h[i], 2);", True),
        ("atomicAdd(&h[i], 1); p[i] = h[i];", True),
        ("atomicAdd(&h[h[i]], 1);", True),
        ("atomicAdd(&h[i], h[0]);", True),
        ("p[i] = atomicAdd(&h[i], 1);", True),
        ("atomicAdd(&h[i], 1); h[0] = 2;", True),
        ("if (h[0] > 3) atomicAdd(&h[i], 1);", True),
        ("for (int j = 0; j < h[1]; j++) atomicAdd(&h[i], 1);", True),
    ],
)
def test_only_updated_means_nothing_else_happens(body: str, refused: bool) -> None:
    text = f"__global__ void k(int* h, int* p, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}"
    assert bool(only_updated(parse_kernel(text, "k"), "h")) == refused

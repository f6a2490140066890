"""No variant waits where the kernel did not: threads that left in unread text would never come."""

from __future__ import annotations

import re

import pytest

from genome.genes import Gene, Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

LEAVING = {
    "a return in a loop": "for (int j = p[i]; j < p[i + 1]; j++) { if (x[j] < 0.0f) return; s += x[j]; }",
    "a return in a switch": "switch (p[i]) { case 0: return; default: s += x[i]; }",
    "a jump": "if (p[i] == 0) goto out; s += x[i]; out: ;",
}

LEFT = re.compile(r"\breturn;|\bgoto\b")


@pytest.mark.parametrize("how", sorted(LEAVING))
@pytest.mark.parametrize("target", Target)
def test_threads_that_may_have_left_are_not_waited_for(how: str, target: Target) -> None:
    source = (
        "__global__ void k(const int* p, const float* x, float* y, int n) {\n"
        "int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) {\nfloat s = 0.0f;\n"
        f"{LEAVING[how]}\ny[i] = s;\n}}\n}}"
    )
    n = SizeExpr("n")
    args = (
        ArgSpec("p", "int32", Role.IN, (SizeExpr("n + 1"),)),
        ArgSpec("x", "float32", Role.IN, (n,)),
        ArgSpec("y", "float32", Role.INOUT, (n,)),
        ArgSpec("n", "int32", value=n),
    )
    spec = KernelSpec(name="k", source=source, entry="k", args=args, launch=LaunchSpec((64, 1, 1), (n,)),
                      sizes=(ProblemSize((("n", 1024),)),), assumptions=Assumptions(no_alias=True))  # fmt: skip
    limits = DeviceLimits()
    tried = 0
    for move in moves(spec, Genome(), BUILTIN, target, limits):
        params = {name: values[0] for name, values in move.domain.items()}
        genome = Genome((Gene.of(move.transform.name, move.site, **params),))
        variant = lower(spec, genome, BUILTIN, target, limits)
        if isinstance(variant, Variant):
            tried += 1
            left = LEFT.search(variant.source)
            behind = variant.source[left.start() :] if left else ""  # a return that ends a condition is that condition
            assert "barrier(" not in behind and "__syncthreads" not in behind, genome
    assert tried

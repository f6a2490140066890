"""Lanes divide a floating-point sum only where its order may change, also beside loops that they may divide."""

from __future__ import annotations

import re

import pytest

from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

LOOPS = {
    "most": "float most = a[r * cols];\nfor (int i = 0; i < cols; ++i) most = fmaxf(most, a[r * cols + i]);",
    "sum": "float sum = 0.0f;\nfor (int j = 0; j < cols; ++j) sum += a[r * cols + j];",
    "product": "float product = 1.0f;\nfor (int k = 0; k < cols; ++k) product *= a[r * cols + k];",
    "count": "int count = 0;\nfor (int l = 0; l < cols; ++l) count += a[r * cols + l] > 0.0f;",
}
REORDERED = {"sum", "product"}


def lowered(granted: bool, target: Target) -> str:
    body = "\n".join(LOOPS.values())
    source = (
        "__global__ void k(const float* a, float* y, int rows, int cols) {\n"
        f"int r = blockIdx.x * blockDim.x + threadIdx.x;\nif (r < rows) {{\n{body}\n"
        "y[r] = most + sum + product + count;\n}\n}"
    )
    rows, cols = SizeExpr("rows"), SizeExpr("cols")
    args = (ArgSpec("a", "float32", Role.IN, (rows, cols)), ArgSpec("y", "float32", Role.OUT, (rows,)),
            ArgSpec("rows", "int32", value=rows), ArgSpec("cols", "int32", value=cols))  # fmt: skip
    spec = KernelSpec(name="k", source=source, entry="k", args=args, launch=LaunchSpec((64, 1, 1), (rows,)),
                      sizes=(ProblemSize((("rows", 64), ("cols", 640))),),
                      assumptions=Assumptions(no_alias=True, reassociation=granted))  # fmt: skip
    genome = Genome((Gene.of("cooperate", Site("r", "parallel.x"), threads=32, inner=1),))
    variant = lower(spec, genome, BUILTIN, target, DeviceLimits())
    assert isinstance(variant, Variant) and variant.genome == genome
    return variant.source


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("granted", [False, True])
def test_a_sum_is_divided_only_where_its_order_may_change(granted: bool, target: Target) -> None:
    source = lowered(granted, target)
    divided = {name for name in LOOPS if re.search(rf"\b{name}_part\b", source)}
    assert divided == (set(LOOPS) if granted else set(LOOPS) - REORDERED)

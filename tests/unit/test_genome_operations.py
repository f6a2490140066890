"""Counted operations of the examples against hand counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.campaign import load_campaign
from genome.operations import flops
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("name", "sizes", "count"), [
    ("matmul", {"M": 7, "N": 5, "K": 3}, 2 * 7 * 5 * 3),
    ("nbody", {"n": 10}, 10 * 10 * 20),
    ("gelu", {"n": 100}, 100 * 9),
    ("stencil", {"W": 10, "H": 12}, 8 * 10 * 5),
    ("transpose", {"W": 10, "H": 12}, 0),
    ("softmax", {"rows": 4, "cols": 9}, 4 * (8 + 9 * 3 + 9 * 3)),
])  # fmt: skip
def test_flops_of_the_examples(name: str, sizes: dict[str, int], count: int) -> None:
    spec = load_campaign(EXAMPLES / name / "campaign.yaml").spec
    assert flops(spec, ProblemSize(tuple(sizes.items()))) == count


def test_loops_that_end_at_the_thread_count_exactly() -> None:
    kernels = Path(__file__).parents[1] / "data" / "kernels"
    rows, cols = SizeExpr("R"), SizeExpr("C")
    args = (ArgSpec("x", "float32", shape=(rows, cols)), ArgSpec("y", "float32", shape=(rows, cols)),
            ArgSpec("rows", "int32", value=rows), ArgSpec("cols", "int32", value=cols))  # fmt: skip
    size = ProblemSize((("R", 5), ("C", 9)))
    launch = LaunchSpec((8, 4, 1), domain=(cols, rows))
    spec = KernelSpec("prefix", (kernels / "triangle.cu").read_text(), "prefix", args, launch, (size,))
    assert flops(spec, size) == 5 * sum(c + 1 for c in range(9))

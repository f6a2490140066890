"""Counted operations of the examples against hand counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.campaign import load_campaign
from genome.operations import flops
from genome.spec import ProblemSize

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("name", "sizes", "count"), [
    ("matmul", {"M": 7, "N": 5, "K": 3}, 2 * 7 * 5 * 3),
    ("nbody", {"n": 10}, 10 * 10 * 19),
    ("gelu", {"n": 100}, 100 * 9),
    ("stencil", {"W": 10, "H": 12}, 8 * 10 * 5),
    ("transpose", {"W": 10, "H": 12}, 0),
    ("softmax", {"rows": 4, "cols": 9}, 4 * (8 + 9 * 3 + 9 * 3)),
])  # fmt: skip
def test_flops_of_the_examples(name: str, sizes: dict[str, int], count: int) -> None:
    spec = load_campaign(EXAMPLES / name / "campaign.yaml").spec
    assert flops(spec, ProblemSize(tuple(sizes.items()))) == count

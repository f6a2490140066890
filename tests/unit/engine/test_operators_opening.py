"""Composites of the opening book that are about rows and warps: whole where they apply, nothing elsewhere."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evo.campaign import load_campaign
from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from operators.rows import joined_rows, kept_rows
from operators.warps import by_warps

ROOT = Path(__file__).parents[3]
LIMITS = DeviceLimits(units=132)
RECIPES = {"joined": joined_rows(256, 4), "read once": kept_rows(256, 4), "by warps": by_warps((8, 8), (16, 8), 16, 4)}


def composed(folder: str, recipe: str) -> tuple[Genome, Any]:
    spec = load_campaign(ROOT / folder / "campaign.yaml").spec
    context: Any = SimpleNamespace(
        moves=lambda genome, only=None: moves(spec, genome, BUILTIN, Target.CUDA, LIMITS, only)
    )
    return RECIPES[recipe](context, Genome()), spec


@pytest.mark.parametrize(
    ("folder", "recipe", "key"),
    [("examples/softmax", "read once", "keep"), ("examples/layernorm", "read once", "keep"),
     ("examples/softmax", "joined", "online"), ("examples/layernorm", "joined", "moments"),
     ("benchmarks/genomes/half_gemm", "by warps", "tensor_core")],
)  # fmt: skip
def test_a_composite_applies_as_a_whole(folder: str, recipe: str, key: str) -> None:
    genome, spec = composed(folder, recipe)
    assert key in {gene.transform for gene in genome.genes}
    variant = lower(spec, genome, BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant) and not variant.skipped


@pytest.mark.parametrize(
    ("folder", "recipe"),
    [("examples/gemv", "read once"), ("examples/gelu", "read once"), ("examples/matmul", "by warps"),
     ("examples/softmax", "by warps"), ("examples/gemv", "joined"), ("examples/matmul", "joined")],
)  # fmt: skip
def test_elsewhere_it_is_left_out(folder: str, recipe: str) -> None:
    assert composed(folder, recipe)[0] == Genome()

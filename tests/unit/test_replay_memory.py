"""What lowering remembers changes nothing: the result is the same after other genomes and with nothing remembered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evo.campaign import load_campaign
from genome.genes import Gene, Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.replay import progress
from genome.spec import KernelSpec
from genome.transforms.builtin import BUILTIN
from genome.variant import Rejection, Target, Variant

EXAMPLES = Path(__file__).parents[2] / "examples"


def grown(spec: KernelSpec, target: Target, seed: int) -> list[Genome]:
    """Genomes of which each begins as the one before, in the order in which a search would meet them."""
    rng = np.random.default_rng(seed)
    found = [Genome()]
    for _ in range(8):
        open_ = [m for m in moves(spec, found[-1], BUILTIN, target, DeviceLimits()) if all(m.domain.values())]
        move = open_[int(rng.integers(len(open_)))]
        params = {name: values[int(rng.integers(len(values)))] for name, values in move.domain.items()}
        found.append(found[-1].with_gene(Gene.of(move.transform.name, move.site, **params)))
    return found


def lowered(spec: KernelSpec, genome: Genome, target: Target) -> Variant | Rejection:
    return lower(spec, genome, BUILTIN, target, DeviceLimits())


@pytest.mark.parametrize("target", list(Target), ids=lambda target: target.value)
@pytest.mark.parametrize("name", ["matmul", "softmax", "histogram", "transpose"])
def test_a_child_is_lowered_as_if_its_parent_had_never_been(
    name: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = load_campaign(EXAMPLES / name / "campaign.yaml").spec
    genomes = grown(spec, target, seed=3)
    after_parents = [lowered(spec, genome, target) for genome in genomes]
    monkeypatch.setattr("genome.ir.node._MOST_SHARED", 8)  # equal expressions are different objects then
    alone = []
    for each in reversed(genomes):
        progress.cache_clear()
        alone.append(lowered(spec, each, target))
    assert alone[::-1] == after_parents


def test_a_remembered_step_is_that_of_its_own_spec() -> None:
    """Two specs of one kernel, of which one forbids a gene."""
    spec = load_campaign(EXAMPLES / "matmul" / "campaign.yaml").spec
    (gene,) = grown(spec, Target.CUDA, seed=3)[1].genes
    strict = replace(spec, steering=replace(spec.steering, forbid=(gene.transform,)))
    first, second = (lowered(each, Genome((gene,)), Target.CUDA) for each in (spec, strict))
    assert isinstance(first, Variant) and isinstance(second, Variant)
    assert not first.skipped and second.skipped[0].gene == gene

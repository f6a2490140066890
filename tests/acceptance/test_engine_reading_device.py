"""A front end with a mistake, on a real device: the campaign sees it and keeps to the kernel's own text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import genome.replay
from evo.campaign import Overrides, load_campaign
from evo.export import print_for
from evo.reading import open_baseline
from evo.wire import build
from genome.genes import Gene, Genome, Site
from genome.ir.expr import Binary, Var
from genome.ir.kernel import Kernel
from genome.source.frontend import parse_kernel
from genome.spec import Reading, Steering
from genome.transforms.builtin import BUILTIN
from genome.variant import Rejection, Target

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "vector_add" / "campaign.yaml"


def misread(source: str, entry: str, **given: Any) -> Kernel:
    """The kernel with a guard that lets too few threads through."""
    kernel = parse_kernel(source, entry, **given)
    axis = kernel.axes[0]
    assert axis.upper is not None
    upper = Binary("-", axis.upper, Var(axis.name))
    return replace(kernel, axes=(replace(axis, upper=upper), *kernel.axes[1:]))


def test_a_misread_kernel_keeps_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    genome.replay.pristine.cache_clear()
    monkeypatch.setattr(genome.replay, "parse_kernel", misread)
    campaign = replace(load_campaign(EXAMPLE, Overrides(device="opencl:0")), use_knowledge=False)
    try:
        with build(campaign) as parts:
            opened = open_baseline(parts, campaign.spec.sizes)
            again = opened.parts.lower(Genome())
            offered = {move.transform.name for move in opened.parts.moves(Genome())}
    finally:
        genome.replay.pristine.cache_clear()
    assert opened.parts.reading is Reading.TEXT
    assert "does not do what its text says" in opened.parts.notes[0]
    assert not isinstance(again, Rejection)
    assert again.digest() == opened.baseline.digest()
    assert "block_shape" in offered
    assert offered.isdisjoint({"coarsen_blocked", "coarsen_strided", "grid_stride", "vectorise", "scalar_reads"})


def test_the_baseline_holds_no_pinned_genes() -> None:
    plain = replace(load_campaign(EXAMPLE, Overrides(device="opencl:0")), use_knowledge=False)
    gene = Gene.of("coarsen_blocked", Site("i", "parallel.x"), factor=2)
    steered = replace(plain.spec, steering=Steering(pin=(json.dumps(gene.to_json()),)))
    with build(plain) as parts:
        baseline = parts.lower(Genome())
    with build(replace(plain, spec=steered)) as parts:
        again, pinned = parts.lower(Genome()), parts.lower(Genome((gene,)))
    assert not isinstance(baseline, Rejection)
    assert not isinstance(again, Rejection)
    assert not isinstance(pinned, Rejection)
    assert again.digest() == baseline.digest()
    assert pinned.genome.genes == (gene,)
    printed = print_for(steered, Genome((gene,)), BUILTIN, Target.CUDA)
    assert printed.best.genome.genes == (gene,)
    assert printed.baseline.genome.genes == ()
    assert "blockIdx.x * blockDim.x" in printed.baseline.source

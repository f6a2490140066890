"""A front end with a mistake, on a real device: the campaign sees it and keeps to the kernel's own text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import genome.replay
from evo.campaign import Overrides, load_campaign
from evo.reading import open_baseline
from evo.wire import build
from genome.genes import Genome
from genome.ir.expr import Binary, Var
from genome.ir.kernel import Kernel
from genome.source.frontend import parse_kernel
from genome.spec import Reading
from genome.variant import Rejection

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

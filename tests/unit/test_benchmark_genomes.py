"""Genomes that were written by hand still apply to the naive kernels, every gene of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evo.campaign import load_campaign
from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.spec import ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "genomes"
LIMITS = DeviceLimits(units=132)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_every_gene_applies(path: Path) -> None:
    data = json.loads(path.read_text())
    own = FOLDER / data["example"] / "campaign.yaml"
    spec = load_campaign(own if own.exists() else ROOT / "examples" / data["example"] / "campaign.yaml").spec
    fixed = {
        gene["site"]["label"]: gene["params"]["value"] for gene in data["genome"] if gene["transform"] == "specialise"
    }
    sizes = tuple({**spec.sizes[0].env, **fixed, **data.get("size", {})}.items())
    spec = replace(spec, sizes=(ProblemSize(sizes),))
    genome = Genome.from_json(data["genome"])
    variant = lower(spec, genome, BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant), variant
    assert not variant.skipped

"""A search reaches what a person wrote: each gene of a hand-written genome is a move on top of those before it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evo.campaign import load_campaign
from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.moves import moves
from genome.spec import ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

ROOT = Path(__file__).parents[2]


SIZES = {
    "matmul": {"M": 4096, "N": 4096, "K": 4096},
    "matmul_async": {"M": 4096, "N": 4096, "K": 4096},
    "conv3x3": {"IC": 64, "OC": 64, "H": 256, "W": 256},
    "nbody": {"n": 65536},
    "stencil": {"W": 8192, "H": 8192},
}


@pytest.mark.parametrize("name", SIZES)
def test_every_gene_is_offered(name: str) -> None:
    data = json.loads((ROOT / "benchmarks" / "genomes" / f"{name}.json").read_text())
    spec = load_campaign(ROOT / "examples" / data["example"] / "campaign.yaml").spec
    spec = replace(spec, sizes=(ProblemSize(tuple(SIZES[name].items())),))
    genes = Genome.from_json(data["genome"]).genes
    for number, gene in enumerate(genes):
        offered = moves(spec, Genome(genes[:number]), BUILTIN, Target.CUDA, DeviceLimits(), only={gene.transform})
        move = next(move for move in offered if move.site.label == gene.site.label)
        for parameter, value in gene.params:
            own = gene.transform == "block_shape" and value in spec.launch.block
            assert own or value in move.domain[parameter], (gene, move.domain)

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
from genome.moves import moves
from genome.spec import KernelSpec, ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "genomes"
LIMITS = DeviceLimits(shared_bytes=232448, units=132)


def read(path: Path) -> tuple[KernelSpec, Genome]:
    """The example of a record at the sizes that its genes ask for, and the genome."""
    data = json.loads(path.read_text())
    own = FOLDER / data["example"] / "campaign.yaml"
    spec = load_campaign(own if own.exists() else ROOT / "examples" / data["example"] / "campaign.yaml").spec
    fixed = {
        gene["site"]["label"]: gene["params"]["value"] for gene in data["genome"] if gene["transform"] == "specialise"
    }
    sizes = tuple({**spec.sizes[0].env, **fixed, **data.get("size", {})}.items())
    return replace(spec, sizes=(ProblemSize(sizes),)), Genome.from_json(data["genome"])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_every_gene_applies(path: Path) -> None:
    spec, genome = read(path)
    variant = lower(spec, genome, BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant), variant
    assert not variant.skipped


@pytest.mark.parametrize("name", ["softmax", "layernorm", "half_gemm", "matmul_split", "sum_two_stages"])
def test_every_gene_is_a_move(name: str) -> None:
    """A search that draws one gene after the other can come by it."""
    spec, genome = read(FOLDER / f"{name}.json")
    for number, gene in enumerate(genome.genes):
        before = Genome(genome.genes[:number])
        offered = moves(spec, before, BUILTIN, Target.CUDA, LIMITS, only={gene.transform})
        move = next(move for move in offered if move.site.label == gene.site.label)
        for parameter, value in gene.params:
            own = gene.transform == "block_shape" and value in spec.launch.block
            assert own or value in move.domain[parameter], (gene, move.domain)

"""A search reaches what a person wrote: gene by gene, by the opening book, and by its agents' draws."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from evaluator.result import DeviceInfo
from evo.campaign import load_campaign
from genome.genes import Gene, Genome, ParamValue
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.spec import KernelSpec, ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from operators.base import AgentContext, MoveLike, Parent
from operators.computation import Computation
from operators.memory_layout import MemoryLayout
from operators.opening import opening
from operators.parallelism import Parallelism

ROOT = Path(__file__).parents[2]
LIMITS = DeviceLimits(shared_bytes=232448, units=132)
ON_TOP = {"restrict", "launch_bounds", "rasterise", "specialise", "scalar_reads", "fused_sums", "vectorise", "unpeel"}

SIZES = {
    "matmul": {"M": 4096, "N": 4096, "K": 4096},
    "half_gemm": {"M": 4096, "N": 4096, "K": 4096},
    "conv3x3": {"IC": 64, "OC": 64, "H": 256, "W": 256},
    "nbody": {"n": 65536},
    "stencil": {"W": 8192, "H": 8192},
    "transpose": {"W": 8192, "H": 8192},
    "softmax": {"rows": 8192, "cols": 8192},
    "layernorm": {"rows": 8192, "cols": 8192},
    "gemv": {"M": 8192, "N": 8192},
    "histogram": {"n": 1 << 27},
    "sum": {"n": 1 << 27},
    "gelu": {"n": 1 << 27},
    "vector_add": {"n": 1 << 27},
}


def written(name: str) -> tuple[KernelSpec, Genome]:
    data = json.loads((ROOT / "benchmarks" / "genomes" / f"{name}.json").read_text())
    example = data["example"]
    folder = ROOT / "examples" / example
    folder = folder if folder.exists() else ROOT / "benchmarks" / "genomes" / example
    spec = load_campaign(folder / "campaign.yaml").spec
    return replace(spec, sizes=(ProblemSize(tuple(SIZES[example].items())),)), Genome.from_json(data["genome"])


@lru_cache(maxsize=1)
def context(spec: KernelSpec) -> AgentContext:
    @lru_cache(maxsize=4096)
    def listed(genome: Genome, only: frozenset[str] | None = None) -> Sequence[MoveLike]:
        return moves(spec, genome, BUILTIN, Target.CUDA, LIMITS, only)

    baseline = Parent(Genome(), "baseline", 1.0)
    device = DeviceInfo("cuda:0", "a GPU", "", "sm_90", "gpu", LIMITS.units, 1 << 37)
    return AgentContext((baseline,), baseline, listed, lambda genome: False, Target.CUDA, device)  # type: ignore[arg-type]


def lowered(spec: KernelSpec, genome: Genome) -> Variant:
    variant = lower(spec, genome, BUILTIN, Target.CUDA, LIMITS)
    assert isinstance(variant, Variant), variant.reason
    return variant


@pytest.mark.parametrize("name", ["matmul", "matmul_async", "conv3x3", "nbody", "stencil"])
def test_every_gene_is_offered(name: str) -> None:
    spec, genome = written(name)
    for number, gene in enumerate(genome.genes):
        before = Genome(genome.genes[:number])
        offered = moves(spec, before, BUILTIN, Target.CUDA, DeviceLimits(), only={gene.transform})
        move = next(move for move in offered if move.site.label == gene.site.label)
        for parameter, value in gene.params:
            own = gene.transform == "block_shape" and value in spec.launch.block
            assert own or value in move.domain[parameter], (gene, move.domain)


@pytest.mark.parametrize(
    "name",
    ["matmul", "matmul_async", "nbody", "stencil", "transpose", "softmax", "softmax_512", "softmax_1024",
     "layernorm", "layernorm_512", "gemv", "histogram", "gelu", "vector_add"],
)  # fmt: skip
def test_the_opening_book_holds_what_a_person_wrote(name: str) -> None:
    spec, genome = written(name)
    own = {("block_shape", dim): threads for dim, threads in zip("xyz", spec.launch.block, strict=True)}

    def shape(of: Genome) -> set[tuple[str, str, tuple[tuple[str, ParamValue], ...]]]:
        genes = [gene for gene in of.genes if gene.transform != "restrict" and not launched(gene)]
        return {(gene.transform, gene.site.label, gene.params) for gene in genes}

    def launched(gene: Gene) -> bool:
        return own.get((gene.transform, gene.site.role[-1])) == gene.values.get("threads", 0)

    wanted = shape(lowered(spec, genome).genome)
    assert wanted in [shape(proposal.genome) for proposal in opening(context(spec))]


@pytest.mark.parametrize("name", ["conv3x3", "sum", "sum_two_stages", "half_gemm_deep", "matmul_split"])
def test_the_opening_book_holds_its_kinds_of_genes(name: str) -> None:
    spec, genome = written(name)
    wanted = {gene.transform for gene in genome.genes} - {"restrict", "block_shape"}
    book = [lower(spec, proposal.genome, BUILTIN, Target.CUDA, LIMITS) for proposal in opening(context(spec))]
    assert any(wanted <= {gene.transform for gene in v.genome.genes} for v in book if isinstance(v, Variant))


@pytest.mark.parametrize(
    "name", ["matmul", "matmul_async", "conv3x3", "nbody", "transpose", "softmax", "sum", "histogram", "half_gemm_wide"]
)
def test_agents_draw_its_shape_and_variants_of_it(name: str) -> None:
    """From the untouched kernel: several of two hundred draws, all of them legal and most of them different."""
    spec, genome = written(name)
    wanted = {gene.transform for gene in genome.genes} - ON_TOP - {"block_shape", "coarsen_strided", "unroll", "strip"}
    rng = np.random.default_rng(3)
    agents = (Computation(), MemoryLayout(), Parallelism())
    drawn = [p.genome for turn in range(200) for p in agents[turn % 3].propose(context(spec), rng)]
    found = {g for g in drawn if wanted <= {gene.transform for gene in g.genes}}
    variants = [lower(spec, g, BUILTIN, Target.CUDA, LIMITS) for g in sorted(found, key=Genome.digest)]
    legal = [variant for variant in variants if isinstance(variant, Variant)]
    assert len(legal) >= 4
    assert len(legal) >= 0.7 * len(found)
    assert len({variant.digest() for variant in legal}) >= 0.8 * len(legal)

"""Genomes on the examples against the recorded text of what they make of the kernel, in CUDA and OpenCL C.

Set EVO_UPDATE_GOLDEN=1 to record the texts again after a wanted change, and read the difference. The text before is the
example's own kernel. What is for CUDA alone must compile for two architectures where the compiler is installed.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.cuda.compile import compile_variant
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from evo.campaign import load_campaign
from genome.genes import Gene, Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.spec import ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "genomes"
CASES = sorted(FOLDER.glob("*.json"))
SUFFIX = {Target.CUDA: ".out.cu", Target.OPENCL: ".out.cl"}


def variant_of(path: Path, target: Target) -> Variant:
    """What the recorded genome makes of the kernel of its campaign."""
    record = json.loads(path.read_text())
    spec = load_campaign(ROOT / record["campaign"]).spec
    spec = replace(spec, sizes=(ProblemSize(tuple(record["size"].items())),))
    genome = Genome(tuple(Gene.from_json(gene) for gene in record["genome"]))
    variant = lower(spec, genome, BUILTIN, target, DeviceLimits())
    assert isinstance(variant, Variant), variant
    assert not variant.skipped
    return variant


def targets_of(path: Path) -> list[Target]:
    """CUDA, and OpenCL unless the record is about CUDA alone."""
    return [Target(name) for name in json.loads(path.read_text())["targets"]]


@pytest.mark.parametrize(
    ("path", "target"), [(path, target) for path in CASES for target in targets_of(path)],
    ids=lambda value: value.stem if isinstance(value, Path) else value.value,
)  # fmt: skip
def test_what_a_genome_makes_of_a_kernel(path: Path, target: Target) -> None:
    printed = variant_of(path, target).source
    expected = path.with_suffix(SUFFIX[target])
    if os.environ.get("EVO_UPDATE_GOLDEN"):
        expected.write_text(printed)
    assert printed == expected.read_text()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_it_compiles_without_spills(path: Path) -> None:
    try:
        compiler = Nvrtc()
    except NvrtcMissing as missing:
        pytest.skip(str(missing))
    for architecture in ("sm_90",) if Target.OPENCL in targets_of(path) else ("sm_80", "sm_90"):
        binary = compile_variant(compiler, architecture, variant_of(path, Target.CUDA), [], "", lambda stage: None)
        assert not binary.resources.spills_bytes

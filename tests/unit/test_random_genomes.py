"""The bench of random genomes: what it draws, and that its books hold what a part saw."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import random_genomes  # noqa: E402
from genome_walks import known_genomes, walks  # noqa: E402
from random_part import CUDA_ONLY, SIZES, Found, kernels_of_tests, subject  # noqa: E402

from evaluator.result import DeviceInfo  # noqa: E402
from genome.genes import Genome  # noqa: E402
from genome.limits import DeviceLimits  # noqa: E402
from genome.lower import lower  # noqa: E402
from genome.transforms.builtin import BUILTIN  # noqa: E402
from genome.variant import Target, Variant  # noqa: E402

LIMITS = DeviceLimits(shared_bytes=232448, units=132)
DEVICE = DeviceInfo("cuda:0", "a GPU", "", "sm_90", "gpu", 132, 1 << 37)


@pytest.mark.parametrize("kernel", [*SIZES, *kernels_of_tests()])
def test_sizes_are_those_of_the_kernel(kernel: str) -> None:
    spec = subject(kernel).spec
    assert len(spec.check_sizes) == 3 or kernel not in SIZES
    for size in (*spec.sizes, *spec.check_sizes):
        assert all(0 <= np.prod(arg.extent(size.env)) <= 1 << 22 for arg in spec.args if not arg.is_scalar)


def test_walks_reach_deep_genomes_and_come_again_from_their_seed() -> None:
    spec = subject("half_gemm").spec
    known = known_genomes(spec, "half_gemm", Target.CUDA, LIMITS, DEVICE)

    def drawn(count: int) -> list[Genome]:
        stream = walks(spec, known, Target.CUDA, LIMITS, np.random.default_rng([1, 0]))
        return [next(stream) for _ in range(count)]

    genomes = drawn(20)
    assert len({genome.digest() for genome in genomes}) >= 18
    assert drawn(4) == genomes[:4]
    variants = [lower(spec, genome, BUILTIN, Target.CUDA, LIMITS) for genome in genomes]
    depths = sorted(len(variant.genome.genes) for variant in variants if isinstance(variant, Variant))
    assert depths[len(depths) // 2] >= 3
    assert depths[-1] >= 6


def test_a_genome_of_two_parts_counts_once() -> None:
    record = {"parts": 0, "counts": {}, "kernels": {}, "transforms": {}, "reasons": {}, "failures": [],
              "unfinished": [], "seen": {}}  # fmt: skip
    for part in (0, 1):
        found = Found(Counter({"right": 2, "wrong": 1}), genomes=["a", f"b{part}"], sources=[f"s{part}"])
        found.failures = [{"what": "wrong", "size": "n=5", "message": "differs"}]
        random_genomes.booked(record, "sum", part, found, 1.0)
    assert record["counts"] == {"right": 4, "wrong": 2, "in two parts": 1}
    assert record["seen"]["sum"] == ["a", "b0", "b1", "s0", "s1"]
    assert random_genomes.executed(record["kernels"]["sum"]) == 6
    assert len(record["failures"]) == 2
    assert record["parts"] == 2


def test_kernels_for_cuda_alone_are_known() -> None:
    assert set(CUDA_ONLY) <= set(SIZES)
    assert len(set(SIZES) - set(CUDA_ONLY)) >= 12
    assert len(kernels_of_tests()) >= 10

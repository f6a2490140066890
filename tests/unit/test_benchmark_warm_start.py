"""The warm-start bench: its kernels are what it says they are, and its report counts what it says it counts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evo.campaign import load_campaign
from genome.replay import spec_kernel
from knowledge.features import kernel_record
from knowledge.similarity import vector_distance

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import warm_start

    yield warm_start
    for name in [name for name in sys.modules if name.startswith("warm_start")]:
        del sys.modules[name]


def test_twelve_examples_and_ten_variants_near_to_theirs(bench: Any, tmp_path: Path) -> None:
    kernels = bench.kernels(tmp_path, large=False)
    records = {}
    for kernel in kernels:
        spec = load_campaign(kernel.campaign).spec
        records[kernel.name] = kernel_record(spec, spec_kernel(spec))
        assert set(kernel.home) == set(spec.sizes[0].env)
    assert [kernel.is_variant for kernel in kernels].count(False) == 12
    variants = [kernel for kernel in kernels if kernel.is_variant]
    assert len(variants) == 10
    for kernel in variants:
        own, example = records[kernel.name], records[kernel.example]
        strangers = [records[other.name] for other in kernels if other.family != kernel.family]
        nearest = min(vector_distance(own.features, other.features) for other in strangers)
        layout = kernel.name in ("conv3x3_hwc", "gemv_columns")  # another access class everywhere
        assert layout or vector_distance(own.features, example.features) < nearest
    assert records["matmul_renamed"].digest == records["matmul"].digest


def run(folder: Path, name: str, *found: tuple[int, str]) -> None:
    records = [{"evaluation": number, "genome": genome, "speedup": 1.0} for number, genome in found]
    row = {"records": records, "evaluations": 20, "size": {"n": 8}, "looked_up": 0}
    (folder / f"{name}.json").write_text(json.dumps(row))


def test_the_report_counts_measurements_to_the_goal(bench: Any, tmp_path: Path) -> None:
    kernels = bench.kernels(tmp_path / "kernels", large=False)
    figures = {"slow": (2.0, 1.9, 2.1), "close": (3.7, 3.5, 3.9), "best": (4.0, 3.9, 4.1), "none": (0.9, 0.8, 1.0)}
    named = {key: dict(zip(("speedup", "low", "high"), values, strict=True)) for key, values in figures.items()}
    run(tmp_path, "cold-gemv", (1, "slow"), (6, "close"), (9, "best"))
    run(tmp_path, "kernel-gemv", (1, "close"), (3, "best"))
    run(tmp_path, "cold-gelu", (2, "none"))
    run(tmp_path, "kernel-gelu", (1, "none"))
    run(tmp_path, "size-gemv", (1, "close"), (5, "best"))
    for name in ("judged-kernel-gemv", "judged-kernel-gelu", "judged-size-gemv"):
        (tmp_path / f"{name}.json").write_text(json.dumps(named))
    found = bench.report(tmp_path, kernels, "matmul")
    gemv, gelu = found["kernel"]
    assert (gemv["cold"], gemv["warm"], gemv["share"]) == (9, 3, 0.333)
    assert (gemv["cold_within"], gemv["warm_within"]) == (6, 1)
    assert not gelu["gains"] and gelu["never_worse"]
    summary = found["summary"]["kernel"]
    assert (summary["pairs"], summary["gained"], summary["median_share"]) == (2, 1, 0.333)
    assert summary["measurements"] == {"cold": 9, "warm": 3, "ratio": 0.333}
    assert found["size"][0]["first_batch"] == pytest.approx(3.7 / 4.0, abs=1e-3)
    assert found["size"][0]["first_batch_within"]

"""Atomics and divergence as the model sees them: counted by hand, and judged by times that were measured on an H200."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.backend import Peaks
from evaluator.messages import Work
from evaluator.profile import Strain, place, strained
from evaluator.result import Bottleneck, Evaluation, Profile, Status, Timing
from evo.campaign import load_campaign
from evo.diagnosis import diagnosed, strain_by_replay
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.spec import KernelSpec
from genome.transforms.base import Context
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

N, BLOCK = 4096, 128
H200 = Peaks(bandwidth_gbs=4000.0, gflops=60000.0)
HEAD = """\
version: 1
kernel: {{source: kernel.cu}}
arguments:
  - {{name: x, dtype: float32, shape: [n]}}
  - {{name: y, dtype: float32, shape: [{length}], role: inout}}
  - {{name: n, dtype: int32}}
launch: {{domain: n, block: 128}}
sizes: [{{n: 4096}}]
assume: {{no_alias: true, reassociation: true}}
"""
CASCADE = Genome((Gene.of("cascade", Site("y", "atomic.uniform[0]")),))


def spec_of(folder: Path, body: str, length: str = "n") -> KernelSpec:
    (folder / "kernel.cu").write_text(
        "__global__ void f(const float* x, float* y, int n) {\n"
        f"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) {{\n{body}\n  }}\n}}\n"
    )
    (folder / "campaign.yaml").write_text(HEAD.format(length=length))
    return load_campaign(folder / "campaign.yaml").spec


def strain(spec: KernelSpec, genome: Genome | None = None) -> Strain:
    variant = lower(spec, genome or Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant) and not variant.skipped
    return strain_by_replay(spec, BUILTIN, Context(spec, Target.CUDA, DeviceLimits()))(variant, spec.sizes[0])


@pytest.mark.parametrize(("body", "length", "updates", "addresses"), [
    ("atomicAdd(&y[0], x[i]);", "1", N, 1),
    ("atomicAdd(y, x[i]);", "1", N, 1),
    ("atomicAdd(&y[(int)x[i]], 1.0f);", "64", N, 64),
    ("atomicAdd(&y[i], x[i]);", "n", N, N),
    ("for (int k = 0; k < 10; k++) atomicAdd(&y[k % 3], x[i]);", "3", 10 * N, 3),
    ("if (threadIdx.x == 0) atomicAdd(&y[0], x[i]);", "1", N // BLOCK, 1),
    ("y[i] = x[i];", "n", 0, 1),
    ("float old = atomicAdd(&y[1], 1.0f); y[(int)old + 2] = x[i];", "n + 2", N, 1),
])  # fmt: skip
def test_updates_of_global_memory_are_counted(
    tmp_path: Path, body: str, length: str, updates: float, addresses: float
) -> None:
    found = strain(spec_of(tmp_path, body, length))
    assert (found.updates, found.addresses) == (updates, addresses)


def test_a_cascade_leaves_an_update_a_block(tmp_path: Path) -> None:
    """At most: a block whose sum is zero leaves it out."""
    spec = spec_of(tmp_path, "atomicAdd(&y[0], x[i]);", "1")
    assert strain(spec, CASCADE).updates <= N // BLOCK
    assert strain(spec, CASCADE).updates >= N // BLOCK / 2


@pytest.mark.parametrize(("body", "least", "most"), [
    ("y[i] = x[i] * x[i] + 1.0f;", 1.0, 1.0),
    ("if (i < n - 5) y[i] = x[i];", 1.0, 1.0),  # the last warp alone parts
    ("if (n > 3) y[i] = x[i]; else y[i] = x[i] + x[i];", 1.0, 1.0),
    ("if (x[i] > 0.0f) { for (int k = 0; k < 100; k++) y[i] += x[i]; }", 0.5, 0.52),
    ("if (i % 2 == 0) { for (int k = 0; k < 100; k++) y[i] += x[i]; } "
     "else { for (int k = 0; k < 100; k++) y[i] -= x[i]; }", 0.5, 0.52),
    ("for (int k = 0; k < (int)x[i]; k++) y[i] += x[k];", 0.5, 0.7),
    ("for (int k = 0; k < i; k++) y[i] += x[k];", 1.0, 1.0),  # neighbours differ by one
    ("if (threadIdx.x == 0) y[i] = x[i]; for (int k = 0; k < 100; k++) y[i] += x[k];", 0.97, 1.0),
])  # fmt: skip
def test_threads_that_take_part(tmp_path: Path, body: str, least: float, most: float) -> None:
    found = strain(spec_of(tmp_path, body))
    assert least <= found.active <= most
    assert bool(found.where) == (found.active < 1.0)


@pytest.mark.parametrize(("updates", "addresses", "ms", "bottleneck"), [
    (2**27, 1, 235.6, Bottleneck.ATOMICS),  # a sum by an atomicAdd a thread
    (2**27, 256, 16.6, Bottleneck.ATOMICS),  # a histogram by one
    (2**27 / 4096, 1, 0.16, Bottleneck.LATENCY),  # a sum by blocks of 4096
    (0, 1, 2.0, Bottleneck.LATENCY),
])  # fmt: skip
def test_atomics_that_explain_the_time(updates: float, addresses: float, ms: float, bottleneck: Bottleneck) -> None:
    profile = place(Work(bytes=0.1 * ms * 1e6 * H200.bandwidth_gbs), ms, H200)
    assert profile.bottleneck is Bottleneck.LATENCY
    found = strained(profile, Strain(updates, addresses), ms, "gpu")
    assert found.bottleneck is bottleneck
    if bottleneck is Bottleneck.ATOMICS:
        assert "atomic updates" in found.evidence and "(estimated)" in found.evidence
        assert "bottleneck" not in found.measured


def test_what_counters_or_a_ceiling_say_stands() -> None:
    busy = Strain(2**27, 1, 0.3, "`x > 0`")
    counted = Profile(Bottleneck.L2, "counters", measured=("bottleneck",))
    assert strained(counted, busy, 235.6, "gpu") is counted
    near = place(Work(bytes=0.9 * 235.6 * 1e6 * H200.bandwidth_gbs), 235.6, H200)
    assert near.bottleneck is Bottleneck.DRAM and strained(near, busy, 235.6, "gpu") is near


def test_divergence_is_said_with_its_condition(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "if (x[i] > 0.0f) { for (int k = 0; k < 100; k++) y[i] += x[i]; }")
    variant = lower(spec, Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant)
    timing = Timing((1.0,), 1.0, 1.0, 1.0)
    label = spec.sizes[0].label
    profile = place(Work(flops=0.2e6 * H200.gflops, bytes=1.0), 1.0, H200)
    ok = Evaluation(variant.digest(), label, Status.OK, timing=timing, profile=profile)
    by_replay = strain_by_replay(spec, BUILTIN, Context(spec, Target.CUDA, DeviceLimits()))
    items = (ok, replace(ok, fallback=True), replace(ok, timing=None), replace(ok, size="elsewhere"))
    found = diagnosed(items, variant, spec.sizes, by_replay, "gpu")
    assert [item.profile.bottleneck for item in found if item.profile] == [
        Bottleneck.DIVERGENCE, Bottleneck.ISSUE, Bottleneck.ISSUE, Bottleneck.ISSUE]  # fmt: skip
    assert found[0].profile is not None and "x[i] > 0" in found[0].profile.evidence
    assert diagnosed(items, variant, spec.sizes, None, "gpu") == items

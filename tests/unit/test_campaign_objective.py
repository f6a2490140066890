"""What a campaign may optimise, on which device, and under which bounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.objective import Kind, Objective
from evaluator.result import DeviceInfo
from evo.campaign import Campaign, CampaignError, Overrides, load_campaign
from evo.campaign_objective import check_device
from evo.contract import contract

KERNEL = """\
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""
HEAD = """\
version: 1
kernel: {source: kernel.cu}
arguments:
  - {name: x, dtype: float32, shape: [n]}
  - {name: y, dtype: float32, shape: [n], role: out}
  - {name: n, dtype: int32}
launch: {domain: n, block: 64}
sizes: [{n: 1000}]
"""


def load(folder: Path, objective: str, device: str | None = None) -> Campaign:
    (folder / "kernel.cu").write_text(KERNEL)
    (folder / "campaign.yaml").write_text(HEAD + (f"objective: {objective}\n" if objective else ""))
    return load_campaign(folder / "campaign.yaml", Overrides(device=device))


@pytest.mark.parametrize(("text", "objective"), [
    ("", Objective()),
    ("latency", Objective(Kind.LATENCY)),
    ("throughput", Objective(Kind.THROUGHPUT, 4)),
    ("energy", Objective(Kind.ENERGY)),
    ("{kind: throughput, at_once: 8, at_most: {latency_ms: 2}}", Objective(Kind.THROUGHPUT, 8, latency_ms=2.0)),
    ("{kind: latency, at_least: {throughput: 5e3}}", Objective(Kind.LATENCY, 4, throughput=5000.0)),
    ("{kind: energy, at_most: {latency_ms: 0.5}}", Objective(Kind.ENERGY, latency_ms=0.5)),
    ("{kind: latency, at_most: {energy_mj: 7.5}}", Objective(Kind.LATENCY, energy_mj=7.5)),
])  # fmt: skip
def test_objectives_are_read(tmp_path: Path, text: str, objective: Objective) -> None:
    assert load(tmp_path, text).objective == objective


@pytest.mark.parametrize(("text", "said"), [
    ("speed", r":9: objective.kind: expected one of latency, throughput, energy, got 'speed'"),
    ("thruput", r"did you mean 'throughput'"),
    ("{at_once: 4}", r":9: objective.kind: required field is missing"),
    ("{kind: throughput, at_once: 1}", r":9: objective.at_once: expected a number of at least 2, got 1"),
    ("{kind: throughput, at_once: 100}", r"at_once: expected a number of at most 64, got 100"),
    ("{kind: latency, at_once: 4}", r":9: objective.at_once: is for throughput, which this campaign neither"),
    ("{kind: latency, at_most: {latency_ms: 2}}", r"at_most.latency_ms: latency is what is optimised: bound another"),
    ("{kind: throughput, at_least: {throughput: 2}}", r"at_least.throughput: throughput is what is optimised"),
    ("{kind: energy, at_most: {energy_mj: 2}}", r"at_most.energy_mj: energy is what is optimised"),
    ("{kind: throughput, at_most: {latency_ms: 0}}", r"at_most.latency_ms: expected a number of more than 0"),
    ("{kind: throughput, at_most: {latency: 2}}", r"at_most.latency: unknown field; did you mean 'latency_ms'"),
    ("{kind: throughput, at_least: {latency_ms: 2}}", r"at_least.latency_ms: unknown field; possible: throughput"),
    ("[latency]", r":9: objective: expected fields"),
])  # fmt: skip
def test_mistakes_are_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CampaignError, match=said):
        load(tmp_path, text)


@pytest.mark.parametrize("text", ["energy", "{kind: latency, at_most: {energy_mj: 3}}"])
def test_a_device_that_cannot_measure_it_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(CampaignError, match=r"energy is counted on NVIDIA GPUs alone \(by NVML\), not on opencl:0"):
        load(tmp_path, text, "opencl:0")
    assert load(tmp_path, text, "cuda:0").objective.metered
    undecided = load(tmp_path, text)
    here = DeviceInfo("opencl:0", "a device", "v", "x86", "cpu", 2, 1 << 30)
    with pytest.raises(CampaignError, match=r"campaign.yaml: objective: energy is counted on NVIDIA GPUs alone"):
        check_device(undecided.objective, here, undecided.path)
    check_device(undecided.objective, replace(here, id="cuda:0"), undecided.path)


def test_a_bound_is_part_of_what_counts_as_right(tmp_path: Path) -> None:
    """A variant that was refused for its latency may be welcome in another campaign."""
    plain, same = load(tmp_path, ""), load(tmp_path, "throughput")
    bounded = load(tmp_path, "{kind: throughput, at_most: {latency_ms: 2}}")
    assert contract(plain) == contract(same) != contract(bounded)


def test_what_the_figures_mean_is_said(tmp_path: Path) -> None:
    assert load(tmp_path, "").notes == ()
    assert any("4 calls under way" in note for note in load(tmp_path, "throughput").notes)
    assert any("energy" in note for note in load(tmp_path, "energy").notes)

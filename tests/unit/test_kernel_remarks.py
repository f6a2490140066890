"""A kernel that is wrong by itself is told so when a campaign is loaded, and when the device refuses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.api import EvaluatorError
from evo.campaign import load_campaign
from evo.kernel_remarks import explained
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Rejection, Target, Variant

CAMPAIGN = """version: 1
kernel: {source: kernel.cu, entry: k}
arguments:
  - {name: x, dtype: float32, shape: [n], role: in}
  - {name: y, dtype: float32, shape: [n], role: out}
  - {name: z, dtype: float32, shape: [n], role: inout}
  - {name: n, dtype: int32, value: n}
launch: {domain: {x: n}, block: {x: 64}}
sizes: [{n: 65536}]
check_sizes: [{n: 1024}, {n: 2048}, {n: 4096}]
"""
KERNEL = """__global__ void k(const float* x, float* y, float* z, int n) {
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = x[i];
    WAIT
    y[i] = s[63 - threadIdx.x];
    STORE
    for (int j = 0; j < 3; j++) y[i] += z[j];
}
"""


def campaign(folder: Path, **changes: str):
    text = KERNEL
    for name, value in {"WAIT": "__syncthreads();", "STORE": "z[i] = 0.0f;", **changes}.items():
        text = text.replace(name, value)
    (folder / "kernel.cu").write_text(text)
    (folder / "campaign.yaml").write_text(CAMPAIGN)
    return load_campaign(folder / "campaign.yaml")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"WAIT": ""}, "the kernel has a race on s (lines 4 and 6): threads (0) and (63) of a block touch one element"),
        ({"STORE": ""}, "output z is never written by the kernel"),
        ({"STORE": "if (n < 0) z[i] = 0.0f;"}, ""),
        ({"STORE": "float* p = z; p[i] = 0.0f;"}, ""),
        ({"STORE": "atomicAdd(&z[i], 1.0f);"}, ""),
        ({"STORE": "atomicAdd(z + i, 1.0f);"}, ""),
        ({"STORE": "float4* v = reinterpret_cast<float4*>(z); v[i / 4].x = 1.0f;"}, ""),
    ],
)
def test_a_campaign_says_what_is_wrong_with_its_kernel(tmp_path: Path, changes: dict[str, str], words: str) -> None:
    notes = campaign(tmp_path, **changes).notes
    assert len(notes) == bool(words) and all(words in note for note in notes)


def test_the_device_refusal_of_a_racy_kernel_says_so(tmp_path: Path) -> None:
    with pytest.raises(EvaluatorError, match="wrong at n=64; the kernel has a race on s"), explained(
            campaign(tmp_path, WAIT="").spec):  # fmt: skip
        raise EvaluatorError("wrong at n=64")
    with pytest.raises(EvaluatorError, match=r"^wrong at n=64$"), explained(campaign(tmp_path).spec):
        raise EvaluatorError("wrong at n=64")


def test_a_variant_of_a_racy_kernel_is_refused_with_the_word(tmp_path: Path) -> None:
    spec = campaign(tmp_path, WAIT="").spec
    limits = DeviceLimits(max_threads=256)
    assert isinstance(lower(spec, Genome(), BUILTIN, Target.OPENCL, limits), Variant)
    unrolled = Genome((Gene.of("unroll", Site("j", "j"), factor=0),))
    refused = lower(spec, unrolled, BUILTIN, Target.OPENCL, limits)
    assert isinstance(refused, Rejection)
    assert "a race: s" in refused.reason and "as in the kernel that was given" in refused.reason


@pytest.mark.parametrize(
    ("store", "races"),
    [
        ("z[0] += x[i];", True),
        ("z[i] = z[i + 1] + x[i];", True),
        ("z[0] = z[0] * 0.5f + x[i];", True),
        ("z[i] += x[i];", False),
        ("if (i == 0) z[0] += x[i];", False),
        ("if (threadIdx.x == 0 && blockIdx.x == 0) z[0] += x[i];", False),
        ("if (threadIdx.x == 0) z[blockIdx.x] += x[i];", False),
        ("z[n - 1 - i] += x[i];", False),
        ("z[0] = 1.0f;", False),  # all of them store the same
        ("atomicAdd(&z[0], x[i]);", False),
        ("for (int j = i; j < n; j += gridDim.x * blockDim.x) z[j] += x[j];", False),
        ("z[(int)x[i]] += 1.0f;", False),  # may be a permutation
        ("if (i % 2 == 0) z[i / 2] += x[i];", False),
        ("if (x[i] > 0.5f) z[0] += x[i];", False),  # perhaps one of them alone
    ],
)
def test_threads_that_meet_in_global_memory_are_told(tmp_path: Path, store: str, races: bool) -> None:
    (tmp_path / "kernel.cu").write_text(
        "__global__ void k(const float* x, float* y, float* z, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n"
        f"    y[i] = x[i];\n    {store}\n}}\n"
    )
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    notes = load_campaign(tmp_path / "campaign.yaml").notes
    assert [note for note in notes if note.startswith("the kernel has a race on z (lines 5 and 5)")] == list(notes)
    assert bool(notes) == races

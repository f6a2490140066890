"""What a person steers is checked when the campaign is loaded: pins apply, sites exist, nothing contradicts itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evo.campaign import CampaignError, load_campaign

KERNEL = """\
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < M && c < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = sum;
  }
}
"""
GOOD = """\
version: 1
kernel: {source: kernel.cu, entry: matmul}
arguments:
  - {name: A, dtype: float32, shape: [M, K]}
  - {name: B, dtype: float32, shape: [K, N]}
  - {name: C, dtype: float32, shape: [M, N], role: out}
  - {name: M, dtype: int32, value: M}
  - {name: N, dtype: int32, value: N}
  - {name: K, dtype: int32, value: K}
launch:
  domain: {x: N, y: M}
  block: {x: 16, y: 16}
sizes:
  - {M: 64, N: 48, K: 32}
"""


def load(folder: Path, extra: str) -> tuple[str, ...]:
    (folder / "kernel.cu").write_text(KERNEL)
    (folder / "campaign.yaml").write_text(GOOD + extra)
    return load_campaign(folder / "campaign.yaml").spec.steering.pin


def pin(*genes: str) -> str:
    return "transforms: {pin: [" + ", ".join("{" + gene + "}" for gene in genes) + "]}\n"


BAD = {
    "misspelt": (pin("transform: block_shape, site: c, params: {thread: 32}"), "transforms.pin[0].params.thread",
                 "unknown parameter; did you mean 'threads'?"),
    "missing": (pin("transform: block_shape, site: c"), "transforms.pin[0].params",
                "`threads:` is missing; possible: 1"),
    "one too many": (pin("transform: block_shape, site: c, params: {threads: 32, pad: 1}"),
                     "transforms.pin[0].params.pad", "unknown parameter; possible: threads"),
    "takes none": (pin("transform: axis_swap, site: r, params: {threads: 32}"), "transforms.pin[0].params.threads",
                   "it takes none"),
    "out of the domain": (pin("transform: block_shape, site: c, params: {threads: 5000}"), "transforms.pin[0]",
                          "at most (1024, 1024, 64) threads"),
    "text for a number": (pin("transform: unroll, site: k, params: {factor: much}"), "transforms.pin[0].params.factor",
                          "expected a number like 2, 4, 8, 16, got 'much'"),
    "a negative number": (pin("transform: strip, site: k, params: {factor: -1}"), "transforms.pin[0].params.factor",
                          "expected a number like 4, 8"),
    "true for a number": (pin("transform: block_shape, site: c, params: {threads: true}"),
                          "transforms.pin[0].params.threads", "got True"),
    "no such site": (pin("transform: block_shape, site: i, params: {threads: 32}"), "transforms.pin[0].site",
                     "possible: c, r"),
    "needs a grant": (pin("transform: restrict, site: arguments"), "transforms.pin[0]", "assume.no_alias"),
    "needs another": (pin("transform: register_tile, site: instances"), "transforms.pin[0].site",
                      "only once other genes are"),
    "role for a label": (pin("transform: unroll, site: 'reduction[0]', params: {factor: 4}"), "transforms.pin[0].site",
                         "write `site: {label: k, role: 'reduction[0]'}`"),
    "in front of what it needs": (pin("transform: unroll, site: k_inner, params: {factor: 0}",
                                      "transform: strip, site: k, params: {factor: 8}"),
                                  "transforms.pin[0].site", "only once other genes are"),
    "pinned twice": (pin("transform: unroll, site: k, params: {factor: 4}",
                         "transform: unroll, site: k, params: {factor: 8}"),
                     "transforms.pin[1]", "pinned twice"),
    "unknown transform": (pin("transform: unrol, site: k"), "transforms.pin[0].transform", "did you mean 'unroll'"),
    "wrong target": ("device: opencl:0\n" + pin("transform: launch_bounds, site: launch, params: {blocks: 2}"),
                     "transforms.pin[0]", "cannot be printed for opencl"),
    "too many together": (pin("transform: block_shape, site: c, params: {threads: 256}",
                              "transform: block_shape, site: r, params: {threads: 64}"),
                          "transforms.pin", "over the limit of 1024"),
    "pinned and forbidden": ("transforms: {forbid: ['@k'], pin: [{transform: unroll, site: k, params: {factor: 4}}]}\n",
                             "transforms.pin[0]", "forbidden too"),
    "empty site": ("transforms: {forbid: ['@']}\n", "transforms.forbid[0]", "expected `transform`"),
    "empty text": ("transforms: {forbid: ['']}\n", "transforms.forbid[0]", "expected `transform`"),
    "empty site of one": ("transforms: {forbid: ['unroll@']}\n", "transforms.forbid[0]", "expected `transform`"),
    "unknown site": ("transforms: {forbid: ['@zz']}\n", "transforms.forbid[0]", "possible: "),
    "misspelt site": ("transforms: {forbid: ['unroll@k_iner']}\n", "transforms.forbid[0]", "did you mean 'k_inner'?"),
    "site of another": ("transforms: {focus: ['unroll@A']}\n", "transforms.focus[0]", "possible: k"),
    "focus on nothing yet": ("transforms: {focus: ['unroll@k_inner']}\n", "transforms.focus", "leaves nothing"),
    "focus ungranted": ("transforms: {focus: [restrict]}\n", "transforms.focus", "assume.no_alias"),
    "focus forbidden": ("transforms: {focus: [unroll], forbid: ['@k']}\n", "transforms.focus", "leaves nothing"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_steering_is_refused(tmp_path: Path, name: str) -> None:
    extra, field, words = BAD[name]
    with pytest.raises(CampaignError) as caught:
        load(tmp_path, extra)
    line = 14 + extra.count("\n")
    assert str(caught.value).startswith(f"{tmp_path}/campaign.yaml:{line}: {field}: "), caught.value
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "extra",
    [
        pin("transform: unroll, site: k, params: {factor: 4}"),
        pin("transform: register_tile, site: instances", "transform: coarsen_blocked, site: c, params: {factor: 2}",
            "transform: strip, site: k, params: {factor: 8}", "transform: unroll, site: k_inner, params: {factor: 0}"),
        pin("transform: strip, site: {label: anything, role: 'reduction[0]'}, params: {factor: 8}"),
        pin("transform: launch_bounds, site: launch, params: {blocks: 2}"),
        "assume: {no_alias: true}\n" + pin("transform: restrict, site: arguments"),
        "transforms: {forbid: ['@k_inner', 'unroll@k', '@parallel.x', '@6', shared_tile]}\n",
        "transforms: {focus: [unroll, block_shape@c]}\n",
    ],
)  # fmt: skip
def test_good_steering_is_taken(tmp_path: Path, extra: str) -> None:
    for text in load(tmp_path, extra):
        assert json.loads(text)["transform"]

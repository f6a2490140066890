"""The output folder of a hand-made result: every file, its content, and that best.cu compiles."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.api import Comparison, SizeComparison
from evaluator.result import Bottleneck, DeviceInfo, Evaluation, Profile, Status, Timing, Toolchain
from evo.campaign import Campaign, load_campaign
from evo.report.charts import agents_png
from evo.report.outputs import write_outputs
from evo.result import (
    AgentTally,
    ArchiveEntry,
    CampaignResult,
    Counts,
    CreditPoint,
    GeneShare,
    HistoryPoint,
    Quarantined,
    StopReason,
    SurrogateReport,
)
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

KERNEL = """\
#define SCALE 2.0f
__device__ float scaled(float v) { return v * SCALE; }
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < M && c < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = scaled(sum);
  }
}
"""
CAMPAIGN = """\
version: 1
name: product <b>
kernel: {source: kernel.cu, entry: matmul}
arguments:
  - {name: A, dtype: float32, shape: [M, K]}
  - {name: B, dtype: float32, shape: [K, N]}
  - {name: C, dtype: float32, shape: [M, N], role: out}
  - {name: M, dtype: int32}
  - {name: N, dtype: int32}
  - {name: K, dtype: int32}
launch: {domain: {x: N, y: M}, block: [16, 16]}
sizes:
  - {M: 512, N: 512, K: 512}
  - {M: 500, N: 500, K: 500}
assume: {no_alias: true, alignment: 64, reassociation: true}
"""
AGENTS = ("memory-layout", "computation", "parallelism", "recall", "crossover", "local-search")
GENOME = Genome((
    Gene.of("coarsen_blocked", Site("c", "parallel.x"), factor=8),
    Gene.of("coarsen_blocked", Site("r", "parallel.y"), factor=4),
    Gene.of("register_tile", Site("instances", "parallel")),
    Gene.of("strip", Site("k", "reduction[0]"), factor=8),
    Gene.of("restrict", Site("arguments", "arguments")),
    Gene.of("unroll", Site("nowhere", "loop[9]"), factor=4),
))  # fmt: skip


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    (tmp_path / "kernel.cu").write_text(KERNEL)
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    return load_campaign(tmp_path / "campaign.yaml")


def lowered(campaign: Campaign, genome: Genome, target: Target = Target.OPENCL) -> Variant:
    variant = lower(campaign.spec, genome, BUILTIN, target, DeviceLimits())
    assert isinstance(variant, Variant)
    return variant


def profile(gflops: float, bottleneck: Bottleneck) -> Profile:
    return Profile(bottleneck, "", 2.0 * 512**3, 3 * 4.0 * 512**2, gflops, gflops / 85, gflops / 140)


def history() -> tuple[HistoryPoint, ...]:
    chance, best, points = random.Random(3), 1.0, []
    for number in range(1, 71):
        value = math.exp(chance.gauss(min(number / 16, 2.9), 0.7)) if chance.random() > 0.08 else None
        best = max(best, value or 0.0)
        agent = chance.choice(AGENTS)
        status = "ok" if value else "wrong"
        points.append(HistoryPoint(number * 2.0, number, value, best, agent, status, f"{number:016x}"))
    return tuple(points)


def credit() -> tuple[CreditPoint, ...]:
    points = []
    for number in range(0, 80, 4):
        weights = [1 + 0.05 * number * (name == "memory-layout") + 0.02 * number * (name == "computation")
                   for name in AGENTS]  # fmt: skip
        total = sum(weights)
        points.append(CreditPoint(number, tuple((n, w / total) for n, w in zip(AGENTS, weights, strict=True))))
    return tuple(points)


def make_result(campaign: Campaign) -> CampaignResult:
    best, baseline = lowered(campaign, GENOME), lowered(campaign, Genome())
    rows = (
        SizeComparison("M=512,N=512,K=512", 131.2, 5.21, 25.2, 24.6, 25.8),
        SizeComparison("M=500,N=500,K=500", 118.9, 9.6, 12.4, 12.0, 12.7),
    )
    worth = ((3.1, 0.34), (1.9, 0.2), (4.2, 0.38), (1.2, 0.06), (1.05, 0.02))
    shares = tuple(
        GeneShare(gene, "words", 17.7, 17.7 / factor, factor, share)
        for gene, (factor, share) in zip(best.genome.genes, worth, strict=True)
    )
    labels = [row.size for row in rows]
    return CampaignResult(
        kernel="matmul",
        device=DeviceInfo("opencl:0", "pthread-Xeon <x>", "GenuineIntel", "x86_64", "cpu", 2, 24 << 30,
                          bandwidth_gbs=20, peak_gflops=140),
        toolchain=Toolchain("PoCL 3.0", "3.0", "LLVM 14"),
        seed=1,
        baseline=baseline,
        best=best,
        best_agent="crossover",
        improved=True,
        comparison=Comparison(best.digest(), rows, 17.7, 17.2, 18.1, True, processes=5,
                              checks=(Evaluation(best.digest(), "M=97,N=131,K=61", Status.OK, fallback=True),)),
        stop=StopReason.EVALUATIONS,
        explanation=shares,
        alternatives=(ArchiveEntry(lowered(campaign, Genome(GENOME.genes[:3])), 14.1, "computation", "threads 256"),),
        quarantined=(Quarantined(baseline, 900.0, "recall", "faster than the memory allows"),),
        baseline_evaluations=tuple(Evaluation(baseline.digest(), label, Status.OK, timing=Timing((1,), 130, 129, 131))
                                   for label in labels),
        profile_before=tuple((label, profile(2.0, Bottleneck.LATENCY)) for label in labels),
        profile_after=tuple((label, profile(speed, Bottleneck.COMPUTE))
                            for label, speed in zip(labels, (51, 25), strict=True)),
        history=history(),
        credit=credit(),
        agents=tuple(AgentTally(name, 20, 14 - n, 5 - n // 2, 1 if n < 2 else 0, 1, 2)
                     for n, name in enumerate(AGENTS)),
        surrogate=SurrogateReport(120, 6, 0.71, 0.83, 22, 8),
        counts=Counts(110, 70, 22, 9, 6, 4, 2, 3, 1),
        versions={"evo-tune": "0.1.0", "python": "3.11"},
        notes=("2 of 3 champions were measured again.",),
        campaign_id=4,
        elapsed_s=143.2,
    )  # fmt: skip


@pytest.fixture
def written(campaign: Campaign, tmp_path: Path) -> tuple[CampaignResult, Path]:
    result = make_result(campaign)
    write_outputs(campaign, result, tmp_path / "a" / "out")
    return result, tmp_path / "a" / "out"


def test_every_file_is_there_and_no_temporary_one(written: tuple[CampaignResult, Path]) -> None:
    _, folder = written
    assert {path.name for path in folder.iterdir()} == {
        "best.cu", "best.cl", "best.json", "variant-2.cu", "changes.md", "report.html", "convergence.png", "agents.png",
        "roofline.png",
    }  # fmt: skip


def test_best_json_has_the_promised_keys(written: tuple[CampaignResult, Path]) -> None:
    result, folder = written
    data = json.loads((folder / "best.json").read_text())
    for key in ("kernel", "device", "sizes", "genome", "steps", "options", "speedup", "verified", "evaluations",
                "pruned", "rejected", "seed", "versions"):  # fmt: skip
        assert key in data
    assert data["speedup"] == {"median": 17.7, "low": 17.2, "high": 18.1}
    assert data["sizes"][0]["size"] == {"M": 512, "N": 512, "K": 512}
    assert data["sizes"][1]["baseline_ms"] == 118.9
    assert Genome.from_json(data["genome"]) == result.best.genome
    assert data["steps"][0]["block"] == [16, 16, 1]


def test_an_unproven_result_reports_the_times_of_the_search(campaign: Campaign, tmp_path: Path) -> None:
    result = make_result(campaign)
    cut = Comparison(result.best.digest(), (), 12.0, 12.0, 12.0, False, "stopped by the user")
    write_outputs(campaign, replace(result, comparison=cut, stop=StopReason.INTERRUPTED), tmp_path / "out")
    data = json.loads((tmp_path / "out" / "best.json").read_text())
    assert data["verified"] is False
    assert data["sizes"][0]["baseline_ms"] == 130
    assert "not verified" in (tmp_path / "out" / "report.html").read_text()


def test_changes_name_every_gene_with_its_share_and_the_skipped_one(written: tuple[CampaignResult, Path]) -> None:
    result, folder = written
    text = (folder / "changes.md").read_text()
    for gene in result.best.genome.genes:
        assert f"`{gene.transform}@{gene.site.label}" in text
    assert "38% of the gain" in text
    assert result.best.skipped and result.best.skipped[0].reason in text


def test_page_is_self_contained_and_escapes_names(written: tuple[CampaignResult, Path]) -> None:
    page = (written[1] / "report.html").read_text()
    assert "17.7x" in page and "pthread-Xeon &lt;x&gt;" in page and "<x>" not in page
    assert page.count("data:image/png;base64,") == 3
    assert "http" not in page.replace("http-equiv", "")


def test_pictures_are_png(written: tuple[CampaignResult, Path]) -> None:
    for name in ("convergence.png", "agents.png", "roofline.png"):
        assert (written[1] / name).read_bytes().startswith(b"\x89PNG")


def test_a_failed_write_leaves_the_old_file(written: tuple[CampaignResult, Path], campaign: Campaign) -> None:
    result, folder = written
    (folder / "best.json").unlink()
    (folder / "best.json").mkdir()
    with pytest.raises(OSError):
        write_outputs(campaign, result, folder)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
@pytest.mark.parametrize("name", ["best.cu", "variant-2.cu"])
def test_exported_kernels_compile(written: tuple[CampaignResult, Path], tmp_path: Path, name: str) -> None:
    command = ["nvcc", "-Werror", "all-warnings", "-arch=sm_80", "-c", str(written[1] / name), "-o"]
    command.append(str(tmp_path / "best.o"))
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_a_result_without_a_gain_says_so(campaign: Campaign, tmp_path: Path) -> None:
    result = make_result(campaign)
    rows = (SizeComparison("M=512,N=512,K=512", 131.2, 131.2, 1.0, 1.0, 1.0),)
    proof = Comparison(result.baseline.digest(), rows, 1.0, 1.0, 1.0, True)
    none = replace(result, best=result.baseline, improved=False, comparison=proof, explanation=())
    write_outputs(campaign, none, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "No gain" in page and "0 fresh processes" not in page
    assert "Nothing was changed" in (tmp_path / "out" / "changes.md").read_text()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("proposals", [(), (4,), (4, 4), (4, 9)])
def test_a_search_of_a_few_proposals_has_its_pictures(campaign: Campaign, proposals: tuple[int, ...]) -> None:
    points = tuple(CreditPoint(number, (("memory-layout", 1.0),)) for number in proposals)
    assert agents_png(replace(make_result(campaign), credit=points)).startswith(b"\x89PNG")

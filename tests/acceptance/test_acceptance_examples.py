"""Every example runs, verifies, and writes what it promises; the CUDA that it prints compiles."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SMALLER = {
    "matmul": [{"M": 128, "N": 128, "K": 128}],
    "transpose": [{"W": 512, "H": 512}],
    "stencil": [{"W": 512, "H": 512}],
    "nbody": [{"n": 640}],
    "gelu": [{"n": 50000}],
    "softmax": [{"rows": 256, "cols": 256}],
    "layernorm": [{"rows": 256, "cols": 256}],
    "gemv": [{"M": 512, "N": 512}],
    "sum": [{"n": 20000}],
    "histogram": [{"n": 50000}],
    "conv3x3": [{"IC": 4, "OC": 4, "H": 64, "W": 64}],
    "vector_add": [{"n": 50000}],
}
PROMISED = ("best.cu", "best.cl", "best.json", "changes.md", "report.html")
FIELDS = {"kernel", "device", "sizes", "genome", "steps", "options", "speedup", "verified", "evaluations", "pruned",
          "rejected", "seed", "versions"}  # fmt: skip


@pytest.mark.parametrize("example", sorted(SMALLER))
def test_example(example: str, shared_program: Any, write_campaign: Callable[..., Path]) -> None:
    campaign = write_campaign(example, sizes=SMALLER[example], budget={"evaluations": 4, "minutes": 2})
    done = shared_program("run", campaign, "--json")
    assert done.returncode == 0, done.stderr
    best = json.loads(done.stdout)
    assert best.keys() >= FIELDS
    assert best["verified"] is True
    assert best["speedup"]["low"] <= best["speedup"]["median"] <= best["speedup"]["high"]
    assert [row["size"] for row in best["sizes"]] == SMALLER[example]

    results = campaign.parent / "results"
    assert json.loads((results / "best.json").read_text()) == best
    assert [name for name in PROMISED if not (results / name).exists()] == []
    assert list(results.glob("*.png"))
    page = (results / "report.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "<script src" not in page
    compile_cuda(results / "best.cu")


def compile_cuda(source: Path) -> None:
    """nvcc takes the file as it stands, host launcher included (where nvcc is installed)."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return
    done = subprocess.run(
        [nvcc, "-c", source.name, "-o", "/dev/null"], cwd=source.parent, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr

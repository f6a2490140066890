"""On a GPU, what no comparison shows: a read past the end, and a race between two accesses to shared memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.sanitize import sanitizer
from tests.adversarial.arena import AXPB, whole
from tests.adversarial.test_forbidden_page import AHEAD

pytestmark = pytest.mark.gpu

HEAD = "KERNEL void axpb(GLOBAL const float *A, GLOBAL const float *B, GLOBAL float *C, int N) { SHARED float t[64]; "
RACE = (
    f"{HEAD} int i = GID; t[LID] = i < N ? A[i] : 0.0f; "
    "if (i < N) C[i] = 1.5f * (t[LID] + 0.0f * t[LID / 32 * 32]) + B[i]; }"
)


@pytest.fixture(autouse=True)
def needs_the_tool(on_gpu: bool, device: str) -> None:
    if not device.startswith("cuda:"):
        pytest.skip("compute-sanitizer watches NVIDIA GPUs only: choose one with --device cuda:0")
    if not sanitizer():
        pytest.skip("compute-sanitizer is not on PATH")


@pytest.mark.parametrize(
    ("text", "tool"), [(AHEAD, "memcheck: Invalid __global__ read of size 4 bytes"), (RACE, "racecheck: ")]
)
def test_finalists_are_inspected(device: str, cache: Path, tmp_path: Path, text: str, tool: str) -> None:
    right = AXPB.good + "\n"
    with whole(AXPB, device, tmp_path, cache, sanitizer=False) as evaluator:
        baseline, variant = (AXPB.variant(source, evaluator.target) for source in (AXPB.good, text))
        (accepted,) = evaluator.compare(baseline, [variant], 1, lambda done, of: None)
        assert accepted.verified, accepted.message
    with whole(AXPB, device, tmp_path, cache) as evaluator:
        honest = AXPB.variant(right, evaluator.target)
        refused, passed = evaluator.compare(baseline, [variant, honest], 1, lambda done, of: None)
        assert not refused.verified and refused.message.startswith(f"compute-sanitizer, {tool}")
        assert passed.verified and "gave no report" not in passed.note, passed

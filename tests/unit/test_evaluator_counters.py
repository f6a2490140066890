"""Hardware counters: a report that was recorded on an H200, and what is concluded from counters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evaluator.cuda.counters import METRICS, command, counted_profile, diagnose, read_report
from evaluator.result import Bottleneck, Profile

RECORDED = Path(__file__).parent.parent / "data/recorded/ncu_matmul.csv"
IDLE = {"dram_percent": 5.0, "l2_percent": 10.0, "issue_percent": 20.0, "threads_per_instruction": 32.0}


def test_a_recorded_report_is_read() -> None:
    counted = read_report(RECORDED.read_text())
    assert counted.note == ""
    assert set(counted.values) <= set(METRICS.values()) and len(counted.values) >= 20
    assert counted.values["duration_ns"] == 419_168
    assert counted.values["dram_bytes"] == 8_395_008  # the two 4 MB inputs of a product of order 1024
    assert counted.values["threads_per_instruction"] == 32
    assert counted.values["l1_hit_percent"] == 87.73


def test_kernels_of_a_report_count_together() -> None:
    lines = RECORDED.read_text().splitlines()
    doubled = "\n".join([*lines, lines[-1].replace('"419,168"', '"838,336"').replace('"87.73"', '"27.73"')])
    counted = read_report(doubled).values
    assert counted["duration_ns"] == 3 * 419_168 and counted["dram_bytes"] == 2 * 8_395_008
    assert counted["l1_hit_percent"] == pytest.approx((87.73 + 2 * 27.73) / 3)


@pytest.mark.parametrize(
    ("report", "note"),
    [
        ("", "no kernel"),
        ("==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "ERR_NVGPUCTRPERM"),
        ('"ID","Kernel Name"\n"",""\n"0","matmul"\n', "no kernel"),
    ],
)
def test_a_report_without_counters_says_why(report: str, note: str) -> None:
    counted = read_report(report)
    assert not counted.values and note in counted.note


def test_only_the_variants_kernels_are_counted() -> None:
    words = command("/bin/ncu", ["stage_1", "stage_2", "stage_1"], "/tmp/report")
    pattern = words[words.index("--kernel-name") + 1].removeprefix("regex:")
    assert re.match(pattern, "stage_1") and re.match(pattern, "stage_2")
    assert not re.match(pattern, "stage_10") and not re.match(pattern, "sweep")
    assert words[words.index("--clock-control") + 1] == "none"


@pytest.mark.parametrize(
    ("counters", "verdict", "words"),
    [
        ({"dram_percent": 91.0}, Bottleneck.DRAM, "dram 91%"),
        ({"l2_percent": 80.0}, Bottleneck.L2, "l2 80%"),
        ({"l2_percent": 80.0, "reduction_requests": 5e6}, Bottleneck.ATOMICS, "5e+06 atomic requests"),
        ({"l1_percent": 85.0}, Bottleneck.L2, "l1 85%"),
        ({"shared_percent": 85.0, "l1_percent": 90.0}, Bottleneck.SHARED, "shared 85%"),
        ({"fma_percent": 75.0, "issue_percent": 70.0}, Bottleneck.COMPUTE, "compute 75%"),
        ({"issue_percent": 75.0}, Bottleneck.ISSUE, "issue 75%"),
        ({"issue_percent": 75.0, "threads_per_instruction": 9.0}, Bottleneck.DIVERGENCE, "28% of a warp's threads"),
        ({"occupancy_percent": 20.0, "stall_global_memory": 9.0}, Bottleneck.LATENCY, "wait mostly for global memory"),
    ],
)
def test_the_busiest_unit_limits_or_else_waiting(counters: dict[str, float], verdict: Bottleneck, words: str) -> None:
    found, evidence = diagnose({**IDLE, **counters})
    assert found is verdict and words in evidence


def test_a_profile_says_what_was_counted() -> None:
    before = Profile(Bottleneck.ISSUE, "a guess", flops=1.0)
    after = counted_profile(before, {**IDLE, "dram_percent": 90.0})
    assert after.bottleneck is Bottleneck.DRAM and after.flops == 1.0
    assert after.measured == ("bottleneck", "evidence", "counters")
    assert dict(after.counters)["dram_percent"] == 90.0
    assert counted_profile(before, {}) == before

"""Hardware counters of a kernel by Nsight Compute, where ``ncu`` is on PATH and may read them.

The variant runs once, in a process of its own under ``ncu``, which repeats each kernel until it has all counters, with
cold caches. Clocks are left alone (``--clock-control none``): other people's work may run on the same device.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.result import Bottleneck, Profile

METRICS: Mapping[str, str] = {
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram_percent",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "l2_percent",
    "l1tex__throughput.avg.pct_of_peak_sustained_active": "l1_percent",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm_percent",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed": "shared_percent",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active": "fma_percent",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue_percent",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy_percent",
    "l1tex__t_sector_hit_rate.pct": "l1_hit_percent",
    "lts__t_sector_hit_rate.pct": "l2_hit_percent",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio": "sectors_per_load",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio": "sectors_per_store",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "bank_conflicts",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "threads_per_instruction",
    "lts__t_requests_op_atom.sum": "atomic_requests",
    "lts__t_requests_op_red.sum": "reduction_requests",
    "dram__bytes.sum": "dram_bytes",
    "gpu__time_duration.sum": "duration_ns",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": "stall_global_memory",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio": "stall_shared_memory",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": "stall_barrier",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio": "stall_memory_queue",
    "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio": "stall_shared_queue",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio": "stall_arithmetic",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": "stall_fixed_latency",
    "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio": "stall_not_selected",
}
"""Name at ncu -> name in a profile. Percentages are of the device's peak; stalls are warps that wait for that reason
whenever an instruction is issued."""

_SUMS = ("bank_conflicts", "atomic_requests", "reduction_requests", "dram_bytes", "duration_ns")
_BUSY = 60.0  # percent of a unit's peak from which it is said to limit
_WARP = 32
_DIVERGENT = 0.6  # share of the threads of a warp that take part in an instruction, below which the rest is missed


@dataclass(frozen=True)
class Counted:
    """Counters by name (see ``METRICS``), and why there are none."""

    values: Mapping[str, float]
    note: str = ""


def ncu() -> str:
    """Path of the program; empty if it is not on PATH."""
    return shutil.which("ncu") or ""


def command(program: str, entries: Iterable[str], report: str) -> tuple[str, ...]:
    """What stands before the command line of the process whose kernels are counted.

    Args:
        program: See ``ncu``.
        entries: Names of the kernels; the evaluator's own are left out.
        report: File for the counters.
    """
    names = "|".join(sorted(set(map(re.escape, entries))))
    return (
        program, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
        "--metrics", ",".join(METRICS), "--kernel-name-base", "function", "--kernel-name", f"regex:^({names})$",
        "--log-file", report,
    )  # fmt: skip


def read_report(text: str) -> Counted:
    """The counters of all kernels in a report together: sums are added, the rest is weighted by their durations."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    problems = [line for line in text.splitlines() if line.startswith("==ERROR==")]
    rows = list(csv.DictReader(lines))
    kernels = [_numbers(row) for row in rows[1:]]  # the first line below the header holds the units
    kernels = [kernel for kernel in kernels if kernel]
    if not kernels:
        return Counted({}, problems[0].removeprefix("==ERROR==").strip() if problems else "ncu counted no kernel")
    names = {name for kernel in kernels for name in kernel}
    return Counted({name: _together(name, kernels) for name in METRICS.values() if name in names})


def _numbers(row: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for metric, name in METRICS.items():
        text = (row.get(metric) or "").replace(",", "")
        if re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text):
            found[name] = float(text)
    return found


def _together(name: str, kernels: Sequence[Mapping[str, float]]) -> float:
    having = [kernel for kernel in kernels if name in kernel]
    if name in _SUMS:
        return sum(kernel[name] for kernel in having)
    weights = [kernel.get("duration_ns", 1.0) or 1.0 for kernel in having]
    return sum(kernel[name] * weight for kernel, weight in zip(having, weights, strict=True)) / sum(weights)


def counted_profile(profile: Profile, counters: Mapping[str, float]) -> Profile:
    """The profile with what was counted: the counters themselves, and the bottleneck that they show."""
    if not counters:
        return profile
    verdict, evidence = diagnose(counters)
    measured = (*dict.fromkeys((*profile.measured, "bottleneck", "evidence", "counters")),)
    return replace(
        profile, bottleneck=verdict, evidence=evidence, measured=measured, counters=tuple(sorted(counters.items()))
    )


def diagnose(counters: Mapping[str, float]) -> tuple[Bottleneck, str]:
    """What limits a kernel, and the evidence in one sentence: the busiest unit, or what the warps wait for.

    The L1 cache and shared memory are one memory: where shared accesses make up most of its work, they limit. A busy
    L1 cache otherwise counts as the caches' bandwidth (``L2``), which the same changes relieve.
    """
    percent = {name: counters.get(f"{name}_percent", 0.0) for name in ("dram", "l2", "l1", "shared", "fma", "issue")}
    shared = percent["shared"] > 0.5 * percent["l1"]
    units = {
        Bottleneck.DRAM: percent["dram"],
        Bottleneck.L2: percent["l2"] if shared else max(percent["l2"], percent["l1"]),
        Bottleneck.SHARED: max(percent["shared"], percent["l1"]) if shared else percent["shared"],
        Bottleneck.COMPUTE: percent["fma"],
        Bottleneck.ISSUE: percent["issue"],
    }
    shown = ", ".join(f"{'compute' if name == 'fma' else name} {value:.0f}%" for name, value in percent.items())
    busiest = max(units, key=lambda unit: units[unit])
    if units[busiest] < _BUSY:
        return Bottleneck.LATENCY, _waiting(counters, shown)
    active = counters.get("threads_per_instruction", float(_WARP)) / _WARP
    if busiest in (Bottleneck.COMPUTE, Bottleneck.ISSUE) and active < _DIVERGENT:
        return Bottleneck.DIVERGENCE, f"{active:.0%} of a warp's threads take part in an instruction ({shown})"
    atomics = counters.get("atomic_requests", 0.0) + counters.get("reduction_requests", 0.0)
    if busiest is Bottleneck.L2 and atomics > 0.0 and percent["l2"] >= _BUSY:
        return Bottleneck.ATOMICS, f"{atomics:.3g} atomic requests at the L2 cache ({shown})"
    return busiest, f"counters: {shown} of their peaks"


def _waiting(counters: Mapping[str, float], shown: str) -> str:
    stalls = {name: value for name, value in counters.items() if name.startswith("stall_")}
    worst = max(stalls, key=lambda name: stalls[name], default="")
    why = f", warps wait mostly for {worst.removeprefix('stall_').replace('_', ' ')}" if worst else ""
    occupancy = counters.get("occupancy_percent", 0.0)
    return f"no unit is busy ({shown}) at an occupancy of {occupancy:.0f}%{why}"

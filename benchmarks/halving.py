"""Timed runs that racing against the best so far takes, and those of halving a cohort, on recorded times.

    python benchmarks/halving.py [benchmarks/results/gpu_speed.json]

The times are those of distinct sgemm variants on one device, in random orders. Both designs give a variant that they
keep the same number of runs; warm-ups, checks and compilation are the same for both and left out.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

FULL = 40
RUNGS = ((5, 2.0), (10, 1.5), (20, 1.2))  # runs after which a median above so many times the best ends
CUTOFF, QUICK = 4.0, 3
ORDERS = 300

Spent = tuple[float, int, int]
"""(milliseconds of kernels, timed runs, variants timed in full)."""


def racing(times: Sequence[float]) -> Spent:
    """Each variant by itself, as it comes, against the best so far."""
    best, ms, runs, full = float("inf"), 0.0, 0, 0
    for time in times:
        count = next((rung for rung, factor in RUNGS if time > factor * best), FULL)
        count = QUICK if time > CUTOFF * best else count
        ms, runs, full, best = ms + count * time, runs + count, full + (count == FULL), min(best, time)
    return ms, runs, full


def halving(times: Sequence[float], cohort: int) -> Spent:
    """Cohorts, whose better half goes on to the next rung."""
    ms, runs, full = 0.0, 0, 0
    for start in range(0, len(times), cohort):
        group, done = sorted(times[start : start + cohort]), 0
        for count in (*(rung for rung, _ in RUNGS), FULL):
            ms, runs = ms + (count - done) * sum(group), runs + (count - done) * len(group)
            full, done = full + len(group) * (count == FULL), count
            group = group[: max(1, len(group) // 2)]
    return ms, runs, full


def main() -> None:
    """Prints means over random orders, and both ends: the worst variant first, the best one first."""
    default = Path(__file__).parent / "results" / "gpu_speed.json"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    times: list[float] = json.loads(path.read_text())["variants_a_second"]["times_ms"]
    designs: dict[str, Callable[[Sequence[float]], Spent]] = {"racing": racing}
    designs |= {f"halving {size}": lambda order, size=size: halving(order, size) for size in (8, 16, 32)}
    rng = random.Random(1)
    orders = [rng.sample(times, len(times)) for _ in range(ORDERS)]
    for name, design in designs.items():
        found = [design(order) for order in orders]
        mean = [statistics.mean(row[field] for row in found) for field in range(3)]
        worst, best = design(sorted(times, reverse=True)), design(sorted(times))
        print(f"{name:11} {mean[0]:5.0f} ms {mean[1]:5.0f} runs {mean[2]:5.1f} in full; "
              f"worst first {worst[0]:5.0f} ms, best first {best[0]:5.0f} ms")  # fmt: skip


if __name__ == "__main__":
    main()

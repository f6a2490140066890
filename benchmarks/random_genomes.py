"""Genomes drawn at random, executed against what the kernel computes: none may be wrong, none may fail to compile.

    python benchmarks/random_genomes.py FILE [--device cuda:0] [--count 10000] [--seconds 280] [--jobs 6]
        [--compilers 2] [--part 240] [--seed 1] [--kernels matmul sum ...] [--tests]

Each kernel of the examples (and a half-precision product on CUDA), and with ``--tests`` each of those that the tests
transform, gets an equal share of ``--count`` executed genomes. A genome is drawn (see ``genome_walks.py``), lowered
for the device, compiled, and executed at an even size and three awkward ones (a prime tail, less than a block, much
longer one way) with every defence of the evaluator: outputs poisoned with two patterns, buffers between canaries,
inputs of two sets and of extreme magnitudes, repeated runs; outputs are compared with the example's reference (of the
tests' kernels with what the untransformed one gives) within its tolerance, or a multiple of the kernel's own error.
On a CPU, where a genome takes seconds, parts of ten lose less when the time is over.

Genomes are distinct; those that lower to a source that was executed before are counted apart and not executed again.
FILE holds the counts, the reasons, and every failing genome with its kernel, size, seed and part. The work goes in
parts, each with a random stream of its own (seed and number of the part): started again with the same FILE, the script
goes on with the next part until ``--count`` is reached. The exit code is 0 if there are no failures.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from random_part import CUDA_ONLY, SIZES, Ask, Found, kernels_of_tests, run_part
from running import machine

from evaluator.devices import facts_of

EXECUTED = ("right", "wrong", "its guard holds at no size")


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=280.0)
    parser.add_argument("--jobs", type=int, default=max(1, 3 * (os.cpu_count() or 2) // 8))
    parser.add_argument("--compilers", type=int, default=2)
    parser.add_argument("--part", type=int, default=240, help="genomes of a part at most")
    parser.add_argument("--seed", type=int, default=1)
    names = [*SIZES, *kernels_of_tests()]
    parser.add_argument("--kernels", nargs="*", choices=names, default=list(SIZES), metavar="NAME")
    parser.add_argument("--tests", action="store_true", help="the kernels of the tests as well")
    options = parser.parse_args()
    options.kernels += kernels_of_tests() if options.tests else ()
    if options.device.startswith("opencl"):
        options.kernels = [kernel for kernel in options.kernels if kernel not in CUDA_ONLY]
    record = opened(options)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="evo-tune-") as cache:
        for kernel, part, found in parts(options, record, start, cache):
            booked(record, kernel, part, found, time.monotonic() - start)
            save(options.file, record)
    record["wall_s"] = round(record.get("wall_s", 0.0) + time.monotonic() - start, 1)
    save(options.file, record)
    print(summary(record))
    return 1 if record["failures"] else 0


def opened(options: argparse.Namespace) -> dict[str, Any]:
    """What the file holds, or a new record."""
    if options.file.exists():
        known: dict[str, Any] = json.loads(options.file.read_text())
        return known
    facts = facts_of(options.device)
    return {
        "command": " ".join(["python", "benchmarks/random_genomes.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "device": asdict(facts.info),
        "toolchain": facts.toolchain.label,
        "seed": options.seed,
        "parts": 0,
        "counts": {},
        "kernels": {},
        "transforms": {},
        "reasons": {},
        "failures": [],
        "unfinished": [],
        "seen": {},
    }


def parts(options: argparse.Namespace, record: dict[str, Any], start: float, cache: str) -> Any:
    """Runs parts side by side until every kernel has its share or the time is over; yields them as they end."""
    share = math.ceil(options.count / len(options.kernels))
    left = {kernel: share - executed(record["kernels"].get(kernel, {})) for kernel in options.kernels}
    number, until = record["parts"], start + options.seconds
    running: dict[Future[Found], tuple[str, int, int]] = {}
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        while True:
            while len(running) < options.jobs and time.monotonic() < until and max(left.values()) > 0:
                kernel = max(left, key=lambda name: left[name])
                quota = min(options.part, left[kernel])
                left[kernel] -= quota
                ask = Ask(
                    kernel, options.device, record["seed"], number, quota, until, options.compilers, cache,
                    frozenset(record["seen"].get(kernel, ())),
                )  # fmt: skip
                running[pool.submit(run_part, ask)] = kernel, number, quota
                number += 1
            if not running:
                return
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                kernel, part, quota = running.pop(done)
                found = done.result()
                # A kernel that has no more to give leaves the rest of its share undone.
                left[kernel] += quota - executed(found.counts) if executed(found.counts) > quota // 4 else 0
                yield kernel, part, found


def executed(counts: Any) -> int:
    """Variants that went to the device."""
    return sum(number for what, number in counts.items() if what in EXECUTED)


def booked(record: dict[str, Any], kernel: str, part: int, found: Found, seconds: float) -> None:
    """Adds a part to the record. Parts that ran side by side may hold the same genome: that is counted."""
    seen = set(record["seen"].get(kernel, ()))
    found.counts["in two parts"] = len(seen & set(found.genomes))
    record["seen"][kernel] = sorted(seen | set(found.genomes) | set(found.sources))
    record["parts"] = max(record["parts"], part + 1)
    for name, more in (("counts", found.counts), ("reasons", found.reasons), ("transforms", found.transforms)):
        record[name] = dict((Counter(record[name]) + more).most_common())
    record["kernels"][kernel] = dict(Counter(record["kernels"].get(kernel, {})) + found.counts)
    record["failures"] += found.failures
    record["unfinished"] += found.unfinished
    print(f"{seconds:6.1f} s, part {part}, {kernel}: {dict(found.counts)}", flush=True)
    for failure in found.failures:
        print(f"  {failure['what']} at {failure['size']}: {failure['message'][:200]}", flush=True)


def save(path: Path, record: dict[str, Any]) -> None:
    """Writes the record whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    draft.replace(path)


def summary(record: dict[str, Any]) -> str:
    """The record in a few lines."""
    counts = record["counts"]
    lines = [f"{executed(counts)} executed over {len(record['kernels'])} kernels in {record['wall_s']} s: {counts}"]
    lines += [f"{failure['kernel']}: {failure['what']}, {failure['message'][:120]}" for failure in record["failures"]]
    return "\n".join(lines)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())

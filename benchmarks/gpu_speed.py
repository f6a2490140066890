"""How many variants a second one GPU takes: register-tiled matrix products, compiled, verified and timed.

    python benchmarks/gpu_speed.py FILE [--variants 200] [--size 1024] [--device cuda:0]

The variants are made by the engine's own transforms (tiles of 4x4 to 8x8 elements a thread, block shapes, strips,
shared and vector copies) before the clock starts; then each is compiled, checked at every size with every defence, and
timed, as in a search. Writes the figures as JSON to FILE and prints them.

What is counted: seconds from the first compilation to the last measurement, after the baseline is open. The device is
"busy" while it runs kernels of variants: evicting caches, restoring inputs, comparing outputs and waiting are not. A
second pass of the same variants, by an evaluator of its own, finds all compilations in the cache on disk.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from running import ROOT, machine

from evaluator.api import Compiled
from evaluator.messages import Work
from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from evaluator.settings import EvaluatorSettings
from evo.campaign import load_campaign
from evo.wire import transforms
from genome.genes import Genome
from genome.lower import lower
from genome.moves import moves
from genome.operations import flops
from genome.spec import KernelSpec, ProblemSize
from genome.variant import Variant
from operators.base import AgentContext, Parent
from operators.computation import Tile, register_tile
from operators.memory_layout import staged_tile

SEED = 1


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--variants", type=int, default=200)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--compilers", type=int, default=0)
    options = parser.parse_args()
    campaign = load_campaign(ROOT / "examples/matmul/campaign.yaml")
    size = ProblemSize(tuple((name, options.size) for name in ("M", "N", "K")))
    spec = replace(campaign.spec, sizes=(size,))
    record: dict[str, Any] = {
        "command": " ".join(["python", "benchmarks/gpu_speed.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
    }
    found: list[Variant] = []
    with tempfile.TemporaryDirectory(prefix="evo-tune-") as cache:
        settings = EvaluatorSettings(cache_dir=Path(cache), compilers=options.compilers)
        for name in ("fresh", "compiled_before"):
            work = {size.label: Work(flops(spec, size))}
            with LocalEvaluator(spec, options.device, settings, campaign.reference, SEED, work) as evaluator:
                if not found:
                    found, seconds = variants(spec, evaluator, options.variants)
                    record |= {"device": asdict(evaluator.device), "toolchain": evaluator.toolchain.label}
                    record |= {"variants": len(found), "lowering_s": round(seconds, 3)}
                record[name] = one_pass(spec, evaluator, found, settings)
    options.file.parent.mkdir(parents=True, exist_ok=True)
    options.file.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
    return 0


def one_pass(
    spec: KernelSpec, evaluator: LocalEvaluator, found: list[Variant], settings: EvaluatorSettings
) -> dict[str, Any]:
    """Opens the baseline and takes every variant through."""
    start = time.monotonic()
    baseline = lower(spec, Genome(), transforms(), evaluator.target, evaluator.limits)
    assert isinstance(baseline, Variant)
    evaluator.open(baseline)
    opened_s = time.monotonic() - start
    return {"opening_s": round(opened_s, 3), **measured(evaluator, found, settings)}


def variants(spec: KernelSpec, evaluator: LocalEvaluator, count: int) -> tuple[list[Variant], float]:
    """Distinct variants, in an order that the seed gives, and the seconds that making them took."""
    start = time.monotonic()
    everything, target, limits = transforms(), evaluator.target, evaluator.limits
    root = Parent(Genome(), "", 1.0)
    applicable = lru_cache(512)(lambda genome: moves(spec, genome, everything, target, limits))
    context = AgentContext((root,), root, applicable, lambda genome: False, target, evaluator.device)
    shapes = list(itertools.product((4, 8), (4, 8), (8, 16, 32), (8, 16), (0, 8), (0, 2, 4), (0, 4), (0, 8, 16)))
    found: dict[str, Variant] = {}
    for index in np.random.default_rng(SEED).permutation(len(shapes)):
        x, y, threads_x, threads_y, strip, unroll, width, depth = shapes[index]
        tile = Tile(x, y, 1, threads_x, threads_y, 0 if depth else strip, 0 if depth else unroll, width, restrict=True)
        genome = register_tile(context, Genome(), tile)
        if depth:
            genome = staged_tile(context, genome, depth)
        variant = lower(spec, genome, everything, target, limits)
        if isinstance(variant, Variant):
            found.setdefault(variant.digest(), variant)
        if len(found) == count:
            break
    return list(found.values()), time.monotonic() - start


def measured(evaluator: LocalEvaluator, found: list[Variant], settings: EvaluatorSettings) -> dict[str, Any]:
    """Takes all variants through compilers and device, and says where the time went."""
    ahead, kernel_s = 2 * settings.compiler_count() + 2, evaluator.kernel_seconds
    before = {cost.stage: cost for cost in evaluator.costs}
    waiting, ready, measuring, ended = list(enumerate(found)), [], 0, 0
    statuses: Counter[str] = Counter()
    times: dict[int, float] = {}
    messages: dict[str, str] = {}
    in_flight = 0
    start = time.monotonic()
    while ended < len(found):
        while waiting and in_flight < ahead:
            ticket, variant = waiting.pop(0)
            evaluator.compile(ticket, variant)
            in_flight += 1
        while ready and measuring < 3:
            evaluator.measure(ready.pop(0))
            measuring += 1
        for event in evaluator.events(10.0):
            if isinstance(event, Compiled) and event.status is Status.OK:
                ready.append(event.ticket)
                continue
            in_flight, ended = in_flight - 1, ended + 1
            failure = event if isinstance(event, Compiled) else event.failure
            status = failure.status if failure is not None else Status.OK
            statuses[status.value] += 1
            if failure is not None:
                messages.setdefault(status.value, failure.message[:300])
            if not isinstance(event, Compiled):
                measuring -= 1
                timed = [item.timing.median_ms for item in event.evaluations if item.timing]
                times |= dict.fromkeys([event.ticket] if timed else [], min(timed, default=0.0))
    wall_s = time.monotonic() - start
    stages = {
        cost.stage: round(cost.seconds - before[cost.stage].seconds, 3)
        for cost in evaluator.costs
        if cost.seconds > before[cost.stage].seconds
    }
    held_s = sum(seconds for stage, seconds in stages.items() if stage != "compile")
    return {
        "wall_s": round(wall_s, 3),
        "variants_per_s": round(len(found) / wall_s, 2),
        "statuses": dict(statuses),
        "messages": messages,
        "compilers": settings.compiler_count(),
        "device_process_busy_share": round(held_s / wall_s, 3),
        "kernels_busy_share": round((evaluator.kernel_seconds - kernel_s) / wall_s, 3),
        "stages_s": stages,
        "times_ms": [round(ms, 5) for ms in sorted(times.values())],
    }


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())

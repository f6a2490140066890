"""How long does a large base take to answer, while campaigns write to it?

A base of a million made-up evaluations (``large_base``) is asked for remembered optima and for similar kernels, a
thousand times each, by kernels, devices and sizes drawn as skewed as the campaigns; half of the sizes are unknown to
it, and the kernels of the second question all are. A process beside records outcomes of new and known variants as fast
as it can. Times are those of whole calls, rows decoded. No plan may read all evaluations or variants.

The base can be kept (``--home``): loading it takes minutes, asking it seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from large_base import LargeBase, Shape, fill
from query_plans import scanned
from running import ROOT, machine
from sqlalchemy import Connection, create_engine

from evaluator.result import Evaluation, Status, Timing
from genome.genes import Gene, Genome, Site
from genome.spec import ProblemSize
from genome.variant import Target, Variant
from knowledge import encode, prior
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome
from knowledge.store import KnowledgeBase

SEED = 1
LIMITS_MS = {"priors": 20.0, "similar": 50.0}
"""What 95% of the calls should stay under."""
PRIORS, SIMILAR = 12, 8
"""Answers that are asked for: as many as a campaign takes, and neighbours that it looks at."""
UNTOUCHED = ("evaluation", "variant")

Call = Callable[[KnowledgeBase], Sequence[object]]


def main() -> None:
    """Runs the bench.

    Raises:
        SystemExit: With 1 if a limit does not hold or a plan scans what it must not.
    """
    arguments = _arguments()
    home = arguments.home or Path(tempfile.mkdtemp(prefix="evo-tune-speed-"))
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o755)
    with KnowledgeBase.open(None, home) as base:
        large = LargeBase(Shape(evaluations=arguments.evaluations), np.random.default_rng(SEED))
        loaded_s = 0.0
        if not base.counts()["kernels"]:
            began = time.monotonic()
            fill(large, base.where.replace("+psycopg", ""))
            loaded_s = time.monotonic() - began
        large.rng = np.random.default_rng(SEED + 1)
        if arguments.ingest:
            _ingest(base, large)
            return
        result = _measured(base, large, arguments.calls, home)
    result |= {"loaded_s": round(loaded_s, 1)}
    text = json.dumps(result, indent=1) + "\n"
    if arguments.json:
        arguments.json.write_text(text, encoding="utf-8")
    print(text, end="")
    if not result["holds"]:
        raise SystemExit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="folder of the base; one that is filled is not filled again")
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=1000, help="of each kind")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--ingest", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _measured(base: KnowledgeBase, large: LargeBase, calls: int, home: Path) -> dict[str, Any]:
    """Both questions with ingest beside them, and what their plans scan."""
    before, began = base.counts()["evaluations"], time.monotonic()
    command = [sys.executable, __file__, "--ingest", "--home", str(home), "--evaluations", str(large.shape.evaluations)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    writer = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.DEVNULL)
    try:
        while base.counts()["evaluations"] == before:  # it is at work
            if writer.poll() is not None:
                raise SystemExit("the process that records ended early")
            time.sleep(0.1)
        figures = {"priors": _timed(base, calls, lambda: _priors(large)),
                   "similar": _timed(base, calls, lambda: _similar(large))}  # fmt: skip
    finally:
        writer.terminate()
        writer.wait()
    took = time.monotonic() - began
    counts = base.counts()
    scans = _scans(base, large)
    fast = all(figures[name]["p95_ms"] <= limit for name, limit in LIMITS_MS.items())
    return {
        "date": date.today().isoformat(), "machine": machine(), "load": round(os.getloadavg()[0], 1),
        "command": f"python benchmarks/query_speed.py --calls {calls}",
        "rows": counts, "mib": round(base.stats().bytes / 2**20), "shape": asdict(large.shape),
        "ingest": {"evaluations": counts["evaluations"] - before,
                   "a_second": round((counts["evaluations"] - before) / took, 1)},
        "limits_p95_ms": LIMITS_MS, "calls": figures, "scanned": scans,
        "holds": fast and not any(set(tables) & set(UNTOUCHED) for tables in scans.values()),
    }  # fmt: skip


def _timed(base: KnowledgeBase, calls: int, draw: Callable[[], Call]) -> dict[str, float]:
    """Milliseconds of calls; ``cpu`` is what they take of processors, here and in Postgres, whatever else runs."""
    for _ in range(20):  # connections, prepared statements and caches are those of a running campaign
        draw()(base)
    backend = int(base.sql("SELECT pg_backend_pid()", 1, 5.0).rows[0][0])  # one thread: always the same connection
    walls, cpus, answers = [], [], []
    for _ in range(calls):
        call = draw()
        wall, cpu = time.perf_counter(), _cpu_s(backend)
        answers.append(len(call(base)))
        walls.append(1e3 * (time.perf_counter() - wall))
        cpus.append(1e3 * (_cpu_s(backend) - cpu))
    p50, p95, p99, most = np.percentile(walls, [50, 95, 99, 100])
    cpu50, cpu95 = np.percentile(cpus, [50, 95])
    found = {"p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "max_ms": most, "cpu_p50_ms": cpu50, "cpu_p95_ms": cpu95,
             "answers_mean": np.mean(answers)}  # fmt: skip
    return {"calls": calls, **{name: round(float(value), 2) for name, value in found.items()}}


def _cpu_s(backend: int) -> float:
    """Seconds of processors that this process and one of Postgres's have had."""
    return time.process_time() + 1e-9 * int(Path(f"/proc/{backend}/schedstat").read_text().split()[0])


def _priors(large: LargeBase) -> Call:
    """Remembered optima of a known kernel."""
    number, device = large.kernel(), large.device()
    values = encode.size_values(str(large.rng.choice(large.sizes[number])))
    factor = 3 if large.rng.random() < 0.5 else 1
    size = ProblemSize(tuple((name, factor * value) for name, value in values.items()))
    kernel, tools = large.kernels[number], large.toolchains[large.toolchain(device)]
    return lambda base: base.priors(kernel, large.devices[device], tools, (size,), PRIORS)


def _similar(large: LargeBase) -> Call:
    """Kernels like one that the base does not know."""
    kernel = _unknown(large)
    return lambda base: base.similar(kernel, SIMILAR)


def _unknown(large: LargeBase) -> KernelRecord:
    known = large.kernels[int(large.rng.integers(large.shape.kernels))]
    moved = np.clip(np.array(known.features) + large.rng.normal(0.0, 0.03, len(known.features)), 0.0, 1.0)
    return replace(known, name="unknown", digest="f" * 16, features=tuple(map(float, moved)))


def _scans(base: KnowledgeBase, large: LargeBase) -> dict[str, list[str]]:
    """Tables that the plans read from one end to the other, over some calls of each kind."""
    engine = create_engine(base.where)
    found: dict[str, set[str]] = {"priors": set(), "similar": set()}
    with engine.connect() as connection:
        for number in (0, 1, 10, 100, large.shape.kernels - 1):
            known, sizes = large.kernels[number], large.sizes[number]
            asked = (ProblemSize(tuple(encode.size_values(sizes[0]).items())),)
            found["priors"] |= scanned(connection, partial(_asked_priors, large, known, asked))
            found["similar"] |= scanned(connection, lambda c: prior.similar(c, _unknown(large), SIMILAR))
    engine.dispose()
    return {name: sorted(tables) for name, tables in found.items()}


def _asked_priors(
    large: LargeBase, kernel: KernelRecord, sizes: Sequence[ProblemSize], connection: Connection
) -> object:
    return prior.priors(connection, kernel, large.devices[0], large.toolchains[0], sizes, PRIORS)


def _ingest(base: KnowledgeBase, large: LargeBase) -> None:
    """Campaigns without end."""
    while True:
        number, device = large.kernel(), large.device()
        record = CampaignRecord("ingest", large.kernels[number], large.devices[device],
                                large.toolchains[large.toolchain(device)], 1, "0")  # fmt: skip
        campaign = base.start_campaign(record, resume=False)
        for ordinal in range(50):
            base.record(campaign, _outcome(large, number, ordinal))


def _outcome(large: LargeBase, kernel: int, ordinal: int) -> Outcome:
    factor = int(large.rng.integers(1, 5000)) if ordinal else 0
    genome = Genome((Gene.of("unroll", Site("k", "reduction[0]"), factor=factor),) if factor else ())
    variant = Variant("k", Target.CUDA, f"{kernel} {factor}", (), genome=genome, proposed=genome)
    gain = float(large.rng.lognormal(0.5, 0.5)) if ordinal else 1.0
    timing = Timing((10.0 / gain,) * 7, 10.0 / gain, 9.9 / gain, 10.1 / gain)
    evaluations = tuple(
        Evaluation(variant.digest(), label, Status.OK, timing=timing) for label in large.sizes[kernel][:2]
    )
    return Outcome(variant, evaluations, (), Lineage("ingest", (), genome.genes, ordinal), gain)


if __name__ == "__main__":
    main()

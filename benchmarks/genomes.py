"""What genomes written by hand reach on a GPU, beside the naive kernel and PyTorch: they prove the vocabulary.

    python benchmarks/genomes.py [NAME ...] [--json FILE] [--size M=512,N=512,K=512] [--device cuda:0] [--no-torch]

NAME is that of a file in ``genomes/``; all of them without one. A file holds ``example`` (a folder of ``examples/``),
``check_sizes`` beside those of its campaign, and ``genome``; a kernel that is no example has a folder in ``genomes/``,
and its file a ``size``. Each genome is lowered on the example's naive kernel at
the example's size of ``gpu_table.py`` (or ``--size``), proved in fresh processes against the oracle at all sizes and
timed there, interleaved with the naive kernel, cold second-level cache; then PyTorch does the same work in a process of
its own. The exit code is 0 if every genome was verified and none of its genes was left out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpu_table import SIZES, beside, write_campaign
from running import machine

from evaluator.api import Compiled
from evaluator.messages import Work
from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from evaluator.settings import EvaluatorSettings
from evo.campaign import load_campaign
from evo.wire import transforms
from genome.genes import Genome
from genome.lower import lower
from genome.operations import flops
from genome.spec import KernelSpec, ProblemSize
from genome.variant import Rejection, Variant

FOLDER = Path(__file__).with_name("genomes")


def main() -> int:
    """Measures the genomes and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=sorted(path.stem for path in FOLDER.glob("*.json")))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--size", default="")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--no-torch", action="store_true")
    options = parser.parse_args()
    record: dict[str, Any] = {
        "command": " ".join(["python", "benchmarks/genomes.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "genomes": {},
    }
    for name in options.names:
        start = time.monotonic()
        row = measured(json.loads((FOLDER / f"{name}.json").read_text()), options)
        row["wall_s"] = round(time.monotonic() - start, 1)
        record["genomes"][name] = row
        print(line(name, row), flush=True)
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if all(row.get("verified") and not row["skipped"] for row in record["genomes"].values()) else 1


def measured(data: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """A genome's row: what it is, and what it and PyTorch took."""
    example, genome = data["example"], Genome.from_json(data["genome"])
    size = size_of(options.size) if options.size else ProblemSize(tuple((data.get("size") or SIZES[example]).items()))
    with tempfile.TemporaryDirectory(prefix="evo-tune-") as folder:
        own = FOLDER / example / "campaign.yaml"
        campaign = load_campaign(own if own.exists() else write_campaign(example, Path(folder)))
        more = tuple(ProblemSize(tuple(sizes.items())) for sizes in data.get("check_sizes", ()))
        spec = replace(campaign.spec, sizes=(size,), check_sizes=campaign.spec.check_sizes + more)
        settings = EvaluatorSettings(cache_dir=Path(folder) / "cache")
        work = {size.label: Work(flops(spec, size))}
        with LocalEvaluator(spec, options.device, settings, campaign.reference, campaign.seed, work) as evaluator:
            row = proved(spec, genome, evaluator, options.processes)
    if not options.no_torch and not options.size and "error" not in row:
        row["torch"] = beside(example, dict(size.env))
    return row


def size_of(text: str) -> ProblemSize:
    """``M=512,N=512`` as a problem size."""
    return ProblemSize(tuple((name, int(value)) for name, value in (part.split("=") for part in text.split(","))))


def proved(spec: KernelSpec, genome: Genome, evaluator: LocalEvaluator, processes: int) -> dict[str, Any]:
    """The genome verified at all sizes and timed beside the naive kernel in fresh processes."""
    baseline = lower(spec, Genome(), transforms(), evaluator.target, evaluator.limits)
    variant = lower(spec, genome, transforms(), evaluator.target, evaluator.limits)
    assert isinstance(baseline, Variant)
    if isinstance(variant, Rejection):
        return {"error": variant.reason, "skipped": []}
    row: dict[str, Any] = {
        "device": asdict(evaluator.device), "toolchain": evaluator.toolchain.label, "size": spec.sizes[0].env,
        "skipped": [f"{s.gene.transform} at {s.gene.site.label}: {s.reason}" for s in variant.skipped],
    }  # fmt: skip
    evaluator.open(baseline)
    evaluator.compile(0, variant)
    built = next(event for event in evaluator.events(None) if isinstance(event, Compiled))
    if built.status is not Status.OK:
        return {**row, "error": built.message}
    (found,) = evaluator.compare(baseline, (variant,), processes, lambda done, of: None)
    return row | {
        "resources": asdict(built.resources),
        "verified": found.verified,
        "message": found.message or found.note,
        "naive_ms": found.sizes[0].baseline_ms,
        "best_ms": found.sizes[0].best_ms,
        "speedup": [found.speedup, found.low, found.high],
        "checks": {check.size: "naive kernel" if check.fallback else check.status.value for check in found.checks},
    }


def line(name: str, row: dict[str, Any]) -> str:
    """One genome for a person."""
    if "error" in row:
        return f"{name}: {row['error'][-1500:]}"
    text = f"{name}: {row['naive_ms']:.3f} -> {row['best_ms']:.3f} ms, verified {row['verified']} {row['message']}"
    eager = row.get("torch", {}).get("eager_ms")
    text += f", {100 * eager / row['best_ms']:.1f}% of PyTorch's speed ({eager:.3f} ms)" if eager else ""
    registers, checks = row["resources"]["registers"], row["checks"]
    text += f"; {registers} registers, {row['resources']['spills_bytes']} bytes spilled; {row['wall_s']} s; {checks}"
    return "; left out: ".join([text, *row["skipped"]])


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())

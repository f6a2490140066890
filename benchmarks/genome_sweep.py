"""Times many genomes of one kernel on a GPU in one go: seconds for a hundred, to choose which are worth a proof.

    python benchmarks/genome_sweep.py NAME GENOMES [--device cuda:0] [--no-reference] [--json FILE]

NAME is an example, or a folder of ``genomes/``; GENOMES a JSON file ``{name: [gene, ...]}``, or names of files in
``genomes/`` with commas between. All are compiled by a pool of processes, verified at the check sizes and timed at the
example's size of ``gpu_table.py``, cold second-level cache, as the search does it: no fresh processes, no interleaving.
``genomes.py`` proves the winner. With ``--no-reference`` the untransformed kernel says what is right: a reference that
takes minutes would take longer than the sweep.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from genomes import FOLDER
from gpu_table import SIZES, write_campaign
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
from genome.spec import ProblemSize
from genome.variant import Rejection, Variant

Row = dict[str, Any]


def main() -> int:
    """Prints the genomes from the fastest on; the exit code is 0 if none was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("genomes")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--no-reference", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    record = {
        "command": " ".join(["python", "benchmarks/genome_sweep.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        **swept(options.name, genomes_of(options.genomes), options.device, options.no_reference),
    }
    for name, row in sorted(record["genomes"].items(), key=lambda item: item[1].get("ms", float("inf"))):
        print(
            f"{row['ms']:9.4f} ms  {row['registers']} registers  {name}" if "ms" in row else f"{name}: {row['error']}"
        )
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if all(row.get("status") != Status.WRONG.value for row in record["genomes"].values()) else 1


def genomes_of(text: str) -> dict[str, Genome]:
    """The genomes of a file of their own, or of files in ``genomes/``."""
    if text.endswith(".json"):
        return {name: Genome.from_json(genes) for name, genes in json.loads(Path(text).read_text()).items()}
    files = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in text.split(",")}
    return {name: Genome.from_json(data["genome"]) for name, data in files.items()}


def swept(name: str, genomes: dict[str, Genome], device: str, no_reference: bool) -> Row:
    """A row for each genome, with the device and the naive kernel's time."""
    with tempfile.TemporaryDirectory(prefix="evo-tune-") as folder:
        own = FOLDER / name / "campaign.yaml"
        campaign = load_campaign(own if own.exists() else write_campaign(name, Path(folder)))
        size = ProblemSize(tuple(SIZES[name].items())) if name in SIZES else campaign.spec.sizes[0]
        spec = replace(campaign.spec, sizes=(size,))
        reference = None if no_reference else campaign.reference
        settings = EvaluatorSettings(cache_dir=Path(folder) / "cache")
        work = {size.label: Work(flops(spec, size))}
        with LocalEvaluator(spec, device, settings, reference, campaign.seed, work) as evaluator:
            baseline = lower(spec, Genome(), transforms(), evaluator.target, evaluator.limits)
            assert isinstance(baseline, Variant)
            timing = evaluator.open(baseline).evaluations[0].timing
            rows: dict[str, Row] = {}
            waiting: dict[int, str] = {}
            for ticket, (label, genome) in enumerate(genomes.items()):
                variant = lower(spec, genome, transforms(), evaluator.target, evaluator.limits)
                if isinstance(variant, Rejection):
                    rows[label] = {"error": variant.reason}
                    continue
                rows[label] = {"skipped": [f"{s.gene.transform}: {s.reason}" for s in variant.skipped]}
                waiting[ticket] = label
                evaluator.compile(ticket, variant)
            measure(evaluator, waiting, rows)
            found = {"device": evaluator.device.name, "toolchain": evaluator.toolchain.label, "size": size.env}
    return {**found, "naive_ms": timing.median_ms if timing else None, "genomes": rows}


def measure(evaluator: LocalEvaluator, waiting: dict[int, str], rows: dict[str, Row]) -> None:
    """Takes every compiled genome through the cascade, and fills in its row."""
    while waiting:
        for event in evaluator.events(None):
            row = rows[waiting[event.ticket]]
            if isinstance(event, Compiled):
                if event.status is Status.OK:
                    row["registers"], row["spills"] = event.resources.registers, event.resources.spills_bytes
                    evaluator.measure(event.ticket)
                    continue
                row |= {"status": event.status.value, "error": event.message}
            elif event.failure is not None:
                row |= {"status": event.failure.status.value, "error": event.failure.message}
            elif (timing := event.evaluations[0].timing) is not None:
                row |= {"status": Status.OK.value, "ms": timing.median_ms}
            del waiting[event.ticket]


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())

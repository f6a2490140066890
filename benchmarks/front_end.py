"""How long one proposal costs before any compiler sees it: parsing a kernel, and lowering genomes of growing length.

    python benchmarks/front_end.py [--repeats 30] [--json FILE]

Each figure is a median over runs in this process; a figure for lowering includes printing, but not parsing, which the
engine does once a campaign. Genomes are drawn at random from the moves that apply to each example.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
from running import machine

from evo.campaign import load_campaign
from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.source.frontend import parse_kernel
from genome.spec import KernelSpec
from genome.transforms.builtin import BUILTIN
from genome.variant import Target
from operators.choice import random_gene

EXAMPLES = Path(__file__).parent.parent / "examples"
LENGTHS = (0, 2, 4, 8)


def main() -> None:
    """Prints one row an example, and writes the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [bench(load_campaign(path).spec, options.repeats) for path in sorted(EXAMPLES.glob("*/campaign.yaml"))]
    columns = list(rows[0])
    print("  ".join(f"{column:>12}" for column in columns))
    for row in rows:
        print("  ".join(f"{value:>12}" if isinstance(value, str) else f"{value:12.2f}" for value in row.values()))
    if options.json:
        command = f"python benchmarks/front_end.py --repeats {options.repeats}"
        record = {"date": date.today().isoformat(), "machine": machine(), "command": command, "rows": rows}
        options.json.write_text(json.dumps(record, indent=1) + "\n")


def bench(spec: KernelSpec, repeats: int) -> dict[str, str | float]:
    """Milliseconds of parsing, of listing the moves, and of lowering genomes of ``LENGTHS`` genes."""
    limits = DeviceLimits()
    rng = np.random.default_rng(0)
    row: dict[str, str | float] = {"kernel": spec.name}
    row["parse ms"] = median_ms(lambda: parse_kernel(spec.source, spec.entry, path=spec.path), repeats)
    row["moves ms"] = median_ms(lambda: moves(spec, Genome(), BUILTIN, Target.OPENCL, limits), repeats)
    for length in LENGTHS:
        genomes = [random_genome(spec, length, rng) for _ in range(repeats)]
        work = partial(lower_next, spec, iter(genomes), limits)
        row[f"{length} genes ms"] = median_ms(work, repeats)
    return row


def lower_next(spec: KernelSpec, genomes: Iterator[Genome], limits: DeviceLimits) -> None:
    """Lowers the next genome."""
    lower(spec, next(genomes), BUILTIN, Target.OPENCL, limits)


def random_genome(spec: KernelSpec, length: int, rng: np.random.Generator) -> Genome:
    """A genome of up to ``length`` genes, each drawn from what applies on top of the ones before it."""
    genome = Genome()
    for _ in range(length):
        choices = moves(spec, genome, BUILTIN, Target.OPENCL, DeviceLimits())
        if not choices:
            break
        genome = genome.with_gene(random_gene(choices[int(rng.integers(len(choices)))], rng))
    return genome


def median_ms(work: Callable[[], object], repeats: int) -> float:
    """Median milliseconds of one call."""
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples)


if __name__ == "__main__":
    main()

"""How long one proposal costs before any compiler sees it: parsing a kernel, listing its moves, lowering genomes.

    python benchmarks/front_end.py [--draws 12] [--json FILE]

For every example and both languages there are genomes of ten genes, drawn at random from what applies, and those of the
opening book (of a GPU for CUDA, of a CPU for OpenCL). Timed once a genome, after others of the same kernel, are:

* ``lower``: lowering, printing included, with no step of any genome remembered;
* ``moves``: listing its moves, likewise;
* ``lower child``: lowering it with one move more, after its moves were listed, as a campaign does.

Parsing, preprocessing included, happens once a campaign and is repeated here. Given are medians in milliseconds, of the
processor time of this process and of the wall clock: the first does not count what else runs on the machine, whose load
average (``load``) is told beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from running import machine

from evaluator.result import DeviceInfo
from evo.campaign import EntriesCampaign, load_plan
from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import Move, moves
from genome.replay import progress
from genome.source.frontend import parse_kernel
from genome.spec import KernelSpec
from genome.transforms.builtin import BUILTIN
from genome.variant import Target
from operators.base import AgentContext, Parent
from operators.choice import random_gene
from operators.opening import opening

EXAMPLES = Path(__file__).parent.parent / "examples"
GENES = 10
LIMITS = DeviceLimits()
BOOKS = {Target.CUDA: "gpu", Target.OPENCL: "cpu"}


@dataclass(frozen=True)
class Sample:
    """One timed call, in milliseconds of processor time and of the wall clock, and what was timed."""

    kernel: str
    what: str
    target: str
    genomes: str
    cpu_ms: float
    wall_ms: float


def main() -> None:
    """Prints medians over everything, and a row an example; writes the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=12, help="random genomes a kernel and language")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    samples = [sample for spec in kernels() for sample in bench(spec, options.draws)]
    record: dict[str, Any] = {
        "date": date.today().isoformat(),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 1),
        "command": f"python benchmarks/front_end.py --draws {options.draws}",
        "medians": [*medians(samples, ("what",)), *medians(samples, ("what", "target", "genomes"))],
        "kernels": medians(samples, ("kernel", "what")),
    }
    for row in (*record["medians"], *record["kernels"]):
        name = " ".join(str(value) for key, value in row.items() if not key.endswith("_ms") and key != "calls")
        print(f"{name:40} {row['calls']:5} calls  {row['cpu_ms']:7.2f} ms CPU  {row['wall_ms']:7.2f} ms wall")
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")


def kernels() -> Iterator[KernelSpec]:
    """Every kernel of the examples."""
    for path in sorted(EXAMPLES.glob("*/campaign.yaml")):
        plan = load_plan(path)
        campaigns = [entry.campaign for entry in plan.entries] if isinstance(plan, EntriesCampaign) else [plan]
        yield from (campaign.spec for campaign in campaigns)


def bench(spec: KernelSpec, draws: int) -> Iterator[Sample]:
    """Times parsing, and for each genome lowering and listing moves."""
    for _ in range(draws):
        yield timed(spec, "parse", "", "", lambda: parse_kernel(spec.source, spec.entry, path=spec.path))
    for target in Target:
        rng = np.random.default_rng(0)
        groups = {
            "random": [random_genome(spec, target, rng) for _ in range(draws)],
            "opening": [proposal.genome for proposal in opening(context(spec, target))],
        }
        for group, genomes in groups.items():
            for genome in genomes:
                child = with_move(genome, moves(spec, genome, BUILTIN, target, LIMITS), rng)
                progress.cache_clear()
                yield timed(spec, "lower", target, group, partial(lower, spec, genome, BUILTIN, target, LIMITS))
                progress.cache_clear()
                yield timed(spec, "moves", target, group, partial(moves, spec, genome, BUILTIN, target, LIMITS))
                yield timed(spec, "lower child", target, group, partial(lower, spec, child, BUILTIN, target, LIMITS))


def timed(spec: KernelSpec, what: str, target: str, genomes: str, work: Callable[[], object]) -> Sample:
    """Runs the work once."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Sample(spec.entry, what, str(target), genomes, cpu * 1e3, wall * 1e3)


def random_genome(spec: KernelSpec, target: Target, rng: np.random.Generator) -> Genome:
    """A genome of ``GENES`` genes, each drawn from what applies on top of the others; fewer where no more apply."""
    genome = Genome()
    for _ in range(3 * GENES):
        if len(genome.genes) < GENES:
            genome = with_move(genome, moves(spec, genome, BUILTIN, target, LIMITS), rng)
    return genome


def with_move(genome: Genome, found: Sequence[Move], rng: np.random.Generator) -> Genome:
    """The genome with one of the moves: first a transform is drawn, then one of its sites, so that transforms of many
    sites do not crowd out the others.
    """
    open_ = [move for move in found if all(move.domain.values())]
    if not open_:
        return genome
    name = rng.choice(sorted({move.transform.name for move in open_}))
    mine = [move for move in open_ if move.transform.name == name]
    return genome.with_gene(random_gene(mine[int(rng.integers(len(mine)))], rng))


def context(spec: KernelSpec, target: Target) -> AgentContext:
    """What the opening book looks at: the kernel on a device of the kind that the language is used on."""
    kind = BOOKS[target]
    device = DeviceInfo(f"{target}:0", kind, "", "", kind, units=64, memory_bytes=1 << 34)

    @lru_cache(maxsize=512)
    def listed(genome: Genome, only: Collection[str] | None = None) -> tuple[Move, ...]:
        return moves(spec, genome, BUILTIN, target, LIMITS, only)

    baseline = Parent(Genome(), "baseline", 1.0)
    return AgentContext((baseline,), baseline, listed, lambda genome: False, target, device)


def medians(samples: Iterable[Sample], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Median times of the samples that agree in these fields, in the order of their first."""
    groups: dict[tuple[str, ...], list[Sample]] = {}
    for sample in samples:
        groups.setdefault(tuple(getattr(sample, key) for key in keys), []).append(sample)
    return [
        {
            **dict(zip(keys, group, strict=True)),
            "calls": len(members),
            "cpu_ms": round(statistics.median(sample.cpu_ms for sample in members), 3),
            "wall_ms": round(statistics.median(sample.wall_ms for sample in members), 3),
        }
        for group, members in groups.items()
    ]


if __name__ == "__main__":
    main()

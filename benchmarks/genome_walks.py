"""Genomes drawn at random: from nothing, or from part of a genome that is known to go deep, gene by gene.

Walks from nothing alone would hardly ever hold a tile that is staged, pipelined and multiplied by warps: each of these
genes needs the ones before it. So half of the walks start from a genome of the opening book, or one written by hand,
cut off at a random gene and with some of its values drawn anew; then random moves follow on top.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from evaluator.result import DeviceInfo
from evo.wire import transforms
from genome.genes import Gene, Genome
from genome.limits import DeviceLimits
from genome.moves import Move, moves
from genome.spec import KernelSpec
from genome.variant import Target
from operators.base import AgentContext, Parent
from operators.opening import opening

BY_HAND = Path(__file__).with_name("genomes")
_LONGEST = 8  # moves of a walk


def known_genomes(
    spec: KernelSpec, example: str, target: Target, limits: DeviceLimits, device: DeviceInfo
) -> list[Genome]:
    """What deep walks start from: the opening book's genomes of a kernel, and for CUDA those written by hand.

    Theirs are for large sizes: without the genes that fix those, they run at small ones too.
    """
    root = Parent(Genome(), "", 1.0)
    listed = partial(_moves, spec, target, limits)
    book = opening(AgentContext((root,), root, listed, lambda genome: False, target, device))
    found = [proposal.genome for proposal in book]
    for path in sorted(BY_HAND.glob("*.json")) if target is Target.CUDA else ():
        data = json.loads(path.read_text())
        if data["example"] == example:
            found.append(Genome.from_json([gene for gene in data["genome"] if gene["transform"] != "specialise"]))
    return found


def walks(
    spec: KernelSpec, known: Sequence[Genome], target: Target, limits: DeviceLimits, rng: np.random.Generator
) -> Iterator[Genome]:
    """Genomes without end; some come twice."""
    while True:
        deep = bool(known) and rng.random() < 0.5
        genome = _part_of(known[int(rng.integers(len(known)))], rng) if deep else Genome()
        for _ in range(int(rng.integers(0 if deep else 1, _LONGEST // 2 if deep else _LONGEST + 1))):
            genome = _longer(spec, genome, target, limits, rng)
        yield genome


def _moves(
    spec: KernelSpec, target: Target, limits: DeviceLimits, genome: Genome, only: frozenset[str] | None = None
) -> tuple[Move, ...]:
    return moves(spec, genome, transforms(), target, limits, only)


def _part_of(genome: Genome, rng: np.random.Generator) -> Genome:
    """The first genes, some of them with a value that another gene of the genome has, halved or doubled."""
    genes = list(genome.genes[: int(rng.integers(1, len(genome.genes) + 1))]) if genome.genes else []
    for place in rng.permutation(len(genes))[: int(rng.integers(0, 3))]:
        values = {key: _near(value, rng) for key, value in genes[place].params}
        genes[place] = Gene.of(genes[place].transform, genes[place].site, **values)
    return Genome(tuple(genes))


def _near(value: int | str | bool, rng: np.random.Generator) -> int | str | bool:
    if isinstance(value, (str, bool)):
        return value
    return (value // 2, value, 2 * value)[int(rng.integers(3))]


def _longer(spec: KernelSpec, genome: Genome, target: Target, limits: DeviceLimits, rng: np.random.Generator) -> Genome:
    """One more gene, by transform first: else kernels with many loops would get genes of loops only."""
    choices = [move for move in moves(spec, genome, transforms(), target, limits) if move.current is None]
    if not choices:
        return genome
    names = sorted({move.transform.name for move in choices})
    name = names[int(rng.integers(len(names)))]
    named = [move for move in choices if move.transform.name == name]
    move = named[int(rng.integers(len(named)))]
    params = {key: values[int(rng.integers(len(values)))] for key, values in move.domain.items()}
    return genome.with_gene(Gene.of(name, move.site, **params))

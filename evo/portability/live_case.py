"""Cases of kernels that run: what the knowledge base holds of a study's genomes, from every machine that took part."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evaluator.backend import Peaks
from evaluator.messages import Work
from evaluator.result import Status
from evo.portability.case import ABSENT, Case, Effect, Place, Repair, coded
from evo.portability.measure import REPAIR, WITHOUT
from genome.genes import Gene, Genome
from knowledge.crossings import Crossing


@dataclass
class _Found:
    """What is known of a genome on a device at a size: the newest word of everything."""

    genome: Genome = field(default_factory=Genome)
    time_ms: float | None = None
    reason: str = ""
    low: float = 0.0
    high: float = 0.0
    speedup: float = 0.0
    left_out: tuple[Gene, ...] = ()
    work: Work | None = None
    shared_bytes: int | None = None


@dataclass
class _Device:
    """A device with what is known there, by digest of the genome; ``repairs`` and ``without`` hang on a champion's."""

    place: Place
    tried: dict[str, _Found] = field(default_factory=dict)
    repairs: dict[str, tuple[str, _Found]] = field(default_factory=dict)
    without: dict[tuple[str, Gene], _Found] = field(default_factory=dict)
    baseline_ms: list[float] = field(default_factory=list)

    @property
    def standard_ms(self) -> float:
        """Time of the kernel as it is: the median over all comparisons."""
        return float(np.median(self.baseline_ms))

    @property
    def shorter(self) -> dict[Genome, _Found]:
        """Champions without a gene that ran, by what is left of them."""
        return {
            found.genome: found
            for found in self.without.values()
            if found.time_ms is not None and not found.left_out and found.genome.genes
        }

    def time_ms(self, found: _Found) -> float:
        """A time as it would be beside the median of the kernel as it is: devices drift between comparisons."""
        return self.standard_ms / found.speedup if found.speedup else float(found.time_ms or 0.0)


def wanted_genomes(champions: Mapping[str, Genome]) -> tuple[Genome, ...]:
    """The kernel as it is, every champion, and the genes that all champions share."""
    found = dict.fromkeys([Genome(), *champions.values()])
    several = [set(genome.genes) for genome in champions.values() if genome.genes]
    if len(several) > 1:
        shared = set.intersection(*several)
        first = next(genome for genome in champions.values() if genome.genes)
        found.setdefault(Genome(tuple(gene for gene in first.genes if gene in shared)))
    return tuple(found)


def live_case(
    kernel: str, size: str, devices: Sequence[str], champions: Mapping[str, Genome], rows: Sequence[Crossing]
) -> Case:
    """The case of a kernel at a size.

    Args:
        kernel: Its name.
        size: Label of a tuned size.
        devices: Names, in the order of the study; those without a row wait.
        champions: Genome of each device's champion.
        rows: What the base holds, the oldest first.
    """
    known = [_device(name, size, [row for row in rows if row.hardware.name == name]) for name in devices]
    shorter = (genome for device in known for genome in device.shorter)
    genomes = tuple(dict.fromkeys([*wanted_genomes(champions), *shorter]))
    numbers = {genome: number for number, genome in enumerate(genomes)}
    keys = list(dict.fromkeys(_key(gene) for genome in genomes for gene in genome.genes))
    names, domains, table = coded(keys, [_values(genome, keys) for genome in genomes])
    columns = [_column(device, place, genomes) for place, device in enumerate(known)]
    owners = [champions.get(name) for name in devices]
    own = [g and device.tried.get(g.digest()) for g, device in zip(owners, known, strict=True)]
    effects = [
        effect
        for place, device in enumerate(known)
        for effect in _effects(device, place, names, [owners[place], *champions.values()])
    ]
    works = (found.work for device in known for found in device.tried.values())
    return Case(
        kernel,
        size,
        tuple(device.place for device in known),
        names,
        domains,
        table,
        np.stack([column.times_ms for column in columns], axis=1),
        tuple(None if genome is None else numbers[genome] for genome in owners),
        dict(ChainMap(*(column.reasons for column in columns))),
        dict(ChainMap(*(column.repairs for column in columns))),
        frozenset().union(*(column.waiting for column in columns)),
        next((work for work in works if work), None),
        complete=False,
        baseline=numbers[Genome()],
        effects=tuple(effects),
        shared_bytes=tuple(found.shared_bytes if found else None for found in own),
    )


@dataclass
class _Column:
    """A device's times and gaps, by variant."""

    times_ms: NDArray[np.float64]
    reasons: dict[tuple[int, int], str] = field(default_factory=dict)
    repairs: dict[tuple[int, int], Repair] = field(default_factory=dict)
    waiting: set[tuple[int, int]] = field(default_factory=set)


def _column(device: _Device, place: int, genomes: Sequence[Genome]) -> _Column:
    """What is known of each genome on a device."""
    column = _Column(np.full(len(genomes), np.nan))
    for variant, genome in enumerate(genomes):
        found = device.tried.get(genome.digest()) or device.shorter.get(genome)
        if not genome.genes and device.baseline_ms:
            column.times_ms[variant] = device.standard_ms
        elif found is None:
            column.waiting.add((variant, place))
        elif found.time_ms is not None and not found.left_out:
            column.times_ms[variant] = device.time_ms(found)
        else:
            gone = len(found.left_out)
            words = "gene of it does not apply" if gone == 1 else "genes of it do not apply"
            column.reasons[variant, place] = found.reason or f"{gone} {words} there"
            repair = _repair(device, found, genome)
            if repair is not None:
                column.repairs[variant, place] = repair
    return column


def _device(name: str, size: str, rows: Sequence[Crossing]) -> _Device:
    place = Place(name)
    if rows:
        hardware = rows[-1].hardware
        place = Place(name, Peaks(hardware.bandwidth_gbs, hardware.peak_gflops), hardware.units, hardware.shared_bytes)
    device = _Device(place)
    for row in rows:
        if row.size not in (size, "") and not _failed(row):  # a rejection has no size, and a failure is one everywhere
            continue
        digest = row.genome.digest()
        if row.agent == REPAIR and row.parents:
            without = _words(row.delta)
            old = device.repairs.get(row.parents[0], ("", _Found()))[1]
            device.repairs[row.parents[0]] = (f"without {without}", _heard(old, row))
        elif row.agent == WITHOUT and row.parents and row.delta:
            key = (row.parents[0], row.delta[0])
            device.without[key] = _heard(device.without.get(key, _Found()), row)
        else:
            device.tried[digest] = _heard(device.tried.get(digest, _Found()), row)
        if row.proven is not None:
            device.baseline_ms.append(row.proven.baseline_ms)
    return device


def _failed(row: Crossing) -> bool:
    return row.evaluation is not None and row.evaluation.status is not Status.OK


def _heard(found: _Found, row: Crossing) -> _Found:
    """After one more row of the same genome: a failure at any size, checked ones included, is one."""
    evaluation = row.evaluation
    if evaluation is None:
        return _Found(row.genome, reason=row.reason)
    if evaluation.status is not Status.OK:
        return _Found(row.genome, reason=f"{evaluation.status.value}: {evaluation.message}")
    if row.check or evaluation.timing is None:
        return found
    timing, profile = evaluation.timing, evaluation.profile
    left_out = tuple(gene for gene in row.genome.genes if gene not in row.applied.genes)
    now = _Found(row.genome, timing.median_ms, left_out=left_out, shared_bytes=evaluation.resources.shared_bytes)
    if profile is not None and profile.bytes:
        now.work = Work(profile.flops, profile.bytes)
    if row.proven is not None:
        proof = row.proven
        now.time_ms, now.speedup, now.low, now.high = proof.best_ms, proof.speedup, proof.low, proof.high
    return now


def _repair(device: _Device, found: _Found, genome: Genome) -> Repair | None:
    """What runs in place of a champion: the same with what applies of it, else the one that was trimmed."""
    if found.time_ms is not None:
        return Repair(f"without {_words(found.left_out)}", device.time_ms(found))
    how, trimmed = device.repairs.get(genome.digest(), ("", _Found()))
    return None if trimmed.time_ms is None else Repair(how, device.time_ms(trimmed))


def _effects(device: _Device, place: int, names: Sequence[str], owners: Sequence[Genome | None]) -> list[Effect]:
    """Effects of the genes of the champions there: of the device's own one first, then of any other.

    The factor is the time without the gene over the time with it, both by their speed-up beside the kernel as it is;
    the interval takes each of the two at an end of its own.
    """
    effects: dict[tuple[int, str], Effect] = {}
    for owner in owners:
        whole = None if owner is None else device.tried.get(owner.digest())
        if owner is None or whole is None or not whole.speedup:
            continue
        for gene in owner.genes:
            rest = device.without.get((owner.digest(), gene))
            if _key(gene) not in names or rest is None or not rest.speedup:
                continue
            name = (names.index(_key(gene)), _value(gene))
            effects.setdefault(name, Effect(name, place, whole.speedup / rest.speedup, whole.low / rest.high,
                                            whole.high / rest.low, 1))  # fmt: skip
    return list(effects.values())


def _key(gene: Gene) -> str:
    return f"{gene.transform}@{gene.site.label}"


def _value(gene: Gene) -> str:
    return ", ".join(f"{name}={value}" for name, value in gene.params) or "on"


def _values(genome: Genome, keys: Sequence[str]) -> list[str]:
    held = {_key(gene): _value(gene) for gene in genome.genes}
    return [held.get(key, ABSENT) for key in keys]


def _words(genes: Sequence[Gene]) -> str:
    return ", ".join(f"{_key(gene)}({_value(gene)})" for gene in genes)

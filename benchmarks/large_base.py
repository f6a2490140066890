"""A knowledge base of a million made-up evaluations, loaded with COPY: as skewed as a team's, and quick to make.

Kernels have vectors of their own in families; a few kernels, devices and sizes take most of the campaigns (a Zipf law).
Every kernel was tuned once at least. Optima are elected among the evaluations, as the base does it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import psycopg

from evaluator.result import DeviceInfo, Toolchain
from genome.genes import Gene, Genome, Site
from knowledge import encode
from knowledge.features import KERNEL_FEATURE_VERSION, KERNEL_FEATURES, SIZE_FEATURE_VERSION, label_features
from knowledge.records import KernelRecord

ZIPF = 1.1
"""Exponent: of campaigns beyond the first one of each kernel, about a seventh is on the first kernel."""
FAMILIES = 200
GENOMES = 20_000
SOURCE = 'extern "C" __global__ void entry(const float* a, float* b, int n) { /* variant %s */ }\n' + "// line\n" * 40
RESOURCES = json.dumps({"registers": 32, "spills_bytes": 0, "shared_bytes": 0, "private_bytes": 0, "occupancy": 0.5})

Rows = list[tuple[object, ...]]
Connection = psycopg.Connection[tuple[object, ...]]


@dataclass(frozen=True)
class Shape:
    """How large the base is. ``toolchains`` in all, of which each device has three."""

    kernels: int = 10_000
    devices: int = 60
    toolchains: int = 20
    evaluations: int = 1_000_000


@dataclass
class LargeBase:
    """Makes the rows, and afterwards knows which kernels and devices there are."""

    shape: Shape
    rng: np.random.Generator
    kernels: list[KernelRecord] = field(default_factory=list)
    devices: list[DeviceInfo] = field(default_factory=list)
    toolchains: list[Toolchain] = field(default_factory=list)
    sizes: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape, rng = self.shape, self.rng
        families = rng.random((FAMILIES, len(KERNEL_FEATURES)))
        for number in range(shape.kernels):
            vector = np.clip(families[number % FAMILIES] + rng.normal(0.0, 0.05, families.shape[1]), 0.0, 1.0)
            features = tuple(float(np.float32(value)) for value in vector)
            self.kernels.append(
                KernelRecord(f"kernel_{number}", f"{number:016x}", "text", "entry", features, KERNEL_FEATURE_VERSION)
            )
            count = int(rng.integers(1, 9))
            self.sizes.append([f"M={64 << i},N={64 << int(rng.integers(0, 8))}" for i in range(count)])
        for number in range(shape.devices):
            self.devices.append(
                DeviceInfo("cuda:0", f"Device {number}", "Vendor", f"sm_{number}", "gpu", 16 + number, 2**34,
                           bandwidth_gbs=100.0 + 50.0 * number, peak_gflops=1e3 + 500.0 * number,
                           clock_mhz=1000 + 10 * number)
            )  # fmt: skip
        self.toolchains = [Toolchain(f"CUDA {number}", "driver", "compiler") for number in range(shape.toolchains)]

    def kernel(self) -> int:
        """A kernel, by the law of the campaigns."""
        return skewed(self.rng, self.shape.kernels)

    def device(self) -> int:
        """A device, by the same law."""
        return skewed(self.rng, self.shape.devices)

    def toolchain(self, device: int) -> int:
        """One of the three of a device."""
        return (device + int(self.rng.integers(3))) % self.shape.toolchains


def skewed(rng: np.random.Generator, count: int) -> int:
    """0 .. count - 1, by Zipf's law."""
    while True:
        found = int(rng.zipf(ZIPF)) - 1
        if found < count:
            return found


def fill(base: LargeBase, conninfo: str) -> dict[str, int]:
    """Loads all tables of an empty base; the number of rows of each."""
    with psycopg.connect(conninfo) as connection:
        connection.execute("SET statement_timeout = 0")
        connection.execute("SET session_replication_role = replica")  # what refers to what is right by construction
        _entities(base, connection)
        counts = _campaigns(base, connection)
        connection.execute(_OPTIMA)
        for table in ("hardware", "toolchain", "kernel", "problem", "campaign", "genome", "variant"):
            query = f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))"
            connection.execute(query)
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")
        for table in ("kernel", "problem", "genome", "optimum"):
            row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            counts[table] = int(row[0]) if row else 0
    return counts


def _entities(base: LargeBase, connection: Connection) -> None:
    for table, rows in (
        ("hardware", [encode.hardware_row(device) for device in base.devices]),
        ("toolchain", [encode.toolchain_row(item) for item in base.toolchains]),
        ("kernel", [encode.kernel_row(record) for record in base.kernels]),
    ):
        names = ("id", *rows[0])
        copy(connection, table, names, [(number + 1, *_texts(row.values())) for number, row in enumerate(rows)])
    names = ("id", "kernel_id", "label", "values", "features", "feature_version")
    problems: Rows = []
    for kernel, labels in enumerate(base.sizes):
        for label in labels:
            values = encode.size_values(label)
            problems.append((len(problems) + 1, kernel + 1, label, json.dumps(values), list(label_features(values)),
                             SIZE_FEATURE_VERSION))  # fmt: skip
    copy(connection, "problem", names, problems)
    genomes = [Genome((Gene.of("unroll", Site("k", "reduction[0]"), factor=n),) if n else ()) for n in range(GENOMES)]
    found = [(n + 1, genome.digest(), json.dumps(genome.to_json())) for n, genome in enumerate(genomes)]
    copy(connection, "genome", ("id", "digest", "genes"), found)


def _texts(values: Iterable[object]) -> list[object]:
    """A vector as pgvector reads it."""
    return [str(value) if isinstance(value, list) else value for value in values]


@dataclass
class _Batch:
    """Rows that go in together."""

    campaign: Rows = field(default_factory=list)
    variant: Rows = field(default_factory=list)
    lineage: Rows = field(default_factory=list)
    evaluation: Rows = field(default_factory=list)
    proof: Rows = field(default_factory=list)


_COLUMNS = {
    "campaign": ("id", "token", "name", "kernel_id", "hardware_id", "toolchain_id", "seed", "version", "settings",
                 "finished_at"),
    "variant": ("id", "kernel_id", "digest", "target", "source", "options", "steps", "genome_id"),
    "lineage": ("campaign_id", "ordinal", "variant_id", "genome_id", "proposed_id", "skipped", "agent", "parents",
                "delta", "speedup", "forced", "cached"),
    "evaluation": ("variant_id", "problem_id", "hardware_id", "toolchain_id", "campaign_id", "ordinal", "is_check",
                   "reused", "status", "message", "stage", "samples_ms", "median_ms", "low_ms", "high_ms", "resources",
                   "fallback", "compile_s", "device_s"),
    "proof": ("campaign_id", "problem_id", "variant_id", "baseline_ms", "best_ms", "speedup", "low", "high",
              "processes"),
}  # fmt: skip
_EVERY = 50_000  # evaluations a COPY


class _Campaigns:
    """Makes campaigns one after the other; a variant that a kernel had before is the same one again."""

    def __init__(self, base: LargeBase) -> None:
        self._base, self._rng = base, base.rng
        self._first = np.cumsum([0, *(len(labels) for labels in base.sizes)]) + 1  # id of each kernel's first problem
        self._variants: dict[tuple[int, int], int] = {}
        self.batch = _Batch()
        self.campaigns = 0

    def add(self, kernel: int) -> int:
        """One campaign on the kernel; the number of its evaluations."""
        base, rng = self._base, self._rng
        self.campaigns += 1
        device = base.device()
        tools = base.toolchain(device)
        owner = (kernel + 1, device + 1, tools + 1)
        self.batch.campaign.append((self.campaigns, uuid.UUID(int=int(rng.integers(2**62))), "c", *owner, 1, "0", "{}",
                                    "2026-01-01"))  # fmt: skip
        count = min(len(base.sizes[kernel]), int(rng.integers(1, 4)))
        chosen = rng.choice(len(base.sizes[kernel]), count, replace=False)
        problems = [(int(self._first[kernel] + index), int(index)) for index in chosen]
        proposals = max(4, int(rng.lognormal(3.0, 0.7)))
        gains: dict[int, float] = {}
        for ordinal in range(proposals):
            number = 0 if ordinal == 0 else int(rng.integers(1, 200 + 10 * (self.campaigns % 100)))
            gain = 1.0 if ordinal == 0 else float(rng.lognormal(0.5, 0.5))
            variant = self._variant(kernel, number)
            gains[variant] = gain
            self._outcome(owner, ordinal, variant, number % GENOMES + 1, gain, problems)
        for variant in sorted(gains, key=lambda item: -gains[item])[:2]:
            for problem, index in problems:
                self.batch.proof.append((self.campaigns, problem, variant, 10.0 * (index + 1),
                                         10.0 * (index + 1) / gains[variant], gains[variant], gains[variant] * 0.98,
                                         gains[variant] * 1.02, 5))  # fmt: skip
        return proposals * count

    def _variant(self, kernel: int, number: int) -> int:
        found = self._variants.get((kernel, number))
        if found is None:
            found = self._variants[kernel, number] = len(self._variants) + 1
            digest = f"{kernel:08x}{number:08x}"
            row = (found, kernel + 1, digest, "cuda", SOURCE % digest, "[]", "[]", number % GENOMES + 1)
            self.batch.variant.append(row)
        return found

    def _outcome(
        self, owner: tuple[int, int, int], ordinal: int, variant: int, genome: int, gain: float,
        problems: Sequence[tuple[int, int]],
    ) -> None:  # fmt: skip
        failed = ordinal > 0 and self._rng.random() < 0.1
        speedup = None if failed else gain
        self.batch.lineage.append((self.campaigns, ordinal, variant, genome, genome, "[]", "agent", [], "[]", speedup,
                                   False, False))  # fmt: skip
        for problem, index in problems:
            ms = None if failed else 10.0 * (index + 1) / gain
            samples = [] if ms is None else [ms] * 7
            self.batch.evaluation.append(
                (variant, problem, owner[1], owner[2], self.campaigns, ordinal, False, False,
                 "timeout" if failed else "ok", "", "time", samples, ms, ms, ms, RESOURCES, False, 0.1, 0.2)
            )  # fmt: skip


def _campaigns(base: LargeBase, connection: Connection) -> dict[str, int]:
    """The first campaign of each kernel, then others by the law, until there are enough evaluations."""
    maker, done = _Campaigns(base), 0
    counts = dict.fromkeys(_COLUMNS, 0)
    while done < base.shape.evaluations:
        kernel = maker.campaigns if maker.campaigns < base.shape.kernels else base.kernel()
        done += maker.add(kernel)
        if len(maker.batch.evaluation) >= _EVERY or done >= base.shape.evaluations:
            for table, names in _COLUMNS.items():
                rows = getattr(maker.batch, table)
                copy(connection, table, names, rows)
                counts[table] += len(rows)
            maker.batch = _Batch()
    return counts


def copy(connection: Connection, table: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Loads rows into a table."""
    columns = ", ".join(f'"{name}"' for name in names)
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as target:
        for row in rows:
            target.write_row(row)


_OPTIMA = """
WITH timed AS (
    SELECT problem_id, hardware_id, toolchain_id, variant_id, min(campaign_id) AS campaign_id,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY median_ms) AS best_ms
    FROM evaluation WHERE status = 'ok' GROUP BY 1, 2, 3, 4
), best AS (
    SELECT DISTINCT ON (problem_id, hardware_id, toolchain_id) * FROM timed
    ORDER BY problem_id, hardware_id, toolchain_id, best_ms, variant_id
)
INSERT INTO optimum (kernel_id, hardware_id, toolchain_id, problem_id, variant_id, genome_id, campaign_id, agent,
                     best_ms, baseline_ms)
SELECT variant.kernel_id, hardware_id, toolchain_id, problem_id, variant.id, variant.genome_id, campaign_id, 'agent',
       best_ms, 100
FROM best JOIN variant ON variant.id = best.variant_id
"""

"""Records to plain column values. Everything that goes into the base passes through here."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from evaluator.result import DeviceInfo, Evaluation, Resources, Toolchain
from genome.genes import Gene
from genome.variant import Launch, SkippedGene, Step, Variant
from knowledge.features import DEVICE_FEATURE_VERSION, device_features
from knowledge.records import KernelRecord
from knowledge.schema import DEVICE_DIMENSIONS, KERNEL_DIMENSIONS

NAME_LENGTH = 200
MESSAGE_LENGTH = 20_000
_GIB = 2**30


def text(value: str, limit: int | None = None) -> str:
    """Text that Postgres takes: no NUL, no lone surrogates; cut at ``limit`` characters."""
    clean = value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    return clean if limit is None else clean[:limit]


def plain(value: Any) -> Any:
    """JSON data that Postgres takes: clean text, and None for what is not a finite number.

    Raises:
        TypeError: If something in it is not plain data.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return text(str(value))
    if isinstance(value, Mapping):
        return {text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} is not plain data")


def fingerprint(device: DeviceInfo) -> str:
    """Identity of the hardware: what the driver calls it, its units, and its memory to the GiB.

    The memory of a CPU device is left out: it is a share of what the machine has free.
    """
    memory = round(device.memory_bytes / _GIB) if device.kind != "cpu" else 0
    parts = (device.vendor, device.name, device.architecture, device.kind, str(device.units), str(memory))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def vector(features: Sequence[float], dimensions: int) -> list[float]:
    """A feature vector padded with zeros to the column's length.

    Raises:
        ValueError: If it is longer, or not finite.
    """
    values = [float(value) for value in features]
    if len(values) > dimensions or not all(math.isfinite(value) for value in values):
        raise ValueError(f"a feature vector must hold at most {dimensions} finite numbers")
    return values + [0.0] * (dimensions - len(values))


def hardware_row(device: DeviceInfo) -> dict[str, Any]:
    """Columns of ``hardware``."""
    return {
        "fingerprint": fingerprint(device),
        "name": text(device.name, NAME_LENGTH), "vendor": text(device.vendor, NAME_LENGTH),
        "architecture": text(device.architecture, NAME_LENGTH), "kind": text(device.kind, NAME_LENGTH),
        "units": device.units, "memory_bytes": device.memory_bytes, "l2_bytes": device.l2_bytes,
        "shared_bytes": device.shared_bytes, "max_threads": device.max_threads, "clock_mhz": device.clock_mhz,
        "bandwidth_gbs": device.bandwidth_gbs, "peak_gflops": device.peak_gflops,
        "features": vector(device_features(device), DEVICE_DIMENSIONS), "feature_version": DEVICE_FEATURE_VERSION,
    }  # fmt: skip


def toolchain_row(toolchain: Toolchain) -> dict[str, Any]:
    """Columns of ``toolchain``."""
    return {name: text(value, NAME_LENGTH) for name, value in asdict(toolchain).items()}


def kernel_row(record: KernelRecord) -> dict[str, Any]:
    """Columns of ``kernel``."""
    return {
        "digest": text(record.digest, NAME_LENGTH), "name": text(record.name, NAME_LENGTH),
        "entry": text(record.entry, NAME_LENGTH), "source": text(record.source),
        "features": vector(record.features, KERNEL_DIMENSIONS), "feature_version": record.feature_version,
    }  # fmt: skip


def variant_row(variant: Variant) -> dict[str, Any]:
    """Columns of ``variant`` but for its references."""
    return {
        "digest": variant.digest(), "target": variant.target.value, "source": text(variant.source),
        "options": plain(variant.options), "steps": [step_json(step) for step in variant.steps],
    }  # fmt: skip


@lru_cache(maxsize=1024)
def step_json(step: Step) -> Mapping[str, Any]:
    """A step for people and queries; variants are always made anew from their genes."""
    if not isinstance(step, Launch):
        return {"memset": text(step.buffer), "value": step.value}
    return {
        "launch": text(step.entry), "block": list(step.block), "args": plain(step.args),
        "grid": [{"extent": text(str(axis.extent)), "tile": axis.tile} for axis in step.grid],
        "shared_bytes": text(str(step.shared_bytes)), "static_shared_bytes": step.static_shared_bytes,
    }  # fmt: skip


def genes_json(genes: Sequence[Gene]) -> Any:
    """Genes in their JSON form."""
    return [_gene_json(gene) for gene in genes]


@lru_cache(maxsize=4096)  # a recorded space has thousands of rows of few genes
def _gene_json(gene: Gene) -> Any:
    return plain(gene.to_json())


@lru_cache(maxsize=256)
def _resources_json(resources: Resources) -> Any:
    return plain(asdict(resources))


def skipped_json(skipped: Sequence[SkippedGene]) -> Any:
    """Skipped genes with their reasons."""
    return plain([{"gene": item.gene.to_json(), "reason": item.reason} for item in skipped])


def evaluation_row(evaluation: Evaluation) -> dict[str, Any]:
    """Columns of ``evaluation`` but for its key."""
    timing = evaluation.timing
    return {
        "status": evaluation.status.value, "message": text(evaluation.message, MESSAGE_LENGTH),
        "stage": text(evaluation.stage, NAME_LENGTH),
        "samples_ms": [] if timing is None else [float(sample) for sample in timing.samples_ms],
        "median_ms": None if timing is None else timing.median_ms, "low_ms": None if timing is None else timing.low_ms,
        "high_ms": None if timing is None else timing.high_ms, "resources": _resources_json(evaluation.resources),
        "profile": None if evaluation.profile is None else plain(asdict(evaluation.profile)),
        "max_error": plain(evaluation.max_error), "fallback": evaluation.fallback,
        "compile_s": evaluation.compile_s, "device_s": evaluation.device_s,
    }  # fmt: skip


def size_values(label: str) -> dict[str, int]:
    """The sizes of a label ``M=512,N=512``; parts that are not ``name=integer`` are left out."""
    values: dict[str, int] = {}
    for part in label.split(","):
        name, _, number = part.partition("=")
        if name and number.lstrip("-").isdigit():
            values[text(name)] = int(number)
    return values

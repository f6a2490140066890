"""Pairs as Parquet, in batches. PyArrow is an optional part: it is larger than everything else that we need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from evo.campaign_types import CampaignError

BATCH = 500  # pairs that are in memory at once, and rows of a group in the file
_SIDES = ("before", "after")
_AS_TEXT = "JSON text: its shape depends on the kernel"


def write_parquet(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    """Writes rows of ``evo.pairs.pair_json``; genome and steps become JSON text, sizes and instruction mixes maps.

    Raises:
        CampaignError: If PyArrow is not installed.
        OSError: If the file cannot be written.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise CampaignError(
            "--output: Parquet needs PyArrow: `pip install 'evo-tune[parquet]'`, or write .jsonl"
        ) from None
    schema = _schema(pa)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while batch := list(islice(rows, BATCH)):
            writer.write_table(pa.Table.from_pylist([_columns(row) for row in batch], schema=schema))


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    sides = {side: {**row[side], "steps": json.dumps(row[side]["steps"])} for side in _SIDES}
    return {
        **row,
        **sides,
        "genome": json.dumps(row["genome"]),
        "sizes": [_size_columns(size) for size in row["sizes"]],
    }


def _size_columns(size: dict[str, Any]) -> dict[str, Any]:
    """With maps as lists of pairs."""
    measured = {side: {**size[side], "resources": _with_pairs(size[side]["resources"], "mix")} for side in _SIDES}
    return _with_pairs({**size, **measured}, "values")


def _with_pairs(data: dict[str, Any], name: str) -> dict[str, Any]:
    return {**data, name: list(data[name].items())}


def _schema(pa: Any) -> Any:
    """Columns in the order of ``pair_json``."""
    text, number, whole = pa.string(), pa.float64(), pa.int64()

    def struct(kind: Any, *names: str) -> list[Any]:
        return [pa.field(name, kind) for name in names]

    program = pa.struct([
        *struct(text, "variant", "source"), pa.field("options", pa.list_(text)),
        pa.field("steps", text, metadata={"encoding": _AS_TEXT}),
    ])  # fmt: skip
    device = pa.struct([
        *struct(text, "name", "vendor", "architecture", "kind"),
        *struct(whole, "units", "memory_bytes", "l2_bytes", "shared_bytes", "max_threads", "clock_mhz"),
        *struct(number, "bandwidth_gbs", "peak_gflops"), *struct(text, "fingerprint"),
    ])  # fmt: skip
    return pa.schema([
        pa.field("schema", whole),
        *struct(text, "pair", "kernel", "kernel_digest", "entry", "licence", "provenance", "target"),
        pa.field("before", program), pa.field("after", program),
        pa.field("genome", text, metadata={"encoding": _AS_TEXT}), pa.field("agent", text),
        pa.field("device", device), pa.field("toolchain", pa.struct(struct(text, "platform", "driver", "compiler"))),
        *struct(text, "evo_tune", "campaign", "campaign_name", "recorded"), pa.field("speedup", number),
        pa.field("sizes", pa.list_(_size(pa, struct))),
    ])  # fmt: skip


def _size(pa: Any, struct: Any) -> Any:
    text, number, whole = pa.string(), pa.float64(), pa.int64()
    resources = pa.struct([
        *struct(whole, "registers", "spills_bytes", "shared_bytes", "private_bytes"), *struct(number, "occupancy"),
        pa.field("mix", pa.map_(text, whole)),
    ])  # fmt: skip
    profile = pa.struct([
        *struct(text, "bottleneck", "evidence"),
        *struct(number, "flops", "bytes", "gflops", "gbytes_per_s", "roofline_fraction"),
        pa.field("measured", pa.list_(text)),
        pa.field("counters", pa.list_(pa.struct([*struct(text, "name"), *struct(number, "value")]))),
    ])  # fmt: skip
    measurement = pa.struct([
        *struct(number, "median_ms", "low_ms", "high_ms"), pa.field("samples_ms", pa.list_(number)),
        *struct(number, "compile_s", "max_error"), pa.field("resources", resources), pa.field("profile", profile),
    ])  # fmt: skip
    proven = pa.struct([
        *struct(number, "baseline_ms", "best_ms", "speedup", "low", "high"), *struct(whole, "processes"),
        *struct(text, "recorded"),
    ])  # fmt: skip
    return pa.struct([
        *struct(text, "size"), pa.field("values", pa.map_(text, whole)),
        pa.field("before", measurement), pa.field("after", measurement), pa.field("proven", proven),
    ])  # fmt: skip

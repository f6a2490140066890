"""Before and after: pairs of source text from the knowledge base, for compiler research. The guide has every field."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evaluator.recording import OPENERS
from evaluator.result import Evaluation, Profile
from evo.campaign_types import CampaignError
from evo.pairs_parquet import write_parquet
from knowledge.filters import Filter
from knowledge.pairs import Pair, PairSize, Program
from knowledge.store import KnowledgeBase

SCHEMA = 1
"""Raised when a field changes its meaning or goes; new fields come without."""
_LINES, _PARQUET = ".jsonl", ".parquet"


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
        pairs: How many.
        unlicensed: Those among them whose campaign states no licence.
    """

    pairs: int
    unlicensed: int


def export_pairs(base: KnowledgeBase, path: Path, wanted: Filter, proven: bool = False) -> Exported:
    """Writes all pairs into a file, as of one moment; it appears when it is complete.

    Args:
        base: Where from.
        path: ``.jsonl`` (``.jsonl.gz``, ``.jsonl.xz``) or ``.parquet``.
        wanted: Conditions on the rows.
        proven: Only variants that held in a final comparison.

    Raises:
        CampaignError: If the name ends otherwise, or Parquet needs a library that is not installed.
        OSError: If the file cannot be written.
    """
    write = _writer(path)
    partial = path.with_name(f".{path.name}.partial")
    count = _Count()
    try:
        base.pairs(wanted, proven, lambda found: write(partial, count.over(found)))
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return Exported(count.pairs, count.unlicensed)


def pair_json(pair: Pair) -> dict[str, Any]:
    """A pair as plain data: one line of the file."""
    return {
        "schema": SCHEMA,
        "pair": hashlib.sha256(f"{pair.campaign} {pair.after.variant}".encode()).hexdigest()[:16],
        "kernel": pair.kernel,
        "kernel_digest": pair.kernel_digest,
        "entry": pair.entry,
        "licence": pair.licence or None,
        "provenance": pair.provenance or None,
        "target": pair.target,
        "before": _program(pair.before),
        "after": _program(pair.after),
        "genome": pair.genome.to_json(),
        "agent": pair.agent,
        "device": asdict(pair.device),
        "toolchain": asdict(pair.toolchain),
        "evo_tune": pair.version,
        "campaign": pair.campaign,
        "campaign_name": pair.name,
        "recorded": pair.recorded,
        "speedup": pair.speedup,
        "sizes": [_size(size) for size in pair.sizes],
    }


@dataclass
class _Count:
    """Counts rows on their way into the file; a transaction that is repeated counts anew."""

    pairs: int = 0
    unlicensed: int = 0

    def over(self, found: Iterator[Pair]) -> Iterator[dict[str, Any]]:
        """Each pair as plain data."""
        self.pairs = self.unlicensed = 0
        for pair in found:
            self.pairs += 1
            self.unlicensed += not pair.licence
            yield pair_json(pair)


def _writer(path: Path) -> Callable[[Path, Iterator[dict[str, Any]]], None]:
    name = path.name
    opener: Any = OPENERS.get(path.suffix, open)
    if name.endswith(_PARQUET):
        return write_parquet
    if name.endswith(_LINES) or (path.suffix in OPENERS and path.stem.endswith(_LINES)):
        return lambda partial, rows: _write_lines(partial, rows, opener)
    raise CampaignError(f"--output: expected a name that ends in {_LINES}, {_LINES}.gz, {_LINES}.xz or {_PARQUET}, got "
                        f"{name}")  # fmt: skip


def _write_lines(path: Path, rows: Iterator[dict[str, Any]], opener: Callable[..., Any]) -> None:
    with opener(path, "wt", encoding="utf-8") as file:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False, separators=(",", ":")), file=file)


def _program(program: Program) -> dict[str, Any]:
    return {"variant": program.variant, "source": program.source, "options": list(program.options),
            "steps": list(program.steps)}  # fmt: skip


def _size(size: PairSize) -> dict[str, Any]:
    return {
        "size": size.size,
        "values": dict(size.values),
        "before": _measurement(size.before),
        "after": _measurement(size.after),
        "proven": None if size.proven is None else asdict(size.proven),
    }


def _measurement(evaluation: Evaluation) -> dict[str, Any]:
    timing = evaluation.timing
    return {
        "median_ms": timing.median_ms if timing else None,
        "low_ms": timing.low_ms if timing else None,
        "high_ms": timing.high_ms if timing else None,
        "samples_ms": list(timing.samples_ms) if timing else [],
        "compile_s": evaluation.compile_s,
        "max_error": evaluation.max_error,
        "resources": {**asdict(evaluation.resources), "mix": dict(evaluation.resources.mix)},
        "profile": None if evaluation.profile is None else _profile(evaluation.profile),
    }


def _profile(profile: Profile) -> dict[str, Any]:
    counters = [{"name": name, "value": value} for name, value in profile.counters]
    return {**asdict(profile), "bottleneck": str(profile.bottleneck), "measured": list(profile.measured),
            "counters": counters}  # fmt: skip

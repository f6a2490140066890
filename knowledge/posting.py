"""What a running campaign writes into the base, as plain data.

A posting means the same now and later: it may wait in a file (``spool``) while the base is away, and writing it twice
changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from evaluator.api import Comparison
from genome.genes import Genome
from genome.variant import Rejection
from knowledge import encode
from knowledge.records import Lineage, Outcome
from knowledge.trust import SurrogateMetrics


class Kind(StrEnum):
    """What a posting is about."""

    OUTCOME = "outcome"
    REJECTION = "rejection"
    PROOF = "proof"
    METRICS = "metrics"
    STATE = "state"
    END = "end"


@dataclass(frozen=True)
class Posting:
    """One thing to write, in one transaction.

    Attributes:
        kind: What it is about.
        data: Columns of the rows that it makes, without their ids.
        at: When it happened; None for now.
    """

    kind: Kind
    data: Mapping[str, Any]
    at: datetime | None = None

    @property
    def stamp(self) -> dict[str, datetime]:
        """The column that says when; empty where the base's own clock does."""
        return {} if self.at is None else {"created_at": self.at}


def outcome_posting(outcome: Outcome) -> Posting:
    """A finished proposal: variant, genomes, lineage and all evaluations."""
    variant = outcome.variant
    evaluations = [(item, False) for item in outcome.evaluations] + [(item, True) for item in outcome.checks]
    return Posting(Kind.OUTCOME, {
        "variant": encode.variant_row(variant),
        "genome": genome_row(variant.genome),
        "proposed": genome_row(variant.proposed),
        "lineage": {
            **lineage_row(outcome.lineage), "skipped": encode.skipped_json(variant.skipped),
            "speedup": encode.plain(outcome.speedup), "predicted": encode.plain(outcome.predicted),
            "forced": outcome.forced, "cached": outcome.cached,
        },
        "evaluations": [
            {"size": encode.text(item.size, encode.NAME_LENGTH), "is_check": check, **encode.evaluation_row(item)}
            for item, check in evaluations
        ],
    })  # fmt: skip


def rejection_posting(rejection: Rejection, lineage: Lineage) -> Posting:
    """A genome that gave no variant."""
    return Posting(Kind.REJECTION, {
        "genome": genome_row(rejection.genome),
        "rejection": {
            **lineage_row(lineage), "kind": encode.text(rejection.kind, encode.NAME_LENGTH),
            "reason": encode.text(rejection.reason, encode.MESSAGE_LENGTH),
        },
    })  # fmt: skip


def proof_posting(comparison: Comparison) -> Posting:
    """The figures of a final comparison at each size; none where it was not verified."""
    held = comparison.verified and comparison.processes > 0
    names = ("baseline_ms", "best_ms", "speedup", "low", "high")
    sizes = [
        {"size": encode.text(item.size, encode.NAME_LENGTH), "processes": comparison.processes,
         **{name: encode.plain(getattr(item, name)) for name in names}}
        for item in (comparison.sizes if held else ())
    ]  # fmt: skip
    return Posting(Kind.PROOF, {"variant": comparison.variant, "sizes": sizes})


def metrics_posting(ordinal: int, metrics: SurrogateMetrics) -> Posting:
    """How well the surrogate did up to a proposal; the calibration is kept with the campaign's summary alone."""
    figures = {name: value for name, value in asdict(metrics).items() if name != "calibration"}
    return Posting(Kind.METRICS, {"ordinal": ordinal, **encode.plain(figures)})


def state_posting(key: str, data: Mapping[str, Any]) -> Posting:
    """An entry of the campaign's state.

    Raises:
        TypeError: If it is not plain data.
    """
    return Posting(Kind.STATE, {"key": encode.text(key, encode.NAME_LENGTH), "data": encode.plain(data)})


def end_posting(summary: Mapping[str, Any]) -> Posting:
    """The end of the campaign.

    Raises:
        TypeError: If the summary is not plain data.
    """
    return Posting(Kind.END, {"summary": encode.plain(summary)})


def genome_row(genome: Genome) -> dict[str, Any]:
    """Columns of ``genome``."""
    return {"digest": genome.digest(), "genes": encode.genes_json(genome.genes)}


def lineage_row(lineage: Lineage) -> dict[str, Any]:
    """Columns that ``lineage`` and ``rejection`` share, but for the campaign."""
    return {
        "ordinal": lineage.generation, "agent": encode.text(lineage.agent, encode.NAME_LENGTH),
        "parents": names(lineage.parents), "delta": encode.genes_json(lineage.delta),
    }  # fmt: skip


def names(values: Sequence[str]) -> list[str]:
    """Short texts that Postgres takes."""
    return [encode.text(value, encode.NAME_LENGTH) for value in values]

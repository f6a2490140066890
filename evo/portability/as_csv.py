"""A report as comma-separated values: one file of the matrix, one of the genes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from evo.portability.analysis import StudyReport

_MATRIX = ("kernel", "size", "variant", "device", "time_ms", "efficiency", "architectural", "gap", "repair",
           "repaired_efficiency")  # fmt: skip
_GENES = ("kernel", "size", "gene", "value", "champions", "device", "factor", "low", "high", "contexts", "reach",
          "verdict")  # fmt: skip


def matrix_csv(report: StudyReport) -> str:
    """A line a variant and device; empty where there is none."""
    return _csv(_MATRIX, (
        (item.case.kernel, item.case.size, row.name, item.case.places[place].name, cell.time_ms, cell.efficiency,
         cell.architectural, "waits" if cell.waiting else cell.gap, cell.repair.how if cell.repair else "",
         cell.repaired)
        for item in report.cases for row in (*item.rows, *item.others) for place, cell in enumerate(row.cells)
    ))  # fmt: skip


def genes_csv(report: StudyReport) -> str:
    """A line a gene and device."""
    return _csv(_GENES, (
        (item.case.kernel, item.case.size, gene.name, gene.value,
         "; ".join(item.case.places[place].name for place in gene.champions), item.case.places[effect.place].name,
         effect.factor, effect.low, effect.high, effect.contexts, effect.reach, str(gene.verdict))
        for item in report.cases for gene in item.genes for effect in gene.effects
    ))  # fmt: skip


def _csv(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return buffer.getvalue()

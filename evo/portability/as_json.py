"""A report as plain data: what ``--json`` prints and ``portability.json`` holds; the guide tells the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evo.portability.analysis import CaseReport, StudyReport
from evo.portability.case import Case
from evo.portability.gene_effects import GeneReport
from evo.portability.matrix import Row
from evo.portability.what_if import WhatIf

VERSION = 1


def report_json(report: StudyReport) -> dict[str, Any]:
    """The whole report."""
    return {
        "version": VERSION,
        "study": report.name,
        "seed": report.seed,
        "keep": report.keep,
        "matrix": [_matrix(item) for item in report.cases],
        "pp": {
            "by_kernel": [_portability(item) for item in report.cases],
            "overall": [{"choice": o.name, "pp": o.pp, "pairs": o.count} for o in report.overall],
        },
        "portable": [_portable(item) for item in report.cases],
        "portfolio": [_portfolio(item) for item in report.cases],
        "genes": [gene for item in report.cases for gene in _genes(item)],
        "waiting": [{"kernel_size": case, "variant": name, "device": device} for case, name, device in report.waiting],
        "what_if": _what_if(report),
        "notes": [*report.notes, *(note for item in report.cases for note in item.case.notes)],
    }


def _heading(case: Case) -> dict[str, Any]:
    return {"kernel": case.kernel, "size": case.size, "devices": [place.name for place in case.places]}


def _matrix(report: CaseReport) -> dict[str, Any]:
    case, rows = report.case, (*report.rows, *report.others)
    return {
        **_heading(case),
        "variants": len(case.times_ms),
        "complete": case.complete,
        "rows": [row.name for row in rows],
        "configurations": [case.configuration(row.variant) for row in rows],
        "times_ms": [[cell.time_ms for cell in row.cells] for row in rows],
        "efficiency": [[cell.efficiency for cell in row.cells] for row in rows],
        "architectural": [[cell.architectural for cell in row.cells] for row in rows],
        "gaps": [gap for row in rows for gap in _gaps(row, case)],
    }


def _gaps(row: Row, case: Case) -> list[dict[str, Any]]:
    return [
        {
            "row": row.name, "device": case.places[place].name, "waiting": cell.waiting, "reason": cell.gap,
            "repair": None if cell.repair is None else
            {"how": cell.repair.how, "time_ms": cell.repair.time_ms, "efficiency": cell.repaired},
        }
        for place, cell in enumerate(row.cells)
        if cell.time_ms is None
    ]  # fmt: skip


def _portability(report: CaseReport) -> dict[str, Any]:
    case = report.case
    rows = [
        {
            "row": row.name, "pp": row.pp, "architectural_pp": row.architectural_pp, "repaired_pp": row.repaired_pp,
            "worst": None if row.worst is None else
            {"device": case.places[row.worst[0]].name, "efficiency": row.worst[1]},
            "unsupported": [case.places[p].name for p, cell in enumerate(row.cells) if cell.gap],
        }
        for row in (*report.rows, *report.others)
    ]  # fmt: skip
    measured = [case.places[place].name for place in case.measured]
    return {**_heading(case), "device_set": measured, "rows": rows}


def _portable(report: CaseReport) -> dict[str, Any]:
    found, row = report.portable, report.single
    return {
        **_heading(report.case),
        "configuration": report.case.configuration(found.variant),
        "pp": row.pp,
        "efficiency": [cell.efficiency for cell in row.cells],
        "exhaustive": found.exhaustive,
        "nsga2": {"looked_at": found.looked_at, "front": len(found.front),
                  "same": found.searched == found.variant},
    }  # fmt: skip


def _portfolio(report: CaseReport) -> dict[str, Any]:
    found, case = report.portfolio, report.case
    return {
        **_heading(case),
        "k": len(found.variants),
        "keep": found.keep,
        "exact": found.exact,
        "pp": found.pp,
        "configurations": [case.configuration(variant) for variant in found.variants],
        "serves": [None if v is None else found.variants.index(v) for v in found.serves],
        "efficiency": list(found.efficiencies),
    }


def _genes(report: CaseReport) -> Sequence[dict[str, Any]]:
    return [_gene(report.case, gene) for gene in report.genes]


def _gene(case: Case, gene: GeneReport) -> dict[str, Any]:
    return {
        "kernel": case.kernel,
        "size": case.size,
        "gene": gene.name,
        "value": gene.value,
        "champions": [case.places[place].name for place in gene.champions],
        "verdict": str(gene.verdict),
        "effects": [
            {"device": case.places[e.place].name, "factor": e.factor, "low": e.low, "high": e.high,
             "contexts": e.contexts, "reach": e.reach}
            for e in gene.effects
        ],
    }  # fmt: skip


def _what_if(report: StudyReport) -> dict[str, Any] | None:
    if not report.changes:
        return None
    cases = [_answer(item.case, item.what_if) for item in report.cases if item.what_if is not None]
    return {"changes": report.changes, "model": "roofline: a variant keeps its share of it", "cases": cases}


def _answer(case: Case, answer: WhatIf) -> dict[str, Any]:
    error = answer.error
    return {
        **_heading(case),
        "outlooks": [
            {
                "device": case.places[o.place].name, "before_ms": o.before_ms, "after_ms": o.after_ms,
                "before": str(o.before), "after": str(o.after), "changes": o.changes,
                "blocks_fit": None if o.fits is None else list(o.fits),
            }
            for o in answer.outlooks
        ],
        "error": None if error is None else {"typical": error.typical, "worst": error.worst, "pairs": error.pairs},
        "unknown": [{"device": case.places[place].name, "reason": reason} for place, reason in answer.unknown],
    }  # fmt: skip

"""From cases to the answers of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo.portability.case import Case
from evo.portability.efficiency import application_efficiency, architectural_efficiency, performance_portability
from evo.portability.gene_effects import GeneReport, gene_reports
from evo.portability.matrix import Row, champions_matrix, row_of
from evo.portability.portable import Portable, most_portable
from evo.portability.portfolio import Portfolio, smallest_portfolio
from evo.portability.what_if import Change, WhatIf, what_if

PORTABLE = "best single variant"
AS_IT_IS = "the kernel as it is"


@dataclass(frozen=True)
class CaseReport:
    """What a study says of one kernel at one size.

    Attributes:
        case: The times.
        rows: The champions on every device.
        others: The best single variant, and the kernel as it is where that is known.
        portable: How the best single variant was found.
        portfolio: The smallest set that is good everywhere.
        genes: What the champions' genes do elsewhere.
        what_if: None where nobody asked.
    """

    case: Case
    rows: tuple[Row, ...]
    others: tuple[Row, ...]
    portable: Portable
    portfolio: Portfolio
    genes: tuple[GeneReport, ...]
    what_if: WhatIf | None = None

    @property
    def single(self) -> Row:
        """The best single variant."""
        return self.others[0]


@dataclass(frozen=True)
class Overall:
    """Performance portability over all cases: the harmonic mean over every case and device that a choice is made for.

    Attributes:
        name: What is chosen for each kernel.
        pp: None while cells wait.
        count: Pairs of case and device.
    """

    name: str
    pp: float | None
    count: int


@dataclass(frozen=True)
class StudyReport:
    """The answers of a study.

    Attributes:
        name: Of the study.
        cases: One a kernel and size.
        overall: Over all cases.
        changes: What was asked with ``--what-if``, as text.
        keep: Share of the best that a portfolio keeps.
        seed: Of every random choice.
        notes: Remarks for a person.
    """

    name: str
    cases: tuple[CaseReport, ...]
    overall: tuple[Overall, ...]
    keep: float
    seed: int
    changes: str = ""
    notes: tuple[str, ...] = ()

    @property
    def waiting(self) -> tuple[tuple[str, str, str], ...]:
        """(case, variant, device) of the cells that nobody has measured yet."""
        return tuple(
            (report.case.label, row.name, report.case.places[place].name)
            for report in self.cases
            for row in (*report.rows, *report.others)
            for place, cell in enumerate(row.cells)
            if cell.waiting
        )


def analyse(case: Case, seed: int, keep: float, changes: tuple[Change, ...] = ()) -> CaseReport:
    """Everything that is said of a case."""
    efficiency = application_efficiency(case.times_ms)
    architectural = architectural_efficiency(case.times_ms, case.work, case.places)
    portable = most_portable(case, seed)
    others = [row_of(case, PORTABLE, portable.variant, efficiency, architectural)]
    if case.baseline is not None:
        others.append(row_of(case, AS_IT_IS, case.baseline, efficiency, architectural))
    return CaseReport(
        case,
        champions_matrix(case),
        tuple(others),
        portable,
        smallest_portfolio(efficiency, keep),
        gene_reports(case, seed, keep),
        what_if(case, changes) if changes else None,
    )


def overall(reports: Sequence[CaseReport]) -> tuple[Overall, ...]:
    """Over all cases: each device's champions carried everywhere, the best single variants, the kernels as they are.

    A choice that a case does not have (no champion of that device is known there) is left out of the mean; ``count``
    says over how many pairs of case and device it goes.
    """
    names = dict.fromkeys(row.name for report in reports for row in (*report.rows, *report.others))
    found = []
    for name in names:
        cells = [
            cell for report in reports for row in (*report.rows, *report.others) if row.name == name
            for cell in [row.cells[place] for place in report.case.measured]
        ]  # fmt: skip
        values = np.array([np.nan if cell.efficiency is None else cell.efficiency for cell in cells])
        waits = any(cell.waiting for cell in cells)
        found.append(Overall(name, None if waits else performance_portability(values), len(cells)))
    return tuple(found)

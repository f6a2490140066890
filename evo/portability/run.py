"""Runs a study: gathers its cases, and answers."""

from __future__ import annotations

from collections.abc import Callable

from evo.portability.analysis import StudyReport, analyse, overall
from evo.portability.case import Case
from evo.portability.recorded_case import recorded_case
from evo.portability.study import Study
from evo.portability.what_if import Change

Say = Callable[[str], None]


def recorded_cases(study: Study, say: Say) -> tuple[Case, ...]:
    """The cases of the recorded kernels."""
    cases = []
    for kernel in study.recorded:
        say(f"{kernel.name} at {kernel.size}: {len(kernel.sources)} recordings")
        cases.append(recorded_case(kernel.name, kernel.size, kernel.sources, kernel.work))
    return tuple(cases)


def answer(
    study: Study, cases: tuple[Case, ...], changes: tuple[Change, ...], asked: str, notes: tuple[str, ...], say: Say
) -> StudyReport:
    """What the cases say.

    Args:
        study: What was asked.
        cases: With everything that is known by now.
        changes: Of ``--what-if``.
        asked: The same as the user wrote it.
        notes: Remarks from gathering.
        say: Hears what is under way.
    """
    reports = []
    for case in cases:
        say(f"{case.label}: {len(case.times_ms)} variants on {len(case.places)} devices")
        reports.append(analyse(case, study.seed, study.keep, changes))
    return StudyReport(study.name, tuple(reports), overall(reports), study.keep, study.seed, asked, notes)

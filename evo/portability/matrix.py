"""The efficiency matrix: each device's champion on every device, and what that comes to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo.portability.case import Case, Repair
from evo.portability.efficiency import (
    Floats,
    application_efficiency,
    architectural_efficiency,
    performance_portability,
    worst,
)


@dataclass(frozen=True)
class Cell:
    """A variant on a device.

    Attributes:
        time_ms: None where it has no time.
        efficiency: Application efficiency, 0..1; None in a gap.
        architectural: Architectural efficiency; None where time, work or peaks are unknown.
        gap: Why there is no time; empty where there is one.
        waiting: True if nobody has tried it yet.
        repair: What stands in for it.
        repaired: Application efficiency of the repair; None without one.
    """

    time_ms: float | None
    efficiency: float | None
    architectural: float | None
    gap: str = ""
    waiting: bool = False
    repair: Repair | None = None
    repaired: float | None = None


@dataclass(frozen=True)
class Row:
    """A variant everywhere.

    Attributes:
        name: Whose champion it is, or what else it is.
        variant: Its number in the case.
        cells: One a place.
        pp: Performance portability by application efficiency over the measured places of the case; None while cells of
            those wait.
        architectural_pp: The same by architectural efficiency; None where one is unknown.
        repaired_pp: By application efficiency with the repairs in the gaps; None where a gap has none, or nothing is
            repaired.
        worst: (place, efficiency) where it runs least efficiently; None if it runs nowhere.
    """

    name: str
    variant: int
    cells: tuple[Cell, ...]
    pp: float | None
    architectural_pp: float | None
    repaired_pp: float | None
    worst: tuple[int, float] | None


def champions_matrix(case: Case) -> tuple[Row, ...]:
    """A row for each place whose champion is known."""
    efficiency = application_efficiency(case.times_ms)
    architectural = architectural_efficiency(case.times_ms, case.work, case.places)
    return tuple(
        row_of(case, place.name, variant, efficiency, architectural)
        for place, variant in zip(case.places, case.champions, strict=True)
        if variant is not None
    )


def row_of(case: Case, name: str, variant: int, efficiency: Floats, architectural: Floats) -> Row:
    """The row of any variant.

    Args:
        case: Where it belongs.
        name: What it is.
        variant: Its number.
        efficiency: By application, of all variants, shape (variants, places).
        architectural: By roofline, likewise.
    """
    best = [_best(case.times_ms[:, place]) for place in range(len(case.places))]
    cells = tuple(
        _cell(case, variant, place, efficiency, architectural, best[place]) for place in range(len(case.places))
    )
    measured = list(case.measured)
    waits = any(cells[place].waiting for place in measured)
    own, roof = efficiency[variant, measured], architectural[variant, measured]
    roofs = not np.isnan(roof[~np.isnan(own)]).any()
    mended = np.array([_first(cells[place].efficiency, cells[place].repaired) for place in measured])
    least = worst(own)
    return Row(
        name,
        variant,
        cells,
        None if waits else performance_portability(own),
        performance_portability(roof) if roofs and not waits else None,
        performance_portability(mended) if np.isnan(own).any() and not np.isnan(mended).any() else None,
        None if least is None else (measured[least[0]], least[1]),
    )


def _cell(case: Case, variant: int, place: int, efficiency: Floats, architectural: Floats, best: float) -> Cell:
    time = float(case.times_ms[variant, place])
    if not np.isnan(time):
        roof = float(architectural[variant, place])
        return Cell(time, float(efficiency[variant, place]), None if np.isnan(roof) else roof)
    waits = (variant, place) in case.waiting
    gap = "" if waits else case.reasons.get((variant, place), "it does not run there")
    repair = case.repairs.get((variant, place))
    return Cell(None, None, None, gap, waits, repair, best / repair.time_ms if repair else None)


def _best(times_ms: Floats) -> float:
    return float(np.nanmin(times_ms)) if not np.isnan(times_ms).all() else float("nan")


def _first(efficiency: float | None, repaired: float | None) -> float:
    return next((value for value in (efficiency, repaired) if value is not None), float("nan"))

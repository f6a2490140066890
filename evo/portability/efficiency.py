"""Efficiencies and performance portability.

The definitions are those of S. J. Pennycook, J. D. Sewall and V. W. Lee, "A metric for performance portability",
PMBS 2016 (arXiv:1611.07409): application efficiency is the achieved performance over the best known on that
platform, architectural efficiency the achieved performance over what the platform can reach at most, here by the
roofline of Williams, Waterman and Patterson (CACM 52(4), 2009). Times stand for performance: the problem is the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evaluator.messages import Work
from evaluator.profile import bound_ms
from evo.portability.case import Place

Floats = NDArray[np.float64]


def application_efficiency(times_ms: Floats) -> Floats:
    """Best known time of each place over the time of each variant there, 0..1; NaN where there is no time.

    Args:
        times_ms: Shape (variants, places).
    """
    known = ~np.isnan(times_ms)
    best = np.min(np.where(known, times_ms, np.inf), axis=0, initial=np.inf)
    return np.where(known, best / times_ms, np.nan)


def architectural_efficiency(times_ms: Floats, work: Work | None, places: tuple[Place, ...]) -> Floats:
    """Least time that each place's roofline allows over the time of each variant there; NaN where one is unknown.

    Args:
        times_ms: Shape (variants, places).
        work: Of a call.
        places: With their peaks.
    """
    bounds = [bound_ms(work, place.peaks) if work is not None else 0.0 for place in places]
    return np.array([bound or np.nan for bound in bounds], dtype=np.float64) / times_ms


def performance_portability(efficiencies: Floats) -> float:
    """Pennycook's metric of an application over a set of platforms: ``|H| / sum(1 / e_i)``.

    Args:
        efficiencies: One a platform of the set, NaN where the application does not run.

    Returns:
        The harmonic mean, 0 if one platform is not supported or the set is empty.
    """
    if efficiencies.size == 0 or bool(np.isnan(efficiencies).any()):
        return 0.0
    return float(efficiencies.size / np.sum(1.0 / efficiencies))


def portability_of_rows(efficiencies: Floats) -> Floats:
    """``performance_portability`` of each row, shape (variants,)."""
    supported = ~np.isnan(efficiencies).any(axis=1)
    return np.where(supported, efficiencies.shape[1] / np.sum(1.0 / efficiencies, axis=1), 0.0)


def worst(efficiencies: Floats) -> tuple[int, float] | None:
    """(place, efficiency) of the least efficient run; None if there is none."""
    if bool(np.isnan(efficiencies).all()):
        return None
    place = int(np.nanargmin(efficiencies))
    return place, float(efficiencies[place])

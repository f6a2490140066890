"""The smallest set of variants that keeps a share of the best everywhere: a set cover of the devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from evo.portability.efficiency import Floats, performance_portability

MOST_SETS = 200_000
"""Sets of variants that are compared one by one at a size k; beyond that the greedy cover is taken."""


@dataclass(frozen=True)
class Portfolio:
    """Variants to ship together, each device running the best of them.

    Attributes:
        variants: Their numbers.
        serves: For each place the variant that it runs; None where nothing is known to run.
        efficiencies: Application efficiency of that one; None likewise.
        pp: Performance portability of the portfolio over the places that anything runs on.
        keep: Share of the best that was asked for.
        exact: True if no smaller set does it; False for the greedy cover (V. Chvatal, "A greedy heuristic for the
            set-covering problem", Mathematics of Operations Research 4(3), 1979).
    """

    variants: tuple[int, ...]
    serves: tuple[int | None, ...]
    efficiencies: tuple[float | None, ...]
    pp: float
    keep: float
    exact: bool


def smallest_portfolio(efficiency: Floats, keep: float) -> Portfolio:
    """The portfolio of a table of application efficiencies, shape (variants, places).

    For each set of places that a variant keeps ``keep`` on, the variant with the largest harmonic mean there stands for
    all such variants; sets that are part of another one are left out. Of the smallest portfolios the one of largest
    performance portability is taken, then the first.
    """
    live = np.flatnonzero(~np.isnan(efficiency).all(axis=0))
    part = efficiency[:, live]
    stands = _representatives(part, keep)
    chosen, exact = _cover(part, stands, (1 << len(live)) - 1)
    filled = np.nan_to_num(part[list(chosen)], nan=0.0) if chosen else np.zeros((0, 0))
    serves: list[int | None] = [None] * efficiency.shape[1]
    gained: list[float | None] = [None] * efficiency.shape[1]
    for column, place in enumerate(live):
        which = int(np.argmax(filled[:, column]))
        serves[place], gained[place] = chosen[which], float(filled[which, column])
    pp = performance_portability(filled.max(axis=0)) if chosen else 0.0
    return Portfolio(tuple(chosen), tuple(serves), tuple(gained), pp, keep, exact)


def _representatives(efficiency: Floats, keep: float) -> dict[int, int]:
    """Variant by the set of places that it keeps, as bits; no set is part of another one."""
    kept = np.nan_to_num(efficiency, nan=0.0) >= keep
    masks = kept @ (1 << np.arange(efficiency.shape[1], dtype=np.int64))
    best: dict[int, tuple[float, int]] = {}
    for variant in np.flatnonzero(masks):
        inside = efficiency[variant][kept[variant]]
        score = (performance_portability(inside), -int(variant))
        mask = int(masks[variant])
        best[mask] = max(best.get(mask, (-1.0, 0)), score)
    return {m: -best[m][1] for m in sorted(best) if not any(m != other and m & other == m for other in best)}


def _cover(efficiency: Floats, stands: dict[int, int], everything: int) -> tuple[tuple[int, ...], bool]:
    """(variants, whether no smaller set does it)."""
    for size in range(1, len(stands) + 1):
        if comb(len(stands), size) > MOST_SETS:
            return _greedy(stands, everything), False
        covers = [masks for masks in combinations(stands, size) if _union(masks) == everything]
        if covers:
            sets = [tuple(stands[mask] for mask in masks) for masks in covers]
            return max(sets, key=lambda variants: _portability(efficiency, variants)), True
    return (), True


def _greedy(stands: dict[int, int], everything: int) -> tuple[int, ...]:
    """Always the variant that serves most of the places that are left."""
    left, chosen = everything, []
    while left:
        mask = max(stands, key=lambda candidate: ((candidate & left).bit_count(), -candidate))
        chosen.append(stands[mask])
        left &= ~mask
    return tuple(chosen)


def _union(masks: Sequence[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _portability(efficiency: Floats, variants: Sequence[int]) -> float:
    return performance_portability(np.nan_to_num(efficiency[list(variants)], nan=0.0).max(axis=0))

"""The legal configuration nearest to one that a device cannot run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evo.portability.case import ABSENT, Repair


def nearest_legal(table: NDArray[np.int32], legal: NDArray[np.bool_], variant: int) -> int | None:
    """The variant that differs in the fewest parameters, then by the fewest steps in all, then the first of the table.

    Times play no part in it: whoever carries a configuration over does not know them yet.

    Args:
        table: Index of each variant's values in ascending order, shape (variants, names).
        legal: Which variants run there, shape (variants,).
        variant: Which one does not.

    Returns:
        Its row, or None if nothing runs there.
    """
    rows = np.flatnonzero(legal)
    if not rows.size:
        return None
    steps = np.abs(table[rows].astype(np.int64) - table[variant])
    order = np.lexsort((rows, steps.sum(axis=1), (steps > 0).sum(axis=1)))
    return int(rows[order[0]])


def repaired(
    names: tuple[str, ...], domains: tuple[tuple[str, ...], ...], table: NDArray[np.int32],
    times_ms: NDArray[np.float64], variant: int,
) -> Repair | None:  # fmt: skip
    """The repair of a variant on a place where it has no time; None if nothing runs there.

    Args:
        names: As in ``Case``.
        domains: As in ``Case``.
        table: As in ``Case``.
        times_ms: Of that place, shape (variants,).
        variant: Which one is repaired.
    """
    found = nearest_legal(table, ~np.isnan(times_ms), variant)
    if found is None:
        return None
    changes = [
        f"{name}: {_shown(domains[k][table[variant, k]])} -> {_shown(domains[k][table[found, k]])}"
        for k, name in enumerate(names)
        if table[variant, k] != table[found, k]
    ]
    return Repair(", ".join(changes), float(times_ms[found]))


def _shown(value: str) -> str:
    return "unnamed" if value == ABSENT else value

"""Columns for models of kernels whose genes are named parameters of numbers and words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_ALIGNED = 7.0
"""log2 of the largest alignment that hardware cares about: 128."""
MOST_WORDS = 32
"""Words of a parameter that have a column each."""
MOST = 1e150
"""Numbers beyond this are words: their differences would not be finite."""


def parameter_columns(values: Sequence[Sequence[str]], table: NDArray[np.int32]) -> Array:
    """Features in 0..1, shape (configurations, columns).

    A numeric parameter gives its value (in log2 where all are positive) and, where its values are integers that are not
    all powers of two, the largest power of two that divides them: warps, banks and cache lines reward those. Words give
    a column each, two words one; many give their order of appearance. All positive numeric parameters of more than two
    values together give the log2 of their product, since threads of a block and elements of a tile are such products.

    Args:
        values: The values of each parameter, as text.
        table: Index of each parameter's value, shape (configurations, parameters).
    """
    columns: list[Array] = []
    total = np.zeros(len(table))
    factors = 0
    for k, texts in enumerate(values):
        numbers = _numbers(texts)
        if numbers is None:
            columns += _words(len(texts), table[:, k])
            continue
        scaled = np.log2(numbers) if (numbers > 0).all() else _spread(numbers)
        columns.append(_unit(scaled)[table[:, k]])
        alignment = _alignment(numbers)
        if len(texts) > 2 and alignment is not None:
            columns.append(_unit(alignment)[table[:, k]])
        if len(texts) > 2 and (numbers > 0).all():
            total += scaled[table[:, k]]
            factors += 1
    if factors > 1 and np.ptp(total) > 0:
        columns.append(_unit(total))
    return np.stack(columns, axis=1)


def _words(count: int, column: NDArray[np.int32]) -> list[Array]:
    if count > MOST_WORDS:
        return [column / (count - 1.0)]
    return [(column == word).astype(np.float64) for word in (range(1, 2) if count == 2 else range(count))]


def _numbers(texts: Sequence[str]) -> Array | None:
    """The numbers; None where there are words, numbers beyond all measure, or two that are one (1 and 1.0)."""
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return None
    usable = (np.abs(numbers) <= MOST).all() and len(np.unique(numbers)) == len(numbers)
    return numbers if usable else None


def _spread(numbers: Array) -> Array:
    """Numbers with a zero or below: logarithmic from the least one where they range over more than 8."""
    above = numbers - numbers.min()
    return np.log2(above + 1.0) if above.max() > 8 else numbers


def _alignment(numbers: Array) -> Array | None:
    """log2 of the largest power of two in each integer; None where it says nothing beyond the value itself."""
    if (numbers != np.round(numbers)).any():
        return None
    whole = [abs(int(number)) for number in numbers]
    if all(number > 0 and number & (number - 1) == 0 for number in whole):
        return None
    found = np.array([min(math.log2(n & -n), MOST_ALIGNED) if n else MOST_ALIGNED for n in whole])
    return found if np.ptp(found) > 0 else None


def _unit(column: Array) -> Array:
    """From 0 to 1; all 0 where the logarithms of different numbers are one."""
    return np.asarray((column - column.min()) / (np.ptp(column) or 1.0))

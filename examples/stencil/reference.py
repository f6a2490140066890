"""Float64 oracle of one five-point Jacobi step."""

from __future__ import annotations

import numpy as np


def stencil(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Mean of a cell and its four neighbours; in and out are (H, W).

    The border of the result is never compared: the kernel leaves those cells untouched.
    """
    cells = inputs["in"].astype(np.float64)
    out = cells.copy()
    out[1:-1, 1:-1] = 0.2 * (
        cells[1:-1, 1:-1] + cells[1:-1, :-2] + cells[1:-1, 2:] + cells[:-2, 1:-1] + cells[2:, 1:-1]
    )
    return {"out": out}

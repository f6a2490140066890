"""Float64 oracle of the matrix-vector product."""

from __future__ import annotations

import numpy as np


def gemv(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """y = A x with A (M, N) and x (N,)."""
    return {"y": inputs["A"].astype(np.float64) @ inputs["x"].astype(np.float64)}

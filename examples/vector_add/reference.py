"""Float64 oracle of the vector sum."""

from __future__ import annotations

import numpy as np


def vector_add(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """c = a + b; all are (n,)."""
    return {"c": inputs["a"].astype(np.float64) + inputs["b"].astype(np.float64)}

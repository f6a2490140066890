"""Float64 oracle of the row softmax."""

from __future__ import annotations

import numpy as np


def softmax(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Softmax along the last axis; x and y are (rows, cols)."""
    x = inputs["x"].astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": e / e.sum(axis=1, keepdims=True)}

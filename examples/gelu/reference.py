"""Float64 oracle of GELU (tanh form)."""

from __future__ import annotations

import numpy as np


def gelu(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """y = 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))); x and y are (n,)."""
    x = inputs["x"].astype(np.float64)
    return {"y": 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))}

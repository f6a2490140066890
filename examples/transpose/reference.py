"""Oracle of the transpose."""

from __future__ import annotations

import numpy as np


def transpose(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """out[x, y] = in[y, x]; in is (H, W), out is (W, H)."""
    return {"out": inputs["in"].T}

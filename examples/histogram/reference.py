"""Oracle of the histogram."""

from __future__ import annotations

import numpy as np


def histogram(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """bins plus the counts of each byte value in data, which is (n,)."""
    return {"bins": inputs["bins"].astype(np.int64) + np.bincount(inputs["data"], minlength=256)}

"""Float64 oracle of the matrix product."""

from __future__ import annotations

import numpy as np


def matmul(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """C = A @ B; A is (M, K), B is (K, N), C is (M, N)."""
    return {"C": inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64)}

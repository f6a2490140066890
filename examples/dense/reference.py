"""Float64 oracles of the two kernels of a dense layer."""

from __future__ import annotations

import numpy as np


def product(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """C = A B; A is (M, K), B is (K, N)."""
    return {"C": inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64)}


def bias_gelu(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """GELU (tanh form) of C + bias; C is (M, N), bias is (N,)."""
    v = inputs["C"].astype(np.float64) + inputs["bias"]
    return {"y": 0.5 * v * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (v + 0.044715 * v**3)))}

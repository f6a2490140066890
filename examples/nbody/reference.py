"""Float64 oracle of the all-pairs accelerations."""

from __future__ import annotations

import numpy as np


def nbody(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Accelerations of ``n`` bodies (G = 1, Plummer softening ``soft2``); every array is (n,)."""
    position = np.stack([inputs[name].astype(np.float64) for name in ("px", "py", "pz")])
    mass = inputs["mass"].astype(np.float64)
    apart = position[:, None, :] - position[:, :, None]
    weight = mass / (np.sum(apart**2, axis=0) + float(inputs["soft2"])) ** 1.5
    ax, ay, az = np.sum(apart * weight, axis=2)
    return {"ax": ax, "ay": ay, "az": az}

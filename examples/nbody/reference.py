"""Float64 oracle of the all-pairs accelerations."""

from __future__ import annotations

import numpy as np


def nbody(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Accelerations of ``n`` bodies (G = 1, Plummer softening ``soft2``); every array is (n,)."""
    position = np.stack([inputs[name].astype(np.float64) for name in ("px", "py", "pz")])
    mass = inputs["mass"].astype(np.float64)
    forces = np.empty_like(position)
    for start in range(0, mass.size, 64):  # in blocks: the distances of all pairs of 65536 bodies take 100 GB
        apart = position[:, None, :] - position[:, start : start + 64, None]
        squared = np.einsum("kbn,kbn->bn", apart, apart) + float(inputs["soft2"])
        forces[:, start : start + 64] = np.einsum("kbn,bn->kb", apart, mass / (squared * np.sqrt(squared)))
    ax, ay, az = forces
    return {"ax": ax, "ay": ay, "az": az}

"""Float64 oracle of the all-pairs accelerations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

BLOCK = 64
"""Bodies at a time: the distances of all pairs of 65536 bodies take 100 GB."""


def nbody(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Accelerations of ``n`` bodies (G = 1, Plummer softening ``soft2``); every array is (n,)."""
    position = np.stack([inputs[name].astype(np.float64) for name in ("px", "py", "pz")])
    mass = inputs["mass"].astype(np.float64)
    forces = np.empty_like(position)

    def accelerate(start: int) -> None:
        block = slice(start, start + BLOCK)
        apart = position[:, None, :] - position[:, block, None]
        squared = np.einsum("kbn,kbn->bn", apart, apart) + float(inputs["soft2"])
        forces[:, block] = np.einsum("kbn,bn->kb", apart, mass / (squared * np.sqrt(squared)))

    with ThreadPoolExecutor() as threads:
        list(threads.map(accelerate, range(0, mass.size, BLOCK)))
    ax, ay, az = forces
    return {"ax": ax, "ay": ay, "az": az}

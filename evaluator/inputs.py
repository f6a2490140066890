"""Seeded argument arrays: the same seed, set, size and argument give the same values in every process."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluator.api import EvaluatorError
from evaluator.plan import array_args, scalar_value
from genome.spec import ArgSpec, KernelSpec, ProblemSize, Role

Array = NDArray[Any]

SETS = 2
"""Input sets of every size: each input is seen with at least two different fillings."""

KINDS = (
    "uniform", "normal", "integers", "constant", "zeros", "arange", "permutation", "monotone", "file",
)  # fmt: skip


def make_inputs(spec: KernelSpec, size: ProblemSize, seed: int, which: int) -> dict[str, Array]:
    """Arrays of all in and inout arguments.

    Args:
        spec: The kernel.
        size: Problem size.
        seed: The campaign's seed.
        which: Input set, 0 or 1; constant, zeros, arange and file arrays are the same in both.

    Raises:
        EvaluatorError: If an initialiser is unknown, or its file is missing or has another shape.
    """
    return {
        arg.name: fill(arg, arg.extent(size.env), _generator(seed, which, size, arg.name))
        for arg in array_args(spec)
        if arg.role is not Role.OUT
    }


def scalars(spec: KernelSpec, size: ProblemSize) -> dict[str, np.generic]:
    """By-value arguments at a size, in their dtype."""
    return {arg.name: scalar_value(arg, size.env) for arg in spec.args if arg.is_scalar}


def _generator(seed: int, which: int, size: ProblemSize, name: str) -> np.random.Generator:
    words = [seed & 0xFFFFFFFF, which, zlib.crc32(name.encode()), zlib.crc32(size.label.encode())]
    return np.random.default_rng(words)


def fill(arg: ArgSpec, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """One array by its initialiser.

    ``uniform`` defaults to [-1, 1) for floating-point and [0, 100) for integer arguments; ``normal`` to mean 0 and
    standard deviation 1; ``integers`` to [0, 100); ``monotone`` is a sorted ``uniform``; ``arange`` and ``permutation``
    run from 0 over all elements in row-major order.
    """
    dtype = np.dtype(arg.dtype)
    params = dict(arg.init.params)
    count = prod(shape)
    match arg.init.kind:
        case "zeros":
            return np.zeros(shape, dtype)
        case "constant":
            return np.full(shape, params.get("value", 0.0)).astype(dtype)
        case "arange":
            return np.arange(count).astype(dtype).reshape(shape)
        case "permutation":
            return rng.permutation(count).astype(dtype).reshape(shape)
        case "uniform":
            return _uniform(dtype, shape, params, rng)
        case "monotone":
            return np.sort(_uniform(dtype, (count,), params, rng)).reshape(shape)
        case "normal":
            values = rng.normal(params.get("mean", 0.0), params.get("std", 1.0), shape)
            return (np.rint(values) if dtype.kind in "iu" else values).astype(dtype)
        case "integers":
            return rng.integers(int(params.get("low", 0)), int(params.get("high", 100)), shape).astype(dtype)
        case "file":
            return _load(arg, shape, dtype)
    raise EvaluatorError(f"argument '{arg.name}': unknown init kind '{arg.init.kind}'; one of {', '.join(KINDS)}")


def _uniform(
    dtype: np.dtype[Any], shape: tuple[int, ...], params: Mapping[str, float], rng: np.random.Generator
) -> Array:
    if dtype.kind in "iu":
        return rng.integers(int(params.get("low", 0)), int(params.get("high", 100)), shape).astype(dtype)
    return rng.uniform(params.get("low", -1.0), params.get("high", 1.0), shape).astype(dtype)


def _load(arg: ArgSpec, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    path = Path(arg.init.path)
    try:
        loaded = np.load(path, allow_pickle=False)
        data = loaded[arg.name] if isinstance(loaded, np.lib.npyio.NpzFile) else loaded
    except (OSError, ValueError, KeyError) as error:
        text = f"argument '{arg.name}': cannot read {path} ({error}); give a .npy or .npz file"
        raise EvaluatorError(text) from error
    if data.shape != shape:
        raise EvaluatorError(f"argument '{arg.name}': {path} has shape {data.shape}, the campaign says {shape}")
    return np.ascontiguousarray(data, dtype)

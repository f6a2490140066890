"""Seeded argument arrays: the same seed, set, size and argument give the same values in every process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.api import EvaluatorError
from evaluator.drawing import Streams, drawn
from evaluator.elements import BFLOAT16, Array, from_bits, host_dtype, rounded
from evaluator.fillings import extreme, perturbed
from evaluator.plan import array_args, scalar_value
from genome.spec import ArgSpec, KernelSpec, ProblemSize, Role

SETS = 2
"""Input sets of every size: each input is seen with at least two different fillings."""

EXTREME = 2
"""A third set, of extreme magnitudes, at the check sizes at which the baseline stands it."""

FIXED = ("constant", "zeros", "arange", "file")
"""Kinds that no seed changes: in the second set their values are perturbed."""

KINDS = ("uniform", "normal", "wide", "integers", "permutation", "monotone", *FIXED, "generator")

Generator = Callable[[ArgSpec, ProblemSize, int], Array]
"""Calls the user's own function for an argument at a size, with an input set."""

Keep = Callable[[ArgSpec, Callable[[], Array]], Array]
"""Gives an argument's array from where it was kept, else calls the function that makes it, and keeps it."""


def make_inputs(
    spec: KernelSpec, size: ProblemSize, seed: int, which: int, *, perturb: bool = True, exponent: int = 0,
    generate: Generator | None = None, keep: Keep | None = None,
) -> dict[str, Array]:  # fmt: skip
    """Arrays of all in and inout arguments.

    Each holds values of its argument's dtype, in what the host keeps them in (see ``elements.host_dtype``).

    Args:
        spec: The kernel.
        size: Problem size.
        seed: The campaign's seed.
        which: Input set: 0, 1 or ``EXTREME``.
        perturb: Change constant, zeros, arange and file arrays in set 1; without it they are the same in both.
        exponent: Magnitudes of set ``EXTREME`` reach 10 to the power of plus and minus this.
        generate: Needed for arguments of kind ``generator``.
        keep: Gives an array that was made before, or has it made.

    Raises:
        EvaluatorError: If an initialiser is unknown, or its file is missing or has another shape.
    """

    def made(arg: ArgSpec) -> Array:
        streams = Streams(seed, which, size.label, arg.name)
        values = fill(arg, arg.extent(size.env), streams)
        if which == 1 and perturb and arg.init.kind in FIXED:
            values = rounded(perturbed(values, streams.whole()), arg.dtype)
        return extreme(arg, values, exponent, streams.whole()) if which == EXTREME else values

    arrays: dict[str, Array] = {}
    for arg in array_args(spec):
        if arg.role is Role.OUT:
            continue
        if arg.init.kind == "generator":
            arrays[arg.name] = _generated(arg, size, which, generate)
        elif keep is None or which == EXTREME:
            arrays[arg.name] = made(arg)
        else:
            arrays[arg.name] = keep(arg, partial(made, arg))
    return arrays


def fixed_inputs(spec: KernelSpec) -> tuple[str, ...]:
    """Names of the inputs that no seed changes."""
    arrays = (arg for arg in array_args(spec) if arg.role is not Role.OUT)
    return tuple(arg.name for arg in arrays if arg.init.kind in FIXED)


def scalars(spec: KernelSpec, size: ProblemSize) -> dict[str, np.generic]:
    """By-value arguments at a size, in what the host keeps their dtype in."""
    return {arg.name: scalar_value(arg, size.env) for arg in spec.args if arg.is_scalar}


def fill(arg: ArgSpec, shape: tuple[int, ...], streams: Streams) -> Array:
    """One array by its initialiser.

    ``uniform`` defaults to [-1, 1) for floating-point and [0, 100) for integer arguments; ``normal`` to mean 0 and
    standard deviation 1; ``wide`` has random signs and magnitudes that are uniform in their logarithm, from 1e-6 to
    1e6 or what the dtype reaches; ``integers`` default to [0, 100); ``monotone`` is a sorted ``uniform``; ``arange``
    and ``permutation`` run from 0 over all elements in row-major order.
    """
    dtype, count = arg.dtype, prod(shape)
    params = dict(arg.init.params)
    match arg.init.kind:
        case "zeros":
            return np.zeros(shape, host_dtype(dtype))
        case "constant":
            return _converted(np.full(shape, params.get("value", 0.0)), dtype)
        case "arange":
            return _converted(np.arange(count), dtype).reshape(shape)
        case "permutation":
            return _converted(streams.whole().permutation(count), dtype).reshape(shape)
        case ("uniform" | "wide" | "normal" | "integers") as kind:
            return drawn(kind, dtype, count, params, streams).reshape(shape)
        case "monotone":
            return np.sort(drawn("uniform", dtype, count, params, streams)).reshape(shape)
        case "file":
            return _load(arg, shape)
    raise EvaluatorError(f"argument '{arg.name}': unknown init kind '{arg.init.kind}'; one of {', '.join(KINDS)}")


def _converted(values: Array, dtype: str) -> Array:
    return rounded(values, dtype) if dtype == BFLOAT16 else values.astype(dtype)


def _load(arg: ArgSpec, shape: tuple[int, ...]) -> Array:
    path = Path(arg.init.path)
    try:
        loaded = np.load(path, allow_pickle=False)
        data = loaded[arg.name] if isinstance(loaded, np.lib.npyio.NpzFile) else loaded
    except (OSError, ValueError, KeyError) as error:
        text = f"argument '{arg.name}': cannot read {path} ({error}); give a .npy or .npz file"
        raise EvaluatorError(text) from error
    return shaped(arg, data, shape, str(path))


def _generated(arg: ArgSpec, size: ProblemSize, which: int, generate: Generator | None) -> Array:
    if generate is None:
        raise EvaluatorError(f"argument '{arg.name}': there is no process to run its generator in")
    return shaped(arg, generate(arg, size, which), arg.extent(size.env), arg.init.path)


def shaped(arg: ArgSpec, data: Any, shape: tuple[int, ...], where: str) -> Array:
    """A user's array in an argument's dtype, rounded to nearest even.

    For a bfloat16 argument uint16 are the bits of its values, as are the two bytes that ``ml_dtypes`` saves.

    Raises:
        EvaluatorError: If it has another shape or holds no real numbers.
    """
    array = np.asarray(data)
    if array.shape != shape:
        raise EvaluatorError(f"argument '{arg.name}': {where} has shape {array.shape}, the campaign says {shape}")
    if arg.dtype == BFLOAT16 and (array.dtype == np.uint16 or array.dtype == np.dtype("V2")):
        return from_bits(np.ascontiguousarray(array).view(np.uint16))
    if array.dtype.kind not in "fiub":
        raise EvaluatorError(f"argument '{arg.name}': {where} holds {array.dtype}; expected real numbers")
    return rounded(array, arg.dtype)

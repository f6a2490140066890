"""Second thoughts about inputs: fixed values changed inside their range, and floats of extreme magnitude. Pure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluator.elements import host_dtype, largest, rounded
from genome.spec import ArgSpec, Initialiser

_MARGIN = 2  # decades below the largest number of a dtype
_DEVIATIONS = 4.0  # a normal with a given deviation is promised to lie inside this many of them
_UNBOUNDED = ("uniform", "normal", "wide")


def perturbed(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Another array whose values lie in the same range, so that an index stays an index and a sign a sign.

    Different values change places. A constant is scaled by up to a quarter, zeros become numbers in [-1, 1); of
    integers that are all the same half become 0, or 1 where they are 0.
    """
    flat = values.reshape(-1)
    if flat.size > 1 and np.any(flat != flat[0]):
        return np.ascontiguousarray(rng.permutation(flat).reshape(values.shape))
    if flat.size == 0:
        return values
    same = flat[0]
    if values.dtype.kind in "iu":
        other = np.asarray(0 if same else 1, values.dtype)
        chosen = rng.random(values.shape) < 0.5
        chosen.reshape(-1)[0] = True
        return np.where(chosen, other, values).astype(values.dtype)
    factors = rng.uniform(-1.0, 1.0, values.shape)
    return np.asarray(factors if same == 0 else same * (1.0 + 0.25 * factors), values.dtype)


def tiers(dtypes: tuple[str, ...]) -> tuple[int, ...]:
    """Exponents of ten to try for extreme magnitudes, largest first: products overflow at half of the range, sums of
    fourth powers at a quarter. Empty if no argument is floating-point.
    """
    floats = [name for name in dtypes if host_dtype(name).kind == "f"]
    if not floats:
        return ()
    most = min(math.floor(math.log10(largest(name))) for name in floats) - _MARGIN
    return tuple(exponent for share in (1, 2, 4, 8) if (exponent := most // share) >= 1)


def extreme(arg: ArgSpec, values: NDArray[Any], exponent: int, rng: np.random.Generator) -> NDArray[Any]:
    """Floats with magnitudes that are uniform in their logarithm, inside what the campaign promises of the argument.

    Without a promise (a uniform without bounds, a normal without parameters) they run from 10**-exponent to
    10**exponent. A range that holds zero is used down to 10**-exponent of its bounds; one that does not, whole. Other
    kinds and integers stay as they are.
    """
    if values.dtype.kind != "f" or arg.init.kind not in _UNBOUNDED:
        return values
    size = 10.0 ** rng.uniform(-exponent, exponent, values.shape)
    signs = rng.choice((-1.0, 1.0), values.shape)
    promise = _promise(arg.init)
    if promise is None:
        return rounded(size * signs, arg.dtype)
    low, high = promise
    if low < 0.0 < high or low == 0.0 or high == 0.0:
        share = np.minimum(size, 1.0 / size)  # 10**-exponent to 1
        result = rounded(np.where(signs < 0, low, high) * share, arg.dtype)
        return np.where((result < low) | (result >= high), values, result)
    least, most = sorted((abs(low), abs(high)))
    result = math.copysign(1.0, low) * np.exp(rng.uniform(math.log(least), math.log(most), values.shape))
    return rounded(np.clip(result, low, high), arg.dtype)


def _promise(init: Initialiser) -> tuple[float, float] | None:
    params = dict(init.params)
    match init.kind:
        case "uniform" if params:
            return params.get("low", -1.0), params.get("high", 1.0)
        case "normal" if params:
            mean, spread = params.get("mean", 0.0), _DEVIATIONS * params.get("std", 1.0)
            return mean - spread, mean + spread
        case "wide" if params:
            most = params.get("high", 1e6)
            return -most, most
    return None
